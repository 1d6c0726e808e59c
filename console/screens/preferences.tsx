import type { SetPreference } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Confirm, Opener, SecretForm } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { jsonIn } from '../ui/json.ts';
import { Badge, Loaded, Screen, Table } from '../ui/parts.tsx';

function SetOne({ session: { client }, name, value, onChange }: SetParts) {
  return (
    <Form
      fields={[
        { name: 'key', label: T.preferences.name, required: true, value: name },
        { name: 'value', label: T.preferences.value, required: true, value, hint: T.preferences.valueHint },
      ]}
      send={T.preferences.set}
      onSend={async ({ needed }) => {
        await client.admin.setPreference({
          key: needed('key'),
          value: jsonIn(needed('value')),
        } as SetPreference);
        onChange();
      }}
    />
  );
}

interface SetParts {
  readonly session: Session;
  readonly name: string;
  readonly value: string;
  readonly onChange: () => void;
}

function ChangePassword({ session: { client } }: { readonly session: Session }) {
  return (
    <SecretForm
      fields={[
        {
          name: 'new_password',
          label: T.preferences.fresh,
          kind: 'new-password',
          hint: T.preferences.passwordHint,
        },
      ]}
      send={T.preferences.password}
      label={T.preferences.changed}
      make={async ({ text }) =>
        (await client.admin.changePassword({ new_password: text('new_password') })).password
      }
    />
  );
}

/** Defaults of the account, and its password. */
export function PreferencesScreen({ session }: { readonly session: Session }) {
  const { client, who } = session;
  const preferences = useLoad(() => client.admin.listPreferences());
  return (
    <Screen
      title={T.preferences.title}
      about={T.preferences.about}
      actions={
        <>
          {who.credential === undefined && (
            <Opener label={T.preferences.password}>{() => <ChangePassword session={session} />}</Opener>
          )}
          <Opener label={T.preferences.add} kind="primary">
            {(close) => (
              <SetOne
                session={session}
                name=""
                value=""
                onChange={() => {
                  preferences.reload();
                  close();
                }}
              />
            )}
          </Opener>
        </>
      }
    >
      <Loaded of={preferences}>
        {(rows) => (
          <Table
            label={T.preferences.title}
            rows={rows}
            empty={T.preferences.empty}
            keyOf={({ key }) => key}
            columns={[
              { title: T.preferences.name, cell: ({ key }) => <code>{key}</code> },
              { title: T.preferences.value, cell: ({ value }) => <code>{JSON.stringify(value)}</code> },
              {
                title: T.actions,
                cell: ({ key, value, is_default }) => (
                  <div class="actions">
                    {is_default ? (
                      <Badge kind="plain">{T.preferences.isDefault}</Badge>
                    ) : (
                      <Confirm
                        name={key}
                        label={T.preferences.reset}
                        question={`${T.preferences.reset}?`}
                        done={`${key}: ${T.preferences.wasReset}`}
                        onConfirm={async () => {
                          await client.admin.deletePreference({ key });
                          preferences.reload();
                        }}
                      />
                    )}
                    <Opener label={T.preferences.set} kind="small">
                      {(close) => (
                        <SetOne
                          session={session}
                          name={key}
                          value={JSON.stringify(value)}
                          onChange={() => {
                            preferences.reload();
                            close();
                          }}
                        />
                      )}
                    </Opener>
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Screen>
  );
}
