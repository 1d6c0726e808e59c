import type { ReadAccess } from '../../sdk/transport/types.ts';
import { actorOf } from '../app/actor.ts';
import { useListing } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { ScreenProps } from '../app/session.ts';
import { T } from '../app/text.ts';
import { SOURCES } from '../app/words.ts';
import { Export, rowsOf } from '../ui/export.tsx';
import { Filter, keyFilter, Periods, useKeyField } from '../ui/fields.tsx';
import { List } from '../ui/list.tsx';
import { Actor, Address, Screen, Short, Time, Word } from '../ui/parts.tsx';

/** The successful readings of all items, newest first. */
export function ReadingsScreen({ session, params }: ScreenProps) {
  const { user, actor, source_ip, endpoint, after, before } = params;
  const keyField = useKeyField(session, user);
  const given = { user, source_ip, endpoint, after, before };
  const query = async (): Promise<ReadAccess> => ({
    ...given,
    actor: await actorOf(session, 'readings', actor),
  });
  const readings = useListing(
    async (next_token) => session.client.vault.access({ ...(await query()), next_token, limit: 100 }),
    [...Object.values(given), actor],
  );
  return (
    <Screen
      title={T.readings.title}
      about={T.readings.about}
      actions={
        <Export
          name="readings"
          rows={async function* () {
            yield* rowsOf(session.client.vault.accessPages(await query()));
          }}
        />
      }
    >
      {keyField && (
        <Filter
          screen="readings"
          params={params}
          fields={[
            { name: 'actor', label: T.item.actor, hint: T.log.actorHint },
            { name: 'endpoint', label: T.item.endpoint, hint: T.readings.endpointHint },
            { name: 'source_ip', label: T.item.address, hint: T.log.sourceHint },
            { ...keyFilter(keyField), isMore: true },
            { name: 'after', label: T.log.after, kind: 'datetime-local' },
            { name: 'before', label: T.log.before, kind: 'datetime-local' },
          ]}
        />
      )}
      <Periods screen="readings" params={params} />
      <List
        of={readings}
        title={T.readings.title}
        empty={Object.keys(params).length === 0 ? T.readings.none : T.readings.empty}
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
          {
            title: T.item.actor,
            cell: (reading) => (
              <Actor {...reading} href={linkTo('readings', { ...params, actor: reading.actor })} />
            ),
            isLong: true,
          },
          {
            title: T.item.source,
            cell: (reading) => (
              <span>
                <Word of={SOURCES} code={reading.source} />{' '}
                {reading.endpoint !== undefined && (
                  <a href={linkTo('readings', { ...params, endpoint: reading.endpoint })}>
                    <Short text={reading.endpoint} />
                  </a>
                )}
              </span>
            ),
          },
          { title: T.item.address, cell: (reading) => <Address session={session} ip={reading.ip_address} /> },
        ]}
      />
    </Screen>
  );
}
