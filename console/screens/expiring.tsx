import type { Expiring, Scope } from '../../sdk/transport/types.ts';
import { useListing, useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { List } from '../ui/list.tsx';
import { Expiry, Panel } from '../ui/parts.tsx';

const SHOWN = 20;

/** The screens on which things of a kind are renewed, with the scope that they need. */
const SCREENS: Readonly<Partial<Record<Expiring['kind'], readonly [screen: string, scope: Scope]>>> = {
  certificate: ['certificates', 'cert:write'],
  credential: ['credentials', 'credential:write'],
  capture: ['capture', 'capture:write'],
  retrieve: ['retrieve', 'retrieve:write'],
  inbound: ['inbound', 'capture:write'],
};

interface NameProps {
  readonly of: Expiring;
  readonly session: Session;
  /** The name of a credential. */
  readonly known: string | undefined;
}

/** The name or id of what expires, with a link to its screen if there is one. */
function Name({ of: { kind, id }, session, known }: NameProps) {
  const [screen, scope] = SCREENS[kind] ?? [];
  const name = known === undefined ? <code>{id}</code> : <span title={id}>{known}</span>;
  return screen !== undefined && scope !== undefined && session.may(scope) ? (
    <a href={linkTo(screen)}>{name}</a>
  ) : (
    name
  );
}

/** What somebody has to renew within the next 30 days. */
export function ExpiringPanel({ session }: { readonly session: Session }) {
  const found = useListing((next_token) => session.client.admin.expiring({ limit: SHOWN, next_token }));
  const credentials = useLoad(async () =>
    session.may('credential:write') ? session.client.credentials.list() : [],
  );
  const names = new Map(
    credentials.kind === 'ready' ? credentials.data.map(({ id, name }) => [id, name]) : [],
  );
  return (
    <Panel title={T.expiring.title}>
      <List
        of={found}
        title={T.expiring.title}
        empty={T.expiring.empty}
        keyOf={({ kind, id }) => `${kind} ${id}`}
        columns={[
          { title: T.expiring.kind, cell: ({ kind }) => T.expiring.kinds[kind] },
          {
            title: T.expiring.name,
            cell: (one) => <Name of={one} session={session} known={names.get(one.id)} />,
            isLong: true,
          },
          { title: T.key, cell: ({ user }) => user ?? '' },
          { title: T.expiring.expires, cell: ({ expires_at }) => <Expiry at={expires_at} soonDays={7} /> },
        ]}
      />
    </Panel>
  );
}
