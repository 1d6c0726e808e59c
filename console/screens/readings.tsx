import type { ReadAccess } from '../../sdk/transport/types.ts';
import { useListing } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { ScreenProps } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Export, rowsOf } from '../ui/export.tsx';
import { Filter } from '../ui/fields.tsx';
import { List } from '../ui/list.tsx';
import { Actor, Screen, Short, Time } from '../ui/parts.tsx';

/** The successful readings of all items, newest first. */
export function ReadingsScreen({ session, params }: ScreenProps) {
  const { user, actor, source_ip, endpoint, after, before } = params;
  const query: ReadAccess = { user, actor, source_ip, endpoint, after, before };
  const readings = useListing(
    (next_token) => session.client.vault.access({ ...query, next_token, limit: 100 }),
    Object.values(query),
  );
  return (
    <Screen
      title={T.readings.title}
      about={T.readings.about}
      actions={<Export name="readings" rows={() => rowsOf(session.client.vault.accessPages(query))} />}
    >
      <Filter
        screen="readings"
        params={params}
        fields={[
          { name: 'user', label: T.key },
          { name: 'actor', label: T.item.actor, hint: T.readings.actorHint },
          { name: 'endpoint', label: T.item.endpoint, hint: T.readings.endpointHint },
          { name: 'source_ip', label: T.item.address, hint: T.log.sourceHint },
          { name: 'after', label: T.log.after, kind: 'datetime-local' },
          { name: 'before', label: T.log.before, kind: 'datetime-local' },
        ]}
      />
      <List
        of={readings}
        title={T.readings.title}
        empty={T.readings.empty}
        keyOf={({ request_id, user, token, timestamp }) => `${request_id} ${user} ${token} ${timestamp}`}
        columns={[
          { title: T.item.time, cell: ({ timestamp }) => <Time at={timestamp} isExact /> },
          { title: T.key, cell: (reading) => reading.user },
          {
            title: T.items.token,
            cell: ({ user, token, reference }) => (
              <a href={linkTo('item', { user, token, reference })}>
                <Short text={token} />
              </a>
            ),
          },
          { title: T.items.reference, cell: ({ reference = '–' }) => reference, isLong: true },
          { title: T.item.actor, cell: (reading) => <Actor {...reading} />, isLong: true },
          {
            title: T.item.source,
            cell: (reading) => (
              <span>
                {T.item.sources[reading.source]}{' '}
                {reading.endpoint !== undefined && <Short text={reading.endpoint} />}
              </span>
            ),
          },
          { title: T.item.address, cell: ({ ip_address }) => ip_address },
        ]}
      />
    </Screen>
  );
}
