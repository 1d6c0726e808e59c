import { useLoad } from '../app/load.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Confirm } from '../ui/dialog.tsx';
import { List } from '../ui/list.tsx';
import { Screen, Time } from '../ui/parts.tsx';

/** Event subscriptions: how many events wait, and which subscription is paused. */
export function EventsScreen({ session: { client } }: { readonly session: Session }) {
  const subscriptions = useLoad(() => client.events.list());
  return (
    <Screen title={T.events.title} about={T.events.about}>
      <List
        of={subscriptions}
        title={T.events.title}
        empty={T.events.empty}
        keyOf={({ id }) => id}
        columns={[
          { title: T.events.url, cell: ({ url }) => url },
          { title: T.events.types, cell: ({ types }) => types.join(', ') },
          { title: T.events.waiting, cell: ({ waiting }) => waiting },
          {
            title: T.events.paused,
            cell: ({ paused_since, paused_because }) =>
              paused_since !== undefined && (
                <>
                  <Time at={paused_since} /> ({T.events.because[paused_because ?? 'failing']})
                </>
              ),
          },
          { title: T.events.leftOut, cell: ({ left_out = 0 }) => left_out },
        ]}
        actions={({ id, url }) => (
          <Confirm
            name={url}
            question={T.events.removeQuestion}
            onConfirm={() => client.events.delete({ id })}
            after={subscriptions.reload}
          />
        )}
      />
    </Screen>
  );
}
