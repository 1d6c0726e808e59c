import { useEffect, useRef } from 'preact/hooks';
import { signInElsewhere, signInWithPasskey } from '../app/people.ts';
import { type Origins, type Session, signIn } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Form, focusFirst } from '../ui/form.tsx';

interface WaysProps {
  readonly origins: Origins;
  /** Called once the cookie of a person's session is set, with the id of the passkey if it has PRF. */
  readonly onCookie: (keeper: string | undefined) => Promise<void>;
}

/** The ways by which a person signs in. */
export function PersonWays({ origins: { sign_in }, onCookie }: WaysProps) {
  return (
    <>
      {sign_in.passkey && (
        <Form fields={[]} send={T.signIn.passkey} onSend={async () => onCookie(await signInWithPasskey())} />
      )}
      {sign_in.oidc && <Form fields={[]} send={T.signIn.oidc} onSend={signInElsewhere} />}
    </>
  );
}

type SignInProps = WaysProps & {
  readonly onSignedIn: (session: Session) => void;
  /** Why somebody who was signed in is here. */
  readonly reason: string;
};

/** Signs in: a person, or with the password of an account or the secret of an API credential. */
export function SignInScreen({ origins, onCookie, onSignedIn, reason }: SignInProps) {
  const place = useRef<HTMLElement>(null);
  const { passkey, oidc, password } = origins.sign_in;
  const hasPeople = passkey || oidc;
  useEffect(() => {
    document.title = T.product;
    const button = hasPeople ? place.current?.querySelector('button') : undefined;
    button ? button.focus() : focusFirst(place.current);
  }, [hasPeople]);
  const form = (
    <Form
      fields={[
        { name: 'name', label: T.signIn.name, hint: T.signIn.nameHint, autocomplete: 'username' },
        {
          name: 'secret',
          label: T.signIn.secret,
          kind: 'password',
          required: true,
          autocomplete: 'current-password',
        },
      ]}
      send={T.signIn.send}
      onSend={async ({ text, needed }) =>
        onSignedIn(await signIn({ name: text('name') ?? '', secret: needed('secret') }, origins))
      }
    />
  );
  return (
    <main class="sign-in" id="content" ref={place}>
      <h1>{T.product}</h1>
      {reason !== '' && (
        <p role="alert" class="warning">
          {reason}
        </p>
      )}
      <PersonWays origins={origins} onCookie={onCookie} />
      {password && hasPeople && (
        <details class="more">
          <summary>{T.signIn.other}</summary>
          {form}
          <p class="soft">{T.signIn.about}</p>
        </details>
      )}
      {password && !hasPeople && form}
      {!password && !hasPeople && <p class="warning">{T.signIn.nothing}</p>}
      <p class="soft">{hasPeople ? T.signIn.aboutPeople : T.signIn.about}</p>
    </main>
  );
}
