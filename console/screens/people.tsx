import { useState } from 'preact/hooks';
import type { CreatePerson, Person, RoleScopes } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { scopesIn } from '../app/words.ts';
import { Confirm, DialogForm, FormDialog, Opener, QrCode } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { type Entered, type Field, given } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Badge, Screen, Time } from '../ui/parts.tsx';

type Role = Person['role'];

/** The person to be changed, or none for a new one. */
interface EditProps {
  readonly session: Session;
  readonly roles: readonly RoleScopes[];
  readonly person?: Person;
  readonly after: () => void;
}

/** What is shown with the link of an invitation. */
function AboutLink({ link }: { readonly link: string }) {
  return (
    <>
      <QrCode text={link} label={T.people.qr} />
      <p class="hint">{T.people.linkEnds}</p>
    </>
  );
}

function settingsIn({ needed, text, list, isOn }: Entered, person: Person | undefined): CreatePerson {
  const keys = given(list('keys'));
  return {
    name: text('name') ?? person?.name ?? '',
    role: (text('role') ?? person?.role ?? needed('role')) as Role, // One of the options.
    ...(keys && { keys }),
    unmasked: isOn('unmasked'),
  };
}

/** The form for a new person, who is invited, or for other rights of one. */
function Edit({ session, roles, person, after }: EditProps) {
  const [role, setRole] = useState<Role | undefined>(person?.role);
  const offered = roles.filter(({ scopes }) => scopes.every((scope) => session.may(scope)));
  const scopes = offered.find((each) => each.role === role)?.scopes ?? [];
  const fields: readonly Field[] = [
    { name: 'name', label: T.people.name, required: true, value: person?.name ?? '' },
    {
      ...({ name: 'role', label: T.people.role, kind: 'select', required: true } as const),
      value: person?.role ?? '',
      options: [
        ...(person === undefined ? [['', T.choose] as const] : []),
        ...offered.map((each) => [each.role, T.people.roles[each.role]] as const),
      ],
      hint: role === undefined ? '' : `${T.people.roleHints[role]} ${T.me.rights}: ${scopesIn(scopes)}.`,
    },
    {
      ...{ name: 'keys', label: T.people.keys, hint: T.endpoints.masksHint },
      value: person?.keys?.join(', ') ?? '',
    },
    { name: 'unmasked', label: T.people.unmasked, kind: 'checkbox', value: person?.unmasked ?? false },
  ];
  return (
    <div
      onChange={({ target }) =>
        target instanceof HTMLSelectElement && target.value !== '' && setRole(target.value as Role)
      }
    >
      <DialogForm
        // The provider of the single sign-on has the name and the role.
        fields={person?.oidc ? fields.slice(2) : fields}
        about={person && <p class="soft">{T.people.changeAbout}</p>}
        send={person === undefined ? T.people.invite : T.people.change}
        onSend={async (entered) => {
          const settings = settingsIn(entered, person);
          if (person === undefined) {
            return (await session.client.person.create(settings)).invitation;
          }
          await session.client.person.change({ id: person.id, ...settings });
          return undefined;
        }}
        secret={T.people.invitation}
        more={(link) => <AboutLink link={link} />}
        after={after}
        {...(person && { done: T.people.wasChanged(person.name) })}
      />
    </div>
  );
}

/** The passkeys of a person; one that is lost is removed. */
function Passkeys({ session, person, mayTouch, after }: RowProps) {
  const { id, name, passkeys, oidc } = person;
  if (passkeys.length === 0) {
    return <span class="soft">{oidc ? T.people.oidc : T.people.noPasskeys}</span>;
  }
  return (
    <div>
      {passkeys.map((passkey) => (
        <div key={passkey.id} class="actions">
          {passkey.name}
          {mayTouch && (
            <Confirm
              label={T.people.removePasskey}
              question={T.people.removePasskeyQuestion(name, passkey.name)}
              done={T.people.passkeyRemoved(passkey.name)}
              onConfirm={() => session.client.person.deletePasskey({ id, passkey_id: passkey.id })}
              after={after}
            />
          )}
        </div>
      ))}
    </div>
  );
}

interface RowProps {
  readonly session: Session;
  readonly person: Person;
  readonly mayTouch: boolean;
  readonly after: () => void;
}

/** The people of the account. */
export function PeopleScreen({ session }: { readonly session: Session }) {
  const { client, who, may } = session;
  const list = useLoad(() => client.person.list());
  const roles = useLoad(() => client.person.roles());
  const known = roles.kind === 'ready' ? roles.data : [];
  // Owners are left to owners, and to the password of the account.
  const isOwner = who.person?.role === 'owner' || (who.person === undefined && who.credential === undefined);
  const mayTouch = ({ role }: Person) => role !== 'owner' || isOwner;
  return (
    <Screen
      title={T.people.title}
      about={T.people.about}
      actions={
        <>
          <Export name="people" rows={() => [list.kind === 'ready' ? list.data : []]} />
          <Opener label={T.people.invite} kind="primary">
            <Edit session={session} roles={known} after={list.reload} />
          </Opener>
        </>
      }
    >
      <List
        of={list}
        title={T.people.title}
        empty={T.people.empty}
        keyOf={({ id }) => id}
        columns={[
          {
            title: T.people.name,
            cell: ({ id, name, oidc }) => (
              <div>
                {name} {id === who.person?.id && <Badge kind="plain">{T.people.you}</Badge>}
                {oidc && <p class="hint">{T.people.oidc}</p>}
              </div>
            ),
          },
          {
            title: T.people.role,
            cell: ({ role, keys, unmasked }) => (
              <div>
                <span title={role}>{T.people.roles[role] ?? role}</span>
                {keys && <p class="hint">{`${T.people.keys}: ${keys.join(', ')}`}</p>}
                {unmasked && <p class="hint">{T.people.unmasked}</p>}
              </div>
            ),
          },
          { title: T.people.lastSeen, cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
          {
            title: T.people.passkeys,
            cell: (person) => (
              <Passkeys session={session} person={person} mayTouch={mayTouch(person)} after={list.reload} />
            ),
          },
        ]}
        actions={(person) => (
          <>
            {may('audit:read') && (
              <a class="button" href={linkTo('log', { actor: `person/${person.id}` })}>
                {T.log.title}
              </a>
            )}
            {mayTouch(person) && (
              <>
                <Opener label={T.people.change} title={`${T.people.change}: ${person.name}`} kind="small">
                  <Edit session={session} roles={known} person={person} after={list.reload} />
                </Opener>
                {!person.oidc && (
                  <FormDialog
                    label={T.people.inviteAgain}
                    title={`${T.people.inviteAgain}: ${person.name}`}
                    kind="small"
                    about={<p>{T.people.inviteAgainAbout}</p>}
                    fields={[]}
                    secret={T.people.invitation}
                    more={(link) => <AboutLink link={link} />}
                    onSend={async () => (await client.person.invite({ id: person.id })).invitation}
                  />
                )}
                <Confirm
                  question={T.people.removeQuestion(person.name)}
                  done={T.removed(person.name)}
                  onConfirm={() => client.person.delete({ id: person.id })}
                  after={list.reload}
                />
              </>
            )}
          </>
        )}
      />
    </Screen>
  );
}
