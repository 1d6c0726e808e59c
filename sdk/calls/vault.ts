/** Stored items: store, decrypt, list, update, delete, and the log of each. */

import type { ApiCall, ApiReply, CallOptions, KeyedCallOptions } from '../transport/call.ts';
import { neededPassphrase, needText, textOfData } from '../transport/needed.ts';
import { openItems } from '../transport/open-items.ts';
import { fetchPage, jsonOf, type Page, type Pages, pagesOf, readJson } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  AccessEntry,
  BatchDeleted,
  BatchFailure,
  BatchOpened,
  DecryptAll,
  DecryptedItem,
  DecryptItem,
  DecryptItems,
  DeleteItem,
  DeleteItems,
  EraseReference,
  ExportItems,
  KeyName,
  ListedItem,
  ListItems,
  LogEntry,
  Message,
  ReadAccess,
  ReadLog,
  StoredObject,
  StoredToken,
  StoreItem,
  StoreMany,
  TokenInfo,
  Tree,
  UpdateItem,
  VersionedObject,
} from '../transport/types.ts';
import { createBatchCalls } from './vault-batch.ts';

/**
 * Stored items. `key` is the identifier of the vault key; `user`, as replies name it, is its alias; an item that was stored with a `reference` is
 * named by token and reference.
 * @see /guide/items
 */
