import { useState } from 'preact/hooks';
import type { TreeItem } from '../../../sdk/transport/types.ts';
import { useListing, useLoad } from '../app/load.ts';
import { goTo, linkTo, type Route } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Opener } from '../ui/dialog.tsx';
import { type Entered, Form, pairsOf } from '../ui/form.tsx';
import { ListTable, Screen, Short, Time } from '../ui/parts.tsx';

const FILTERS = ['reference_prefix', 'stored_after', 'stored_before', 'expires_before'] as const;
/** Keys that a screen offers to choose from; a longer list is typed. */
const KEYS_SHOWN = 200;

/** A time of a field, which is in the reader's zone, in UTC. */
export function timeOf({ text }: Entered, name: string): string | undefined {
  const local = text(name);
  return local === undefined ? undefined : `${new Date(local).toISOString().slice(0, 19)}Z`;
}

/** Names of keys to choose from; none for a credential that may not list them. */
export function useKeyNames({ client, may }: Session): readonly string[] {
  const keys = useLoad(async () =>
    may('key:read') ? (await client.keys.list({ limit: KEYS_SHOWN })).data.map(({ user }) => user) : [],
  );
  return keys.kind === 'ready' ? keys.data : [];
}

function Filters({ session, params }: { readonly session: Session; readonly params: Route['params'] }) {
  const users = useKeyNames(session);
  return (
    <Form
      key={users.join()}
      isCompact
      fields={[
        users.length > 0
          ? {
              name: 'user',
              label: T.key,
              kind: 'select',
              value: params['user'] ?? '',
              options: users.map((user) => [user, user] as const),
            }
          : { name: 'user', label: T.key, required: true, value: params['user'] ?? '' },
        { name: 'reference_prefix', label: T.items.prefix, value: params['reference_prefix'] ?? '' },
        { name: 'stored_after', label: T.items.after, kind: 'datetime-local' },
        { name: 'stored_before', label: T.items.before, kind: 'datetime-local' },
        { name: 'expires_before', label: T.items.expires, kind: 'datetime-local' },
        { name: 'metadata', label: T.items.metadata, kind: 'textarea', value: params['metadata'] ?? '' },
      ]}
      send={T.search}
      onSend={(entered) =>
        goTo('items', {
          ...Object.fromEntries(FILTERS.slice(1).map((name) => [name, timeOf(entered, name)])),
          user: entered.text('user'),
          reference_prefix: entered.text('reference_prefix'),
          metadata: entered.text('metadata'),
        })
      }
    />
  );
}

function Erase({ session: { client }, user, onChange }: ErasedParts) {
  const [deleted, setDeleted] = useState<number>();
  return (
    <>
      <p class="warning">{T.items.eraseAbout}</p>
      <Form
        fields={[{ name: 'reference', label: T.items.reference, required: true }]}
        send={T.items.erase}
        onSend={async ({ needed }) => {
          setDeleted(await client.vault.eraseReference({ user, reference: needed('reference') }));
          onChange();
        }}
      />
      <p role="status">{deleted !== undefined && `${T.items.erased} ${deleted}`}</p>
    </>
  );
}

interface ErasedParts {
  readonly session: Session;
  readonly user: string;
  readonly onChange: () => void;
}

/** A card as its key's summary tells it: brand, last four digits, expiry. */
function cardOf({ card }: TreeItem): string {
  const expiry = [card?.expiry_month, card?.expiry_year].filter((part) => part !== undefined).join('/');
  return card === undefined
    ? ''
    : [card.brand, card.last_four && `•••• ${card.last_four}`, expiry].filter(Boolean).join(' ');
}

function Items({ session, user, params }: { session: Session; user: string; params: Route['params'] }) {
  const { client, may } = session;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, params[name]]));
  const items = useListing(
    async (next_token) => {
      const query = { user, ...filters, metadata: pairsOf(params['metadata']), next_token, limit: 50 };
      const page = await client.vault.list(query);
      return { data: page.data[user] ?? [], next_token: page.next_token };
    },
    [user, ...Object.values(filters), params['metadata']],
  );
  return (
    <>
      {may('vault:delete') && (
        <Opener label={T.items.erase} kind="danger">
          {() => <Erase session={session} user={user} onChange={items.load.reload} />}
        </Opener>
      )}
      <ListTable
        label={T.items.title}
        listing={items}
        empty={T.items.empty}
        keyOf={({ token, reference = '' }) => `${token} ${reference}`}
        columns={[
          {
            title: T.items.token,
            cell: ({ token, reference }) => (
              <a href={linkTo('item', { user, token, reference })}>
                <Short text={token} />
              </a>
            ),
          },
          { title: T.items.reference, cell: ({ reference }) => reference },
          { title: T.items.card, cell: cardOf },
          { title: T.items.stored, cell: ({ stored_at }) => <Time at={stored_at} /> },
          { title: T.items.expiry, cell: ({ expires_at }) => <Time at={expires_at} /> },
          {
            title: T.items.metadata,
            cell: ({ metadata = {} }) =>
              Object.entries(metadata)
                .map(([name, value]) => `${name}=${value}`)
                .join(', '),
          },
        ]}
      />
    </>
  );
}

export function ItemsScreen({
  session,
  params,
}: {
  readonly session: Session;
  readonly params: Route['params'];
}) {
  const { user } = params;
  return (
    <Screen title={T.items.title}>
      <Filters session={session} params={params} />
      {user === undefined ? (
        <p class="empty">{T.items.choose}</p>
      ) : (
        <Items session={session} user={user} params={params} />
      )}
    </Screen>
  );
}
