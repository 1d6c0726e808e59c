/** Stored items: store, decrypt, list, update, delete, and the log of each. */

import type { CallOptions, KeyedCallOptions } from './call.ts';
import { openItems } from './open-items.ts';
import { jsonOf, type Page, type Pages, readJson, readPage, walk } from './pages.ts';
import { neededPassphrase } from './passphrase.ts';
import type { Transport } from './transport.ts';
import type {
  DecryptAll,
  DecryptedItem,
  DecryptItem,
  DeleteItem,
  ListItems,
  LogEntry,
  Message,
  ReadLog,
  StoredObject,
  StoreItem,
  TokenInfo,
  Tree,
  UpdateItem,
} from './types.ts';

/** The calls of `/vault/`. `user` is the identifier of the vault key everywhere. */
export interface VaultCalls {
  /**
   * Stores an object under a key and returns its token. `data` is an object, or the exact JSON text of one
   * (for integers beyond 2^53 and numbers such as `1.10`, whose digits a JavaScript number loses), at most
   * 262,144 bytes. Throws `passphrase_wrong`, `key_not_found`, `number_missing`, `test_card` (production).
   */
  readonly store: (item: StoreItem, options?: KeyedCallOptions) => Promise<TokenInfo>;
  /**
   * Opens one item and returns the stored object, masked as the account and `mask_fields` demand. Numbers
   * become JavaScript numbers: integers beyond 2^53 lose digits here, not in `decryptText`. Throws
   * `passphrase_wrong`, `token_not_found`, `reference_required`.
   */
  readonly decrypt: (item: DecryptItem, options?: CallOptions) => Promise<StoredObject>;
  /** As `decrypt`, but returns the JSON text exactly as the service sent it, with every digit. */
  readonly decryptText: (item: DecryptItem, options?: CallOptions) => Promise<string>;
  /** One page of the items' tokens, by key, without their data; at most 1,024 unless `limit` says otherwise. */
  readonly list: (query?: ListItems, options?: CallOptions) => Promise<Page<Tree>>;
  /** All items' tokens, page by page, from `next_token` where one is given. */
  readonly pages: (query?: ListItems, options?: CallOptions) => Pages<Tree>;
  /**
   * Opens every item of a key that the filters let through and yields each as it arrives, holding no more than
   * one. `limit` is the number of items per request; without one, a single request brings all. A reply that
   * breaks off throws `VaultConnectionError`: the loop ends normally only after the last item. `timeoutMs` is
   * the longest wait for the next piece. Each item counts as one decryption.
   */
  readonly decryptAll: (
    query: DecryptAll,
    options?: CallOptions,
  ) => AsyncGenerator<DecryptedItem, void, undefined>;
  /**
   * Merges `data` into a stored object, first level only: a given member replaces the old one whole. The four
   * names of the number are ignored. Throws as `decrypt` does.
   */
  readonly update: (item: UpdateItem, options?: KeyedCallOptions) => Promise<TokenInfo>;
  /**
   * Deletes an item. Throws `reference_required`, and `token_not_found` also when an earlier attempt, whose
   * reply was lost, had succeeded.
   */
  readonly delete: (item: DeleteItem, options?: CallOptions) => Promise<Message>;
  /** One page of an item's log, newest first: who stored or opened it, when and from where. */
  readonly log: (query: ReadLog, options?: CallOptions) => Promise<Page<LogEntry[]>>;
}

const path = ['vault'] as const;

/** `passphrase` is the client's own, for calls that bring none. */
export const createVaultCalls = (transport: Transport, passphrase: string | undefined): VaultCalls => {
  const list: VaultCalls['list'] = (query, options) =>
    readPage(transport, { method: 'GET', path, repeat: 'always', query, options });

  const decryptText: VaultCalls['decryptText'] = async ({ passphrase: own, ...query }, options) => {
    const opened = neededPassphrase(own, passphrase);
    const reply = await transport.send({
      method: 'GET',
      path,
      repeat: 'always',
      query,
      passphrase: opened,
      options,
    });
    return reply.text;
  };

  const write = async (
    where: readonly string[],
    { data, passphrase: own, ...query }: StoreItem | UpdateItem,
    options: KeyedCallOptions | undefined,
  ): Promise<TokenInfo> => {
    const body = typeof data === 'string' ? data : JSON.stringify(data);
    const opened = neededPassphrase(own, passphrase);
    return readJson(transport, {
      method: 'POST',
      path: where,
      repeat: 'keyed',
      query,
      body,
      passphrase: opened,
      options,
    });
  };

  return {
    store: (item, options) => write(path, item, options),
    decrypt: async (item, options) => jsonOf(await decryptText(item, options)),
    decryptText,
    list,
    pages: ({ next_token, ...query } = {}, options) =>
      walk((nextToken) => list({ ...query, next_token: nextToken }, options), next_token),
    decryptAll: ({ passphrase: own, ...query }, options) =>
      openItems(transport, () => ({
        method: 'GET',
        path,
        repeat: 'always',
        query,
        passphrase: neededPassphrase(own, passphrase),
        options,
      })),
    update: (item, options) => write([...path, 'update'], item, options),
    delete: (query, options) =>
      readJson(transport, { method: 'DELETE', path, repeat: 'always', query, options }),
    log: (query, options) =>
      readPage(transport, { method: 'GET', path: [...path, 'metadata'], repeat: 'always', query, options }),
  };
};
