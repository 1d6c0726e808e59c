import { forget, type Kept, keptBy } from '../app/kept.ts';
import { useLoad } from '../app/load.ts';
import { addPasskey, readSelf, type Self } from '../app/people.ts';
import { type Session, signOut } from '../app/session.ts';
import { T } from '../app/text.ts';
import { scopesIn } from '../app/words.ts';
import { Confirm, FormDialog } from '../ui/dialog.tsx';
import { List, Table } from '../ui/list.tsx';
import { Facts, Loaded, Panel, Screen, Time } from '../ui/parts.tsx';

/** The passphrases that the person keeps under passkeys. */
function KeptPanel({ session, self }: { readonly session: Session; readonly self: Self }) {
  const kept = useLoad(() => keptBy(session));
  return (
    <Panel title={T.me.kept}>
      <p class="soft">{T.me.aboutKept}</p>
      <List<Kept>
        of={kept}
        title={T.me.kept}
        empty={T.me.keptNone}
        keyOf={({ key, passkey_id }) => `${key} ${passkey_id}`}
        columns={[
          { title: T.key, cell: ({ key }) => key },
          {
            title: T.me.passkey,
            cell: ({ passkey_id }) => self.passkeys.find(({ id }) => id === passkey_id)?.name ?? '–',
          },
        ]}
        actions={(one) => (
          <Confirm
            name={one.key}
            label={T.me.forget}
            question={T.me.forgetQuestion}
            done={T.me.forgotten(one.key)}
            onConfirm={() => forget(session, one)}
            after={kept.reload}
          />
        )}
      />
    </Panel>
  );
}

/** The signed-in person: rights, passkeys, sessions. */
export function MeScreen({ session }: { readonly session: Session }) {
  const { origins, who } = session;
  const self = useLoad(() => readSelf(session));
  return (
    <Screen
      title={T.me.title}
      last={
        <Confirm
          label={T.me.everywhere}
          question={T.me.everywhereQuestion}
          done={T.me.everywhere}
          onConfirm={async () => {
            const url = await signOut(session, true);
            url === undefined ? location.reload() : location.assign(url);
          }}
        />
      }
    >
      <Loaded of={self}>
        {(shown) => (
          <>
            <Facts
              of={[
                [T.people.name, shown.name],
                [T.people.role, T.people.roles[shown.role] ?? shown.role],
                [T.me.rights, scopesIn(who.person?.scopes ?? [])],
                ...(shown.keys ? [[T.people.keys, shown.keys.join(', ')] as const] : []),
                [T.home.numbers, shown.unmasked ? T.home.whole : T.home.masked],
                [T.me.signedIn, <Time at={shown.signed_in_at} />],
                [T.me.ends, <Time at={shown.expires_at} />],
              ]}
            />
            {!shown.oidc && origins.sign_in.passkey && (
              <Panel
                title={T.people.passkeys}
                actions={
                  <FormDialog
                    label={T.me.add}
                    kind="small"
                    about={<p>{T.me.addAbout}</p>}
                    fields={[{ name: 'name', label: T.passkey.name, hint: T.passkey.nameHint }]}
                    onSend={({ text }) => addPasskey(session, text('name'))}
                    after={self.reload}
                  />
                }
              >
                <Table
                  rows={shown.passkeys}
                  title={T.people.passkeys}
                  empty={T.people.noPasskeys}
                  keyOf={({ id }) => id}
                  columns={[
                    { title: T.people.name, cell: ({ name }) => name },
                    { title: T.me.made, cell: ({ created_at }) => <Time at={created_at} /> },
                  ]}
                />
                <p class="soft">{T.me.aboutPasskeys}</p>
              </Panel>
            )}
            {shown.passkeys.length > 0 && <KeptPanel session={session} self={shown} />}
          </>
        )}
      </Loaded>
    </Screen>
  );
}
