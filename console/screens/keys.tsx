import { VaultApiError } from '../../sdk/transport/errors.ts';
import { useListing, useLoad } from '../app/load.ts';
import { notify } from '../app/notice.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Confirm, FormDialog, Opener } from '../ui/dialog.tsx';
import { Export, rowsOf } from '../ui/export.tsx';
import { Form } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Loaded, Screen } from '../ui/parts.tsx';

/** The custodians of a key's recovery. Shares are shown by the command line alone, which saves each for its custodian. */
function RecoveryStatus({ session: { client }, user }: { session: Session; user: string }) {
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

/** The progress of the last reseal of a key, and a form that starts one. */
function Reseal({ session: { client }, user }: { session: Session; user: string }) {
  const found = useLoad(() => client.keys.resealProgress({ key: user }));
  return (
    <>
      <p>{T.keys.resealAbout}</p>
      <Loaded of={found}>
        {({ total, done, paused, finished_at }) => (
          <p role="status">
            {total === 0 && finished_at === undefined
              ? T.keys.resealNone
              : T.keys.resealState(done, total, paused ? 'paused' : finished_at ? 'finished' : 'running')}
          </p>
        )}
      </Loaded>
      <Form
        fields={[{ name: 'passphrase', label: T.passphrase, kind: 'passphrase', required: true }]}
        send={T.keys.resealStart}
        onSend={async ({ needed }) => {
          await client.keys.reseal({ key: user, passphrase: needed('passphrase') });
          found.reload();
          notify(T.keys.resealStarted);
        }}
      />
    </>
  );
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
        <>
          {may('key:read') && <Export name="keys" rows={() => rowsOf(client.keys.pages())} />}
          {may('key:write') && (
            <FormDialog
              label={T.keys.create}
              kind="primary"
              fields={[
                { name: 'user', label: T.keys.name, required: true },
                { name: 'passphrase', label: T.passphrase, kind: 'passphrase', hint: T.keys.passphraseHint },
                {
                  ...({ name: 'summary', label: T.keys.summary, kind: 'checkbox' } as const),
                  ...{ value: true, hint: T.keys.summaryHint },
                },
              ]}
              secret={T.keys.made}
              onSend={async ({ needed, text, isOn }) => {
                const key = {
                  user: needed('user'),
                  passphrase: text('passphrase'),
                  summary: isOn('summary'),
                };
                return (await client.keys.create(key)).passphrase;
              }}
              after={keys.reload}
            />
          )}
        </>
      }
    >
      <List
        of={keys}
        title={T.keys.title}
        empty={may('key:read') ? T.keys.empty : T.notListed}
        keyOf={({ user }) => user}
        columns={[{ title: T.keys.name, cell: ({ user }) => <code>{user}</code> }]}
        actions={({ user }) => (
          <>
            {may('vault:list') && (
              <a class="button" href={linkTo('items', { user })}>
                {T.keys.items}
              </a>
            )}
            {may('key:read') && (
              <Opener label={T.keys.recovery} kind="small">
                <RecoveryStatus session={session} user={user} />
              </Opener>
            )}
            {may('key:write') && (
              <>
                <FormDialog
                  label={T.keys.summaries}
                  kind="small"
                  about={<p>{T.keys.summariesAbout}</p>}
                  fields={[
                    { name: 'passphrase', label: T.passphrase, kind: 'passphrase', required: true },
                    {
                      ...({ name: 'summary', label: T.keys.summary, kind: 'checkbox' } as const),
                      ...{ value: true, hint: T.keys.summaryHint },
                    },
                    {
                      ...({ name: 'all', label: T.keys.summariesAll, kind: 'checkbox' } as const),
                      ...{ value: true, hint: T.keys.summariesAllHint },
                    },
                  ]}
                  done={T.keys.summariesSet}
                  onSend={async ({ needed, isOn }) => {
                    const key = { key: user, passphrase: needed('passphrase') };
                    await client.keys.setSummary({ ...key, summary: isOn('summary') });
                    if (isOn('all')) {
                      await client.keys.reseal(key);
                    }
                  }}
                />
                <Opener label={T.keys.reseal} kind="small">
                  <Reseal session={session} user={user} />
                </Opener>
                <FormDialog
                  label={T.keys.change}
                  kind="small"
                  about={<p class="warning">{T.keys.changeWarning}</p>}
                  fields={[
                    { name: 'passphrase', label: T.keys.old, kind: 'passphrase', required: true },
                    {
                      ...{ name: 'new_passphrase', label: T.keys.fresh, hint: T.keys.passphraseHint },
                      kind: 'passphrase',
                    },
                  ]}
                  secret={T.keys.changed}
                  onSend={async ({ needed, text }) => {
                    const change = {
                      passphrase: needed('passphrase'),
                      new_passphrase: text('new_passphrase'),
                    };
                    return (await client.keys.changePassphrase({ user, ...change })).passphrase;
                  }}
                />
                <Confirm
                  name={user}
                  label={T.keys.remove}
                  question={T.keys.removeQuestion}
                  onConfirm={() => client.keys.delete({ user, safe: true })}
                  after={keys.reload}
                />
              </>
            )}
          </>
        )}
      />
    </Screen>
  );
}
