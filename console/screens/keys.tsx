import { VaultApiError } from '../../sdk/transport/errors.ts';
import { useListing, useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Confirm, Opener, SecretForm } from '../ui/dialog.tsx';
import { ListTable, Loaded, Screen } from '../ui/parts.tsx';

interface KeyParts {
  readonly session: Session;
  readonly onChange: () => void;
}

function CreateKey({ session: { client }, onChange }: KeyParts) {
  return (
    <SecretForm
      fields={[
        { name: 'user', label: T.keys.name, required: true },
        { name: 'passphrase', label: T.passphrase, kind: 'passphrase', hint: T.keys.passphraseHint },
        { name: 'summary', label: T.keys.summary, kind: 'checkbox' },
      ]}
      send={T.keys.create}
      label={T.keys.made}
      make={async ({ needed, text, isOn }) => {
        const key = { user: needed('user'), passphrase: text('passphrase'), summary: isOn('summary') };
        const { passphrase } = await client.keys.create(key);
        onChange();
        return passphrase;
      }}
    />
  );
}

function ChangePassphrase({ session: { client }, user }: ChangeParts) {
  return (
    <SecretForm
      about={<p class="warning">{T.keys.changeWarning}</p>}
      fields={[
        { name: 'passphrase', label: T.keys.old, kind: 'passphrase', required: true },
        { name: 'new_passphrase', label: T.keys.fresh, kind: 'passphrase', hint: T.keys.passphraseHint },
      ]}
      send={T.keys.change}
      label={T.keys.changed}
      make={async ({ needed, text }) => {
        const change = { user, passphrase: needed('passphrase'), new_passphrase: text('new_passphrase') };
        return (await client.keys.changePassphrase(change)).passphrase;
      }}
    />
  );
}

/** Who can recover a key together. Shares are for the command line, which saves each for its custodian. */
function RecoveryStatus({ session: { client }, user }: ChangeParts) {
  const found = useLoad(() =>
    client.keys.recovery.read({ user }).catch((error: unknown) => {
      if (error instanceof VaultApiError && error.code === 'recovery_not_found') {
        return undefined;
      }
      throw error;
    }),
  );
  return (
    <Loaded of={found}>
      {(recovery) =>
        recovery === undefined ? (
          <p>{T.keys.recoveryNone}</p>
        ) : (
          <>
            <p>{T.keys.recoveryOf(recovery.threshold, recovery.shares.length)}</p>
            <ol>
              {recovery.shares.map(({ recipient }) => (
                <li key={recipient}>
                  <code class="long">{recipient}</code>
                </li>
              ))}
            </ol>
          </>
        )
      }
    </Loaded>
  );
}

interface ChangeParts {
  readonly session: Session;
  readonly user: string;
}

/** The keys of the account. */
export function KeysScreen({ session }: { readonly session: Session }) {
  const { client, may } = session;
  const keys = useListing<{ readonly user: string }>(async (next_token) =>
    may('key:read') ? client.keys.list({ next_token, limit: 50 }) : { data: [] },
  );
  return (
    <Screen
      title={T.keys.title}
      about={T.keys.about}
      actions={
        may('key:write') && (
          <Opener label={T.keys.create} kind="primary">
            {() => <CreateKey session={session} onChange={keys.load.reload} />}
          </Opener>
        )
      }
    >
      <ListTable
        label={T.keys.title}
        listing={keys}
        empty={may('key:read') ? T.keys.empty : T.notListed}
        keyOf={({ user }) => user}
        columns={[
          { title: T.keys.name, cell: ({ user }) => <code>{user}</code> },
          {
            title: T.actions,
            cell: ({ user }) => (
              <div class="actions">
                {may('vault:list') && (
                  <a class="button" href={linkTo('items', { user })}>
                    {T.keys.items}
                  </a>
                )}
                {may('key:read') && (
                  <Opener label={T.keys.recovery} kind="small">
                    {() => <RecoveryStatus session={session} user={user} />}
                  </Opener>
                )}
                {may('key:write') && (
                  <>
                    <Opener label={T.keys.change} kind="small">
                      {() => <ChangePassphrase session={session} user={user} />}
                    </Opener>
                    <Confirm
                      name={user}
                      label={T.keys.remove}
                      question={T.keys.removeQuestion}
                      onConfirm={async () => {
                        await client.keys.delete({ user, safe: true });
                        keys.load.reload();
                      }}
                    />
                  </>
                )}
              </div>
            ),
          },
        ]}
      />
    </Screen>
  );
}
