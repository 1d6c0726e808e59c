import { useState } from 'preact/hooks';
import type { TreeItem } from '../../sdk/transport/types.ts';
import { useListing } from '../app/load.ts';
import { goTo, linkTo, type Route } from '../app/route.ts';
import type { ScreenParts, Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Opener } from '../ui/dialog.tsx';
import { timeField, timeOf, useKeyField } from '../ui/fields.tsx';
import { type Field, Form, pairsOf } from '../ui/form.tsx';
import { ListTable, Screen, Short, Time } from '../ui/parts.tsx';

const TIMES = ['stored_after', 'stored_before', 'expires_before'] as const;
const FILTERS = ['reference_prefix', ...TIMES] as const;
/** A reference up to this length stays in one line. */
const WORD_MAX = 24;

function Filters({ keyField, params }: { readonly keyField: Field; readonly params: Route['params'] }) {
  const { options } = keyField;
  return (
    <Form
      isCompact
      fields={[
        {
          ...{ ...keyField, required: false, value: params['user'] ?? '' },
          ...(options && {
            options: [['', T.all] as const, ...options.filter(([user]) => user !== '')],
          }),
        },
        { name: 'reference_prefix', label: T.items.prefix, value: params['reference_prefix'] ?? '' },
        ...TIMES.map((name) => timeField(name, T.items[name], params)),
        {
          ...{ name: 'metadata', label: T.items.metadata, kind: 'textarea', hint: T.items.metadataHint },
          ...{ value: params['metadata'] ?? '', isMore: true },
        },
      ]}
      send={T.search}
      onSend={(entered) =>
        goTo('items', {
          ...Object.fromEntries(TIMES.map((name) => [name, timeOf(entered, name)])),
          user: entered.text('user'),
          reference_prefix: entered.text('reference_prefix'),
          metadata: entered.text('metadata'),
        })
      }
    />
  );
}

/** The choice of all keys: a customer may have items under several of them. It is no name of a key. */
const EVERY = '*';

function Erase({ session: { client }, keyField, reference, onChange }: ErasedParts) {
  const [deleted, setDeleted] = useState<number>();
  const { options } = keyField;
  const users = options?.flatMap(([user]) => (user === '' ? [] : [user])) ?? [];
  return (
    <>
      <p class="warning">{T.items.eraseAbout}</p>
      <Form
        fields={[
          {
            ...keyField,
            ...(options && users.length > 1 && { options: [...options, [EVERY, T.items.everyKey] as const] }),
          },
          { name: 'reference', label: T.items.reference, required: true, value: reference ?? '' },
        ]}
        send={T.items.erase}
        kind="danger"
        onSend={async ({ needed }) => {
          const chosen = needed('user');
          let count = 0;
          setDeleted(undefined);
          for (const user of chosen === EVERY ? users : [chosen]) {
            count += await client.vault.eraseReference({ user, reference: needed('reference') });
          }
          setDeleted(count);
          onChange();
        }}
      />
      <p class="done" role="status">
        {deleted !== undefined && `${T.items.erased} ${deleted}`}
      </p>
    </>
  );
}

interface ErasedParts {
  readonly session: Session;
  readonly keyField: Field;
  readonly reference: string | undefined;
  readonly onChange: () => void;
}

/** A card as its key's summary tells it: brand, last four digits, expiry. */
export function cardOf({ card }: TreeItem): string {
  const expiry = [card?.expiry_month, card?.expiry_year].filter((part) => part !== undefined).join('/');
  const brands: Readonly<Record<string, string>> = T.items.brands;
  const brand = card?.brand && (brands[card.brand] ?? card.brand);
  return card === undefined
    ? ''
    : [brand, card.last_four && `••••\u00a0${card.last_four}`, expiry].filter(Boolean).join(' ');
}

/** Metadata in one line. */
export function metadataOf({ metadata = {} }: TreeItem): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

/** An item of the list, with the key that it is under. */
type Listed = TreeItem & { readonly user: string };

/** The items that the filters of the place match, of one key or of all. */
function useItems({ client }: Session, params: Route['params']) {
  const { user, metadata } = params;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, params[name]]));
  return useListing<Listed>(
    async (next_token) => {
      const query = { user, ...filters, metadata: pairsOf(metadata), next_token, limit: 50 };
      const page = await client.vault.list(query);
      const data = Object.entries(page.data).flatMap(([of, items]) =>
        items.map((item) => ({ ...item, user: of })),
      );
      return { data, next_token: page.next_token };
    },
    [user, ...Object.values(filters), metadata],
  );
}

/** Items that the filters of the place match. */
export function ItemsScreen({ session, params }: ScreenParts) {
  const { user, reference_prefix } = params;
  const items = useItems(session, params);
  const keyField = useKeyField(session, user);
  const isFiltered = Object.keys(params).some((name) => name !== 'user');
  return (
    <Screen
      title={T.items.title}
      actions={
        session.may('vault:delete') &&
        keyField && (
          <Opener label={T.items.erase} kind="danger">
            {() => (
              <Erase {...{ session, keyField }} reference={reference_prefix} onChange={items.load.reload} />
            )}
          </Opener>
        )
      }
    >
      {keyField && <Filters keyField={keyField} params={params} />}
      <ListTable
        label={T.items.title}
        listing={items}
        empty={isFiltered ? T.items.empty : T.items.none}
        keyOf={({ user: of, token, reference = '' }) => `${of} ${token} ${reference}`}
        columns={[
          {
            title: T.items.token,
            cell: (item) => (
              <a href={linkTo('item', { user: item.user, token: item.token, reference: item.reference })}>
                <Short text={item.token} />
              </a>
            ),
          },
          {
            title: T.items.reference,
            cell: ({ reference = '' }) =>
              reference.length > WORD_MAX ? reference : <span class="short">{reference}</span>,
          },
          { title: T.items.card, cell: cardOf },
          ...(user === undefined ? [{ title: T.key, cell: (item: Listed) => item.user }] : []),
          { title: T.items.stored, cell: ({ stored_at }) => <Time at={stored_at} /> },
          { title: T.items.expiry, cell: ({ expires_at }) => <Time at={expires_at} /> },
          { title: T.items.metadata, cell: metadataOf },
        ]}
      />
    </Screen>
  );
}
