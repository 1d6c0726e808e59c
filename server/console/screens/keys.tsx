import { useState } from 'preact/hooks';
import { useListing } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Confirm, Once, Opener } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { ListTable, Screen } from '../ui/parts.tsx';

interface KeyParts {
  readonly session: Session;
  readonly onChange: () => void;
}

function CreateKey({ session: { client }, onChange }: KeyParts) {
  const [made, setMade] = useState<string>();
  return made === undefined ? (
    <Form
      fields={[
        { name: 'user', label: T.keys.name, required: true },
        { name: 'passphrase', label: T.passphrase, kind: 'new-password', hint: T.keys.passphraseHint },
        { name: 'summary', label: T.keys.summary, kind: 'checkbox' },
      ]}
      send={T.keys.create}
      onSend={async ({ needed, text, isOn }) => {
        const key = { user: needed('user'), passphrase: text('passphrase'), summary: isOn('summary') };
        setMade((await client.keys.create(key)).passphrase);
        onChange();
      }}
    />
  ) : (
    <Once label={T.keys.made} text={made} />
  );
}

function ChangePassphrase({
  session: { client },
  user,
}: {
  readonly session: Session;
  readonly user: string;
}) {
  const [made, setMade] = useState<string>();
  return made === undefined ? (
    <>
      <p class="warning">{T.keys.changeWarning}</p>
      <Form
        fields={[
          { name: 'passphrase', label: T.keys.old, kind: 'password', required: true },
          { name: 'new_passphrase', label: T.keys.fresh, kind: 'new-password', hint: T.keys.passphraseHint },
        ]}
        send={T.keys.change}
        onSend={async ({ needed, text }) => {
          const change = { user, passphrase: needed('passphrase'), new_passphrase: text('new_passphrase') };
          setMade((await client.keys.changePassphrase(change)).passphrase);
        }}
      />
    </>
  ) : (
    <Once label={T.keys.changed} text={made} />
  );
}

export function KeysScreen({ session }: { readonly session: Session }) {
  const { client, may } = session;
  const keys = useListing((next_token) => client.keys.list({ next_token, limit: 50 }));
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
        empty={T.keys.empty}
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
