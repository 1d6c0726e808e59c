import { useState } from 'preact/hooks';
import type { TreeItem } from '../../sdk/transport/types.ts';
import { useListing } from '../app/load.ts';
import { linkTo, type Route } from '../app/route.ts';
import type { ScreenProps, Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Opener } from '../ui/dialog.tsx';
import { Filter, useKeyField } from '../ui/fields.tsx';
import { type Field, Form, pairsOf } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Screen, Short, Time } from '../ui/parts.tsx';

const TIMES = ['stored_after', 'stored_before', 'expires_before'] as const;
const FILTERS = ['reference_prefix', ...TIMES] as const;
/** A reference up to this length stays in one line. */
const WORD_MAX = 24;

function Filters({ keyField, params }: { readonly keyField: Field; readonly params: Route['params'] }) {
  const { options } = keyField;
  return (
    <Filter
      screen="items"
      params={params}
      fields={[
        {
          ...{ ...keyField, required: false },
          ...(options && {
            options: [['', T.all] as const, ...options.filter(([user]) => user !== '')],
          }),
        },
        { name: 'reference_prefix', label: T.items.prefix },
        ...TIMES.map((name): Field => ({ name, label: T.items[name], kind: 'datetime-local' })),
        {
          ...{ name: 'metadata', label: T.items.metadata, kind: 'textarea', hint: T.items.metadataHint },
          isMore: true,
        },
      ]}
    />
  );
}

/** The choice of all keys, since a customer can have items under several. No key has this name. */
const EVERY = '*';

function Erase({ session: { client }, keyField, reference, after }: EraseProps) {
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
          after();
        }}
      />
      <p class="done" role="status">
        {deleted !== undefined && `${T.items.erased} ${deleted}`}
      </p>
    </>
  );
}

interface EraseProps {
  readonly session: Session;
  readonly keyField: Field;
  readonly reference: string | undefined;
  readonly after: () => void;
}

/** The summary of a card: brand, last four digits, expiry. */
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

/** An item of the list, with its key. */
type Listed = TreeItem & { readonly user: string };

/** The items that the filters of the address match, of one key or of all. */
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

/** Items that the filters of the address match. */
export function ItemsScreen({ session, params }: ScreenProps) {
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
            <Erase {...{ session, keyField }} reference={reference_prefix} after={items.reload} />
          </Opener>
        )
      }
    >
      {keyField && <Filters keyField={keyField} params={params} />}
      <List
        of={items}
        title={T.items.title}
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
