import { useEffect, useRef } from 'preact/hooks';
import { VaultApiError } from '../../sdk/transport/errors.ts';
import { useLoad } from '../app/load.ts';
import { join, readInvitation } from '../app/people.ts';
import { linkTo } from '../app/route.ts';
import { T } from '../app/text.ts';
import { Form } from '../ui/form.tsx';
import { Failure, Loading } from '../ui/parts.tsx';

interface JoinProps {
  /** The token of the invitation; absent after a reload, since the address has none any more. */
  readonly token: string | undefined;
  /** Called once the cookie of the session is set, with the id of the passkey if it has PRF. */
  readonly onCookie: (keeper: string | undefined) => Promise<void>;
}

function Gone() {
  return (
    <>
      <p class="warning">{T.join.gone}</p>
      <a class="button" href={linkTo('')}>
        {T.join.toSignIn}
      </a>
    </>
  );
}

/** An invitation: it makes a passkey, and signs in with it. */
export function JoinScreen({ token, onCookie }: JoinProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const invited = useLoad(
    async () => (token === undefined ? undefined : await readInvitation(token)),
    [token],
  );
  useEffect(() => {
    document.title = `${T.join.title} · ${T.product}`;
    heading.current?.focus();
  }, []);
  const isRefused =
    invited.kind === 'failed' &&
    invited.error instanceof VaultApiError &&
    invited.error.code === 'invitation_gone';
  return (
    <main class="sign-in" id="content">
      <h1 tabIndex={-1} ref={heading}>
        {T.join.title}
      </h1>
      {invited.kind === 'loading' && <Loading />}
      {invited.kind === 'failed' && !isRefused && <Failure error={invited.error} retry={invited.reload} />}
      {(isRefused || token === undefined) && <Gone />}
      {invited.kind === 'ready' && invited.data !== undefined && token !== undefined && (
        <>
          <p>
            <strong>{T.join.hello(invited.data.person.name)}</strong>
          </p>
          <p>{T.join.about}</p>
          <Form
            fields={[{ name: 'name', label: T.passkey.name, hint: T.passkey.nameHint }]}
            send={T.passkey.make}
            onSend={async ({ text }) => onCookie(await join(token, text('name')))}
          />
        </>
      )}
    </main>
  );
}
