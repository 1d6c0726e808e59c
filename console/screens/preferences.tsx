import type { SetPreference } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { PREFERENCES } from '../app/words.ts';
import { Confirm, FormDialog } from '../ui/dialog.tsx';
import type { Entered } from '../ui/form.tsx';
import { jsonIn } from '../ui/json.ts';
import { List } from '../ui/list.tsx';
import { Badge, Screen, Word } from '../ui/parts.tsx';

/** Defaults of the account, and its password. */
export function PreferencesScreen({ session: { client, rights } }: { readonly session: Session }) {
  const preferences = useLoad(() => client.admin.listPreferences());
  const setter = (name: string, value: string) => ({
    send: T.preferences.set,
    fields: [
      { name: 'key', label: T.preferences.name, required: true, value: name },
      { name: 'value', label: T.preferences.value, required: true, value, hint: T.preferences.valueHint },
    ],
    onSend: ({ needed }: Entered) =>
      client.admin.setPreference({ key: needed('key'), value: jsonIn(needed('value')) } as SetPreference),
    after: preferences.reload,
  });
  return (
    <Screen
      title={T.preferences.title}
      about={T.preferences.about}
      actions={
        <>
          {rights === undefined && (
            <FormDialog
              label={T.preferences.password}
              fields={[
                {
                  ...{ name: 'new_password', label: T.preferences.fresh, kind: 'new-password' },
                  hint: T.preferences.passwordHint,
                },
              ]}
              secret={T.preferences.changed}
              onSend={async ({ text }) =>
                (await client.admin.changePassword({ new_password: text('new_password') })).password
              }
            />
          )}
          <FormDialog label={T.preferences.add} kind="primary" {...setter('', '')} />
        </>
      }
    >
      <List
        of={preferences}
        title={T.preferences.title}
        empty={T.preferences.empty}
        keyOf={({ key }) => key}
        columns={[
          { title: T.preferences.name, cell: ({ key }) => <Word of={PREFERENCES} code={key} /> },
          { title: T.preferences.value, cell: ({ value }) => <code>{JSON.stringify(value)}</code> },
        ]}
        actions={({ key, value, is_default }) => (
          <>
            <FormDialog label={T.preferences.set} kind="small" {...setter(key, JSON.stringify(value))} />
            {is_default ? (
              <Badge kind="plain">{T.preferences.isDefault}</Badge>
            ) : (
              <Confirm
                name={key}
                label={T.preferences.reset}
                question={`${T.preferences.reset}?`}
                done={`${key}: ${T.preferences.wasReset}`}
                onConfirm={() => client.admin.deletePreference({ key })}
                after={preferences.reload}
              />
            )}
          </>
        )}
      />
    </Screen>
  );
}