export interface VaultCalls {
  /**
   * Stores an object under a key and returns its token. `data` is an object, or the exact JSON text of one (for
   * integers beyond 2^53 and numbers such as `1.10`, whose digits a JavaScript number loses), at most 262,144 bytes.
   * @see /guide/items
   * @throws `idempotency_conflict`, `number_missing`, `test_card` (production),
   * `metadata_sensitive`, `passphrase_wrong`, `key_not_found`
   * @example
   * const data = { card_number: '4111111111111111', expiry: '12/29' };
   * const { token } = await client.vault.store({ key: 'customers', reference: 'customer-4711', data });
   */
  readonly store: (item: StoreItem & KeyName, options?: KeyedCallOptions) => Promise<StoredToken>;
  /**
   * Stores many objects under one key, with calls of up to 1,000, and yields the result of each in their order: that of
   * `store`, or an object with `code` and `error` for a rejected one, which does not stop the others. `items` is any
   * iterable, which is read as the calls are sent. Items are stored as far as the loop runs, and up to two calls ahead of
   * it: without a loop nothing is stored.
   * @see /guide/items
   * @throws `idempotency_conflict`, `passphrase_wrong`, `key_not_found`
   * @example
   * const items = [{ data: { card_number: '4111111111111111' }, reference: 'customer-4711', ttl: 'P90D' }];
   * for await (const result of client.vault.storeMany({ key: 'customers', items })) {
   *   console.log('token' in result ? result.token : result.error);
   * }
   */
  readonly storeMany: (
    batch: StoreMany & KeyName,
    options?: CallOptions,
  ) => AsyncGenerator<TokenInfo | BatchFailure, void, undefined>;
  /**
   * Opens one item and returns the stored object, masked as the account and `mask_fields` demand. Numbers become
   * JavaScript numbers: integers beyond 2^53 lose digits here, not in `decryptText`.
   * @see /guide/items
   * @throws `reference_required`, `passphrase_wrong`, `key_not_found`, `token_not_found`,
   * `rule_not_found`, `rule_limit`
   * @example
   * const card = await client.vault.decrypt({ key: 'customers', token, reference: 'customer-4711' });
   */
  readonly decrypt: (item: DecryptItem & KeyName, options?: CallOptions) => Promise<StoredObject>;
  /**
   * As `decrypt`, but returns the JSON text exactly as the service sent it, with every digit.
   * @see /guide/items
   * @throws `reference_required`, `passphrase_wrong`, `key_not_found`, `token_not_found`,
   * `rule_not_found`, `rule_limit`
   * @example
   * const text = await client.vault.decryptText({ key: 'customers', token });
   */
  readonly decryptText: (item: DecryptItem & KeyName, options?: CallOptions) => Promise<string>;
  /**
   * As `decrypt`, and returns the version of the data too, which `update` and `delete` take.
   * @see /guide/items
   * @throws `reference_required`, `passphrase_wrong`, `key_not_found`, `token_not_found`,
   * `rule_not_found`, `rule_limit`
   * @example
   * const { data, version } = await client.vault.decryptVersioned({ key: 'customers', token });
   */
  readonly decryptVersioned: (item: DecryptItem & KeyName, options?: CallOptions) => Promise<VersionedObject>;
  /**
   * One page of the items' tokens, by key, without their data; at most 1,024 unless `limit` says otherwise.
   * @see /guide/items
   * @throws `cursor_invalid`, `key_not_found`, `token_not_found`
   * @example
   * const { data, next_token } = await client.vault.list({ key: 'customers', reference_prefix: 'customer-' });
   */
  readonly list: (query?: ListItems, options?: CallOptions) => Promise<Page<Tree>>;
  /**
   * All items' tokens, page by page, from `next_token` where one is given.
   * @see /guide/items
   * @throws `cursor_invalid`, `key_not_found`, `token_not_found`
   * @example
   * for await (const { data } of client.vault.pages({ key: 'customers' })) {
   *   const tokens = data['customers']?.map(({ token }) => token);
   * }
   */
  readonly pages: (query?: ListItems, options?: CallOptions) => Pages<Tree>;
  /**
   * Yields all items' tokens one by one, each with the key that it is of, page by page from `next_token` where one is given.
   * @see /guide/items
   * @throws `cursor_invalid`, `key_not_found`, `token_not_found`
   * @example
   * for await (const { user, token, reference } of client.vault.items({ reference_prefix: 'customer-' })) {
   *   console.log(user, token, reference);
   * }
   */
  readonly items: (query?: ListItems, options?: CallOptions) => AsyncGenerator<ListedItem, void, undefined>;
  /**
   * Opens every item of a key that the filters let through and yields each as it arrives, holding no more than one.
   * `limit` is the number of items per request; without one, a single request brings all. A reply that breaks off
   * throws `VaultConnectionError`: the loop ends normally only after the last item. `timeoutMs` is the longest wait
   * for the next piece. Each item counts as one decryption.
   * @see /guide/items
   * @throws `cursor_invalid`, `passphrase_wrong`, `key_not_found`, `rule_not_found`,
   * `rule_limit`, `key_changed`
   * @example
   * for await (const { token, data } of client.vault.decryptAll({ key: 'customers', stored_after: '2026-01-01T00:00:00Z' })) {
   *   console.log(token, data['card_holder']);
   * }
   */
  readonly decryptAll: (
    query: DecryptAll & KeyName,
    options?: CallOptions,
  ) => AsyncGenerator<DecryptedItem, void, undefined>;
  /**
   * Exports all items of a key, or those that the filters let through, as one file in the age format, which only the
   * `recipients` can open. The stream is received as fast as it is read; one that breaks off throws
   * `VaultConnectionError`, and what was written of it is no complete file. `timeoutMs` is the longest wait for the next
   * piece. Each item counts as one decryption. Needs an account, or a credential, that sees numbers unmasked.
   * @see /guide/export
   * @throws `passphrase_wrong`, `key_not_found`, `key_changed`
   * @example
   * const recipients = ['age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm'];
   * const file = await client.vault.export({ key: 'customers', recipients });
   * await file.pipeTo(new WritableStream({ write: (bytes) => console.log(`${bytes.length} bytes more`) }));
   */
  readonly export: (
    request: ExportItems & KeyName,
    options?: CallOptions,
  ) => Promise<ReadableStream<Uint8Array>>;
  /**
   * Merges `data` into a stored object, first level only: a given member replaces the old one whole. The four names
   * of the number are ignored. `ttl` and `metadata` replace what the item has; with one of them `data` may be left out.
   * With a `version`, it throws `version_mismatch` and changes nothing where the data is not of that version any more.
   * @see /guide/items
   * @throws `idempotency_conflict`, `reference_required`, `passphrase_wrong`,
   * `key_not_found`, `token_not_found`, `rule_not_found`, `rule_limit`, `metadata_sensitive`,
   * `version_mismatch`
   * @example
   * await client.vault.update({ key: 'customers', token, data: { expiry: '01/31' } });
   */
  readonly update: (item: UpdateItem & KeyName, options?: KeyedCallOptions) => Promise<StoredToken>;
  /**
   * Deletes an item; with a `version`, only while its data is of that version. Throws `reference_required`, and
   * `token_not_found` also when an earlier attempt, whose reply was lost, had succeeded.
   * @see /guide/items
   * @throws `reference_required`, `token_not_found`, `key_not_found`, `version_mismatch`
   * @example
   * await client.vault.delete({ key: 'customers', token });
   */
  readonly delete: (item: DeleteItem & KeyName, options?: CallOptions) => Promise<Message>;
  /**
   * Opens many items of a key by their tokens, with one request for up to 1,000 of them, and yields a result for each
   * in its order: the item with its data, or its error, which does not stop the others. Two requests are in flight.
   * Each item counts as one decryption.
   * @see /guide/items
   * @throws `passphrase_wrong`, `key_not_found`, `rule_not_found`, `rule_limit`, `key_changed`
   * @example
   * const items = [{ token, reference: 'customer-4711' }];
   * for await (const result of client.vault.decryptMany({ key: 'customers', items })) {
   *   console.log('data' in result ? result.data['card_holder'] : result.code);
   * }
   */
  readonly decryptMany: (
    request: DecryptItems & KeyName,
    options?: CallOptions,
  ) => AsyncGenerator<BatchOpened | BatchFailure, void, undefined>;
  /**
   * Deletes many items of a key by their tokens, with one request for up to 1,000 of them, and yields a result for each
   * in its order. Items are deleted as far as the loop goes, and up to two requests ahead of it.
   * @see /guide/items
   * @throws `idempotency_conflict`, `key_not_found`
   * @example
   * for await (const result of client.vault.deleteMany({ key: 'customers', items: [{ token }] })) {
   *   console.log('deleted' in result ? result.token : result.code);
   * }
   */
  readonly deleteMany: (
    request: DeleteItems & KeyName,
    options?: CallOptions,
  ) => AsyncGenerator<BatchDeleted | BatchFailure, void, undefined>;
  /**
   * Deletes all items of a reference, 10,000 a request, and returns how many these were. A request that was repeated
   * because its reply was lost counts only what the repeat has deleted.
   * @see /guide/erase-a-customer
   * @throws `cursor_invalid`, `key_not_found`
   * @example
   * const deleted = await client.vault.eraseReference({ key: 'customers', reference: 'customer-4711' });
   */
  readonly eraseReference: (items: EraseReference & KeyName, options?: CallOptions) => Promise<number>;
  /**
   * One page of an item's log, newest first: who stored or opened it, when and from where; at most 1,024 entries
   * unless `limit` says otherwise.
   * @see /guide/items
   * @throws `reference_required`, `cursor_invalid`, `token_not_found`, `key_not_found`
   * @example
   * const { data } = await client.vault.log({ key: 'customers', token, limit: 10 });
   */
  readonly log: (query: ReadLog & KeyName, options?: CallOptions) => Promise<Page<LogEntry[]>>;
  /**
   * The whole log of an item, page by page, from `next_token` where one is given.
   * @see /guide/items
   * @throws `reference_required`, `cursor_invalid`, `token_not_found`, `key_not_found`
   * @example
   * for await (const { data } of client.vault.logPages({ key: 'customers', token })) {
   *   const opened = data.filter(({ action }) => action === 'decrypt');
   * }
   */
  readonly logPages: (query: ReadLog & KeyName, options?: CallOptions) => Pages<LogEntry[]>;
  /**
   * One page of the successful readings of all items, newest first: by whom, from where and through which endpoint; at
   * most 1,024 entries unless `limit` says otherwise. A page of a narrow filter may be empty and still have a next one.
   * @see /guide/audit
   * @throws `cursor_invalid`, `key_not_found`
   * @example
   * const { data } = await client.vault.access({ endpoint: 'show-4711', after: '2026-01-01T00:00:00Z' });
   */
  readonly access: (query?: ReadAccess, options?: CallOptions) => Promise<Page<AccessEntry[]>>;
  /**
   * All successful readings, page by page, from `next_token` where one is given.
   * @see /guide/audit
   * @throws `cursor_invalid`, `key_not_found`
   * @example
   * for await (const { data } of client.vault.accessPages({ key: 'customers' })) {
   *   console.log(data.map(({ actor, token }) => `${actor} ${token}`));
   * }
   */
  readonly accessPages: (query?: ReadAccess, options?: CallOptions) => Pages<AccessEntry[]>;
}

