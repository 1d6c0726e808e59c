import { useEffect, useRef } from 'preact/hooks';
import { type Session, signIn } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Form, focusFirst } from '../ui/form.tsx';

/** Signs in, with the password of an account or the secret of an API credential. */
export function SignInScreen({ onSignedIn }: { readonly onSignedIn: (session: Session) => void }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => focusFirst(place.current), []);
  return (
    <main class="sign-in" id="content" ref={place}>
      <h1>{T.product}</h1>
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
          onSignedIn(await signIn({ name: text('name') ?? '', secret: needed('secret') }))
        }
      />
      <p class="soft">{T.signIn.about}</p>
    </main>
  );
}
