import { useState } from 'preact/hooks';
import type { Credential, Scope } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import { scopes } from '../app/schema.macro.ts' with { type: 'macro' };
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { SCOPES as SCOPE_WORDS, scopesIn } from '../app/words.ts';
import { Confirm, DialogForm, FormDialog, Opener } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { type Entered, type Field, given } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Screen, Time } from '../ui/parts.tsx';

type Preset = keyof typeof T.credentials.presets;

/** The scopes of each role. */
const PRESETS: Readonly<Record<Exclude<Preset, 'own'>, readonly Scope[]>> = {
  charge: ['proxy:send', 'job:read'],
  store: ['vault:store', 'vault:update'],
  support: [
    ...(['vault:list', 'vault:read', 'vault:log', 'retrieve:write', 'key:read'] as const),
    ...(['job:read', 'audit:read', 'usage:read'] as const),
  ],
  forms: ['capture:write', 'retrieve:write', 'form:write'],
  audit: ['audit:read', 'usage:read', 'job:read', 'vault:log'],
};

const SCOPES = scopes();

function isRole(preset: string): preset is keyof typeof PRESETS {
  return Object.hasOwn(PRESETS, preset);
}

function Create({ session: { client, may }, after }: { session: Session; after: () => void }) {
  const [preset, setPreset] = useState('');
  const make = async ({ needed, list, duration, isOn }: Entered): Promise<string> => {
    const chosen = needed('preset');
    const { secret } = await client.credentials.create({
      name: needed('name'),
      scopes: isRole(chosen)
        ? [...PRESETS[chosen]]
        : SCOPES.filter((scope) => list('scopes').includes(scope)),
      keys: given(list('keys')),
      hosts: given(list('hosts')),
      ips: given(list('ips')),
      expires_in: duration('expires_in'),
      unmasked: isOn('unmasked'),
    });
    return secret;
  };
  const roles = Object.entries(T.credentials.presets).filter(
    ([role]) => !isRole(role) || PRESETS[role].every((scope) => may(scope)),
  );
  const more: readonly Field[] = [
    { name: 'keys', label: T.credentials.keys, hint: T.endpoints.masksHint },
    { name: 'hosts', label: T.credentials.hosts, hint: T.endpoints.masksHint },
    { name: 'ips', label: T.credentials.ips, hint: T.credentials.ipsHint },
    { name: 'expires_in', label: T.credentials.expiresIn, hint: T.credentials.expiresHint },
    { name: 'unmasked', label: T.credentials.unmasked, kind: 'checkbox' },
  ];
  return (
    <div
      onChange={({ target }) =>
        target instanceof HTMLSelectElement && target.name === 'preset' && setPreset(target.value)
      }
    >
      <DialogForm
        fields={[
          { name: 'name', label: T.credentials.name, required: true, hint: T.credentials.nameHint },
          {
            ...({ name: 'preset', label: T.credentials.preset, kind: 'select', required: true } as const),
            options: [['', T.choose] as const, ...roles],
            hint: isRole(preset) ? scopesIn(PRESETS[preset]) : '',
          },
          ...(preset === 'own'
            ? [
                {
                  ...({ name: 'scopes', label: T.credentials.own, kind: 'many' } as const),
                  options: SCOPES.filter((scope) => may(scope)).map(
                    (scope) => [scope, SCOPE_WORDS[scope]] as const,
                  ),
                },
              ]
            : []),
          ...more.map((field) => ({ ...field, isMore: true })),
        ]}
        send={T.credentials.create}
        secret={T.credentials.secret}
        onSend={make}
        after={after}
      />
    </div>
  );
}

/** The limits of a credential, each with its label. */
function limitsOf(of: Credential) {
  return (['keys', 'hosts', 'ips'] as const).flatMap((name) => {
    const list = of[name] ?? [];
    return list.length === 0 ? [] : [[T.credentials[name], list.join(', ')] as const];
  });
}

/** The name of a credential, and its id, which the logs contain. */
function Named({ name, id }: Credential) {
  return (
    <div>
      {name}
      <p class="hint">
        <code class="short">{id}</code>
      </p>
    </div>
  );
}

/** API credentials of the account. */
export function CredentialsScreen({ session }: { readonly session: Session }) {
  const { client, may, who } = session;
  const credentials = useLoad(() => client.credentials.list());
  return (
    <Screen
      title={T.credentials.title}
      about={T.credentials.about}
      actions={
        <>
          <Export name="credentials" rows={() => [credentials.kind === 'ready' ? credentials.data : []]} />
          <Opener label={T.credentials.create} kind="primary">
            <Create session={session} after={credentials.reload} />
          </Opener>
        </>
      }
    >
      <List
        of={credentials}
        title={T.credentials.title}
        empty={T.credentials.empty}
        keyOf={({ id }) => id}
        columns={[
          { title: T.credentials.name, cell: Named },
          {
            title: T.credentials.scopes,
            cell: (credential) => (
              <div>
                <span title={credential.scopes.join(', ')}>{scopesIn(credential.scopes)}</span>
                {limitsOf(credential).map(([what, list]) => (
                  <p key={what} class="hint">{`${what}: ${list}`}</p>
                ))}
                {credential.unmasked && <p class="hint">{T.credentials.unmasked}</p>}
              </div>
            ),
          },
          { title: T.credentials.used, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
          { title: T.credentials.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
        ]}
        actions={({ id, name }) => (
          <>
            {may('audit:read') && (
              <>
                <a class="button" href={linkTo('readings', { actor: `${who.user}/${id}` })}>
                  {T.readings.title}
                </a>
                <a class="button" href={linkTo('log', { actor: `credential/${id}` })}>
                  {T.log.title}
                </a>
              </>
            )}
            <FormDialog
              label={T.credentials.roll}
              title={`${T.credentials.roll}: ${name}`}
              kind="small"
              about={<p>{T.credentials.rollAbout}</p>}
              fields={[
                {
                  ...{ name: 'overlap', label: T.credentials.overlap, value: '24 hours' },
                  hint: T.credentials.overlapHint,
                },
              ]}
              secret={T.credentials.secret}
              onSend={async ({ duration }) =>
                (await client.credentials.roll({ id, overlap: duration('overlap') })).secret
              }
            />
            <Confirm
              name={name}
              question={T.credentials.removeQuestion}
              onConfirm={() => client.credentials.delete({ id })}
              after={credentials.reload}
            />
          </>
        )}
      />
    </Screen>
  );
}