const path = ['vault'] as const;

/** A filter as a query. */
function filterOf<Filter extends Pick<ListItems, 'metadata'>>({ metadata, ...query }: Filter = {} as Filter) {
  const each = [metadata ?? []]
    .flat()
    .flatMap((one) =>
      typeof one === 'string' ? one : Object.entries(one).map(([name, text]) => `${name}:${text}`),
    );
  return each.length === 0 ? query : { ...query, metadata: { each } };
}

/** The calls of items; `passphrase` is the default of the client. */
export function createVaultCalls(transport: Transport, passphrase: string | undefined): VaultCalls {
  const list: VaultCalls['list'] = (query, options) =>
    fetchPage(transport, { method: 'GET', path, repeat: 'always', query: filterOf(query), options });

  const open = async (
    { passphrase: own, ...query }: DecryptItem,
    options: CallOptions | undefined,
  ): Promise<ApiReply> => {
    const opened = neededPassphrase(own, passphrase);
    needText({ token: query.token });
    return transport.send({ method: 'GET', path, repeat: 'always', query, passphrase: opened, options });
  };

  const write = async (
    where: readonly string[],
    { data, passphrase: own, metadata, ...given }: StoreItem | Omit<UpdateItem, 'version'>,
    options: KeyedCallOptions | undefined,
    condition?: string,
  ): Promise<StoredToken> => {
    const isBare = data === undefined && 'token' in given && (metadata ?? given.ttl) !== undefined;
    const body = isBare ? undefined : textOfData(data);
    const query = metadata === undefined ? given : { ...given, metadata: JSON.stringify(metadata) };
    const opened = neededPassphrase(own, passphrase);
    const call = { method: 'POST', path: where, repeat: 'keyed', query, body, options } as const;
    const { text, version } = await transport.send({ ...call, passphrase: opened, version: condition });
    return { ...jsonOf<TokenInfo>(text), version };
  };

  const log: VaultCalls['log'] = (query, options) =>
    fetchPage(transport, {
      ...{ method: 'GET', path: [...path, 'metadata'], repeat: 'always', options },
      query: { ...query },
    });

  const access: VaultCalls['access'] = (query, options) =>
    fetchPage(transport, { method: 'GET', path: [...path, 'access'], repeat: 'always', query, options });

  return {
    store: (item, options) => write(path, item, options),
    decrypt: async (item, options) => jsonOf((await open(item, options)).text),
    decryptText: async (item, options) => (await open(item, options)).text,
    decryptVersioned: async (item, options) => {
      const { text, version } = await open(item, options);
      return { data: jsonOf(text), version };
    },
    list,
    pages: pagesOf(list),
    items: async function* (query, options) {
      for await (const { data } of pagesOf(list)(query, options)) {
        for (const [user, items] of Object.entries(data)) {
          for (const item of items) {
            yield { user, ...item };
          }
        }
      }
    },
    decryptAll: ({ passphrase: own, ...query }, options) =>
      openItems(transport, () => ({
        method: 'GET',
        path,
        repeat: 'always',
        query: filterOf(query),
        passphrase: neededPassphrase(own, passphrase),
        options,
      })),
    export: async ({ passphrase: own, ...request }, options) =>
      fileOf(transport, {
        method: 'POST',
        path: [...path, 'export'],
        repeat: 'when_rejected',
        body: JSON.stringify(request),
        passphrase: neededPassphrase(own, passphrase),
        options,
      }),
    update: ({ version, ...item }, options) => write([...path, 'update'], item, options, version),
    // By name: what a program without types takes from JSON must not turn it into a deletion of more.
    delete: ({ key, user, token, reference, version }, options) => {
      const query = { key, user, token, reference };
      return readJson(transport, { method: 'DELETE', path, repeat: 'always', query, version, options });
    },
    ...createBatchCalls(transport, passphrase),
    log,
    logPages: pagesOf(log),
    access,
    accessPages: pagesOf(access),
  };
}

/** Sends a call and returns its reply, which is received as fast as it is read. A broken reply fails the stream. */
async function fileOf(transport: Transport, call: ApiCall): Promise<ReadableStream<Uint8Array>> {
  const { pieces } = await transport.stream(call);
  return new ReadableStream<Uint8Array>({
    pull: async (stream) => {
      const { done, value } = await pieces.next();
      if (done) {
        stream.close();
      } else {
        stream.enqueue(value);
      }
    },
    cancel: async () => {
      await pieces.return();
    },
  });
}
