import { useState } from 'preact/hooks';
import { VaultApiError } from '../../sdk/transport/errors.ts';
import type { ListedItem, TreeItem } from '../../sdk/transport/types.ts';
import { useListing } from '../app/load.ts';
import { compareNewest, listedOf, readNewest } from '../app/newest.ts';
import { linkTo, type Route } from '../app/route.ts';
import type { ScreenProps, Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Opener } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { Filter, KEYS_SHOWN, keyFilter, useKeyField } from '../ui/fields.tsx';
import { type Field, Form, pairsOf } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Badge, Screen, Short, Time } from '../ui/parts.tsx';

const TIMES = ['stored_after', 'stored_before', 'expires_before'] as const;
/** The shortest text that is looked up as a token, which takes a request for each key. */
const TOKEN_MIN = 8;
const LAST_FOUR = /^\d{4}$/;
/** The most items that are listed for last four digits. */
const LAST_FOUR_MAX = 1_000;
/** Items of one reply of an export. */
const EXPORT_STEP = 1_000;
/** A reference up to this length stays in one line. */
const WORD_MAX = 24;

/** The one field by which items are searched. */
export const SEARCH: Field = { name: 'q', label: T.items.search };

function Filters({ keyField, params }: { readonly keyField: Field; readonly params: Route['params'] }) {
  return (
    <Filter
      screen="items"
      params={params}
      fields={[
        SEARCH,
        keyFilter(keyField),
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

/** Brand and last four digits of a card. */
export function cardOf({ card }: TreeItem): string {
  const brands: Readonly<Record<string, string>> = T.items.brands;
  const brand = card?.brand && (brands[card.brand] ?? card.brand);
  return [brand, card?.last_four && `••••\u00a0${card.last_four}`].filter(Boolean).join(' ');
}

/** The month in which a card expires, with a warning once it has. */
export function CardExpiry({ of: { card } }: { readonly of: TreeItem }) {
  const { expiry_month: month, expiry_year: year } = card ?? {};
  if (month === undefined || year === undefined) {
    return null;
  }
  // Cards are valid to the end of their month, wherever that is last.
  const isPast = Date.UTC(Number(year), Number(month), 1, 12) < Date.now();
  return (
    <span class="short">
      {`${month}/${year}`} {isPast && <Badge kind="bad">{T.expired}</Badge>}
    </span>
  );
}

/** Metadata in one line. */
export function metadataOf({ metadata = {} }: TreeItem): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

/** The filters of the address, without the bounds of times of storage. */
function filterOf({ user, q, metadata, expires_before }: Route['params']) {
  return { user, reference_prefix: q, metadata: pairsOf(metadata), expires_before };
}

/** The keys under which a token may be: the chosen one, or all that this session can name. */
async function usersOf(
  { client, may, rights }: Session,
  user: string | undefined,
): Promise<readonly string[]> {
  if (user !== undefined) {
    return [user];
  }
  const { keys } = rights ?? {};
  return (
    keys ??
    (may('key:read') ? (await client.keys.list({ limit: KEYS_SHOWN })).data.map((key) => key.user) : [])
  );
}

/** The items whose token is the searched text, at most one of each key. */
async function withToken(session: Session, { user, q: token = '' }: Route['params']): Promise<ListedItem[]> {
  if (token.length < TOKEN_MIN) {
    return [];
  }
  const find = async (of: string): Promise<ListedItem[]> => {
    try {
      const { data } = await session.client.vault.list({ user: of, token });
      return (data[of] ?? []).map((item) => ({ ...item, user: of }));
    } catch (error) {
      if (error instanceof VaultApiError && error.status === 404) {
        return [];
      }
      throw error;
    }
  };
  return (await Promise.all((await usersOf(session, user)).map(find))).flat();
}

/** The items whose card has the searched text as its last four digits, the newest first, of keys with summaries. */
async function withLastFour({ client }: Session, params: Route['params']): Promise<ListedItem[]> {
  const { q: last_four = '', stored_after, stored_before } = params;
  if (!LAST_FOUR.test(last_four)) {
    return [];
  }
  const { reference_prefix: _, ...filter } = filterOf(params);
  const query = { ...filter, last_four, stored_after, stored_before, limit: LAST_FOUR_MAX };
  try {
    const { data } = await client.vault.list(query);
    return listedOf(data).sort(compareNewest);
  } catch (error) {
    if (error instanceof VaultApiError && error.field === 'query.last_four') {
      return [];
    }
    throw error;
  }
}

function isIn(items: readonly ListedItem[]): (item: ListedItem) => boolean {
  const names = new Set(items.map(({ user, token }) => `${user} ${token}`));
  return ({ user, token }) => names.has(`${user} ${token}`);
}

/** The items that the filters of the address match, of one key or of all, the newest first. */
function useItems(session: Session, params: Route['params']) {
  const { stored_after, stored_before } = params;
  const read = async (next: string | undefined) => {
    const page = await readNewest(
      (span) => session.client.vault.list({ ...filterOf(params), ...span }),
      { stored_after, stored_before },
      next,
    );
    const found = await withLastFour(session, params);
    const isFound = isIn(found);
    const others = page.data.filter((item) => !isFound(item));
    if (next !== undefined) {
      return { ...page, data: others };
    }
    // A token that is not found is an entry of the security log, which would be one of each search for a reference.
    const data = [...found, ...others];
    return { ...page, data: data.length === 0 ? await withToken(session, params) : data };
  };
  return useListing<ListedItem>(read, Object.values(params));
}

/** Items that the filters of the address match. */
export function ItemsScreen({ session, params }: ScreenProps) {
  const { user, q, stored_after, stored_before } = params;
  const items = useItems(session, params);
  const keyField = useKeyField(session, user);
  const isFiltered = Object.keys(params).some((name) => name !== 'user');
  return (
    <Screen
      title={T.items.title}
      actions={
        <Export
          name="items"
          rows={async function* () {
            const found = await withLastFour(session, params);
            yield found;
            const isFound = isIn(found);
            const query = { ...filterOf(params), stored_after, stored_before, limit: EXPORT_STEP };
            let count = found.length;
            for await (const item of session.client.vault.items(query)) {
              count += 1;
              yield isFound(item) ? [] : [item];
            }
            yield count > 0 ? [] : await withToken(session, params);
          }}
        />
      }
      last={
        session.may('vault:delete') &&
        keyField && (
          <Opener label={T.items.erase} kind="danger">
            <Erase {...{ session, keyField }} reference={q} after={items.reload} />
          </Opener>
        )
      }
    >
      {keyField && <Filters keyField={keyField} params={params} />}
      <List
        of={items}
        title={T.items.title}
        empty={isFiltered ? (LAST_FOUR.test(q ?? '') ? T.items.emptyDigits : T.items.empty) : T.items.none}
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
            cell: (item) => (
              <div>
                {(item.reference ?? '').length > WORD_MAX ? (
                  item.reference
                ) : (
                  <span class="short">{item.reference}</span>
                )}
                {item.metadata && <p class="hint">{metadataOf(item)}</p>}
              </div>
            ),
          },
          { title: T.items.card, cell: (item) => <span class="short">{cardOf(item)}</span> },
          { title: T.items.cardExpiry, cell: (item) => <CardExpiry of={item} /> },
          ...(user === undefined ? [{ title: T.key, cell: (item: ListedItem) => item.user }] : []),
          {
            title: T.items.stored,
            cell: ({ stored_at, expires_at }) => (
              <div>
                <Time at={stored_at} />
                {expires_at && (
                  <p class="hint">
                    {T.items.expiry} <Time at={expires_at} />
                  </p>
                )}
              </div>
            ),
          },
        ]}
      />
    </Screen>
  );
}
