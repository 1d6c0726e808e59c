/** Vault keys: each has a name and a passphrase that only the caller has. */

import type { CallOptions, KeyedCallOptions } from '../transport/call.ts';
import { VaultError } from '../transport/errors.ts';
import { checkNames } from '../transport/needed.ts';
import { fetchPage, get, type Page, type Pages, pagesOf, remove, sendJson } from '../transport/pages.ts';
import type { Given, Query, Schema } from '../transport/shapes.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  ChangePassphrase,
  CreateKey,
  DeleteKey,
  Key,
  KeyName,
  KeyWithPassphrase,
  ListKeys,
  Message,
  SetSummary,
} from '../transport/types.ts';
import { createRecoveryCalls, type RecoverKey, type RecoveryCalls } from './recovery.ts';

/**
 * Vault keys: each has a name, `key` in calls and `user` in replies, and a passphrase that only you have. Items belong to a key.
 * @see /guide/keys
 */
export interface KeyCalls {
  /**
   * Creates a key and returns its passphrase, this once. Without a `passphrase` the service generates one, and
   * the call is then retried only if the service has rejected the request without any effect: a lost reply would lose the
   * passphrase. Throws `key_exists` when the identifier is taken, `idempotency_passphrase_required` for an
   * `idempotencyKey` without a passphrase of your own; for a repeat `passphrase_wrong` with another passphrase, and
   * `key_not_found` where the key was deleted since.
   * @see /guide/keys
   * @throws `idempotency_conflict`, `key_exists`, `idempotency_passphrase_required`, `passphrase_wrong`,
   * `key_not_found`
   * @example
   * const { passphrase } = await client.keys.create({ key: 'customers' });
   */
  readonly create: (key: CreateKey & KeyName, options?: KeyedCallOptions) => Promise<KeyWithPassphrase>;
  /**
   * One page of the account's keys, ordered by `user`; at most 65,536 unless `limit` says otherwise.
   * @see /guide/keys
   * @throws `cursor_invalid`
   * @example
   * const { data, next_token } = await client.keys.list({ limit: 100 });
   */
  readonly list: (query?: ListKeys, options?: CallOptions) => Promise<Page<Key[]>>;
  /**
   * All keys, page by page, from `next_token` where one is given.
   * @see /guide/keys
   * @throws `cursor_invalid`
   * @example
   * for await (const { data } of client.keys.pages({ limit: 100 })) {
   *   const users = data.map(({ user }) => user);
   * }
   */
  readonly pages: (query?: ListKeys, options?: CallOptions) => Pages<Key[]>;
  /**
   * Replaces a key's passphrase: the old one stops working and the key's endpoints stop. Choose
   * `new_passphrase` yourself: a generated one is lost with a lost reply, and all of the key's data with it. For the
   * same reason it is retried only if the service has rejected the request without any effect.
   * @see /guide/keys
   * @throws `passphrase_wrong`, `key_not_found`, `key_changed`
   * @example
   * await client.keys.changePassphrase({
   *   key: 'customers',
   *   passphrase: 'correct-horse-battery-staple',
   *   new_passphrase: 'another-horse-another-battery',
   * });
   */
  readonly changePassphrase: (
    change: ChangePassphrase & KeyName,
    options?: CallOptions,
  ) => Promise<KeyWithPassphrase>;
  /**
   * Lets a key have summaries of its cards, or none, from now on: brand, last four digits and expiry, which listings show without
   * the passphrase and find by `last_four`. Passphrase and endpoints stay. `reseal` changes the items that are stored already.
   * Needs an account, or a credential, that sees numbers unmasked.
   * @see /guide/keys
   * @throws `passphrase_wrong`, `key_not_found`, `key_changed`
   * @example
   * await client.keys.setSummary({
   *   key: 'customers',
   *   passphrase: 'correct-horse-battery-staple',
   *   summary: true,
   * });
   */
  readonly setSummary: (change: SetSummary & KeyName, options?: CallOptions) => Promise<KeyWithPassphrase>;
  /**
   * Deletes a key; with `safe: false` together with all its data, for good. Throws `key_not_empty` where the
   * key holds data, and `key_not_found` also when an earlier attempt, whose reply was lost, had succeeded.
   * @see /guide/keys
   * @throws `key_not_found`, `key_not_empty`, `key_changed`
   * @example
   * await client.keys.delete({ key: 'customers' });
   */
  readonly delete: (key: DeleteKey & KeyName, options?: CallOptions) => Promise<Message>;
  /** Recoveries: shares that open a key without its passphrase. */
  readonly recovery: RecoveryCalls;
  /**
   * Opens a key with the shares that custodians have decrypted, and puts it under `new_passphrase`. As after a change of the
   * passphrase, the key's endpoints stop. The shares stay valid, so a lost reply is harmless: call again. It is retried only if
   * the service has rejected the request without any effect.
   * @see /guide/recovery
   * @throws `recovery_refused`, `key_not_found`, `key_changed`
   * @example
   * await client.keys.recover({
   *   key: 'customers',
   *   shares: ['vss1.staging.…', 'vss1.staging.…'],
   *   new_passphrase: 'another-horse-another-battery',
   * });
   */
  readonly recover: (recovery: RecoverKey & KeyName, options?: CallOptions) => Promise<KeyWithPassphrase>;
  /**
   * Starts to seal all items of a key under its newest generation, in the background: after a change of the passphrase they stay
   * under the generation that they were stored with. Items without a summary get one if the key has them now, and lose theirs if it
   * has none. A repeat while it runs changes nothing; after a pause it goes on.
   * @see /guide/keys
   * @throws `passphrase_wrong`, `key_not_found`, `key_changed`
   * @example
   * const { total } = await client.keys.reseal({ key: 'customers', passphrase: 'correct-horse-battery-staple' });
   */
  readonly reseal: (key: ResealKey & KeyName, options?: CallOptions) => Promise<ResealProgress>;
  /**
   * The progress of the last reseal of a key; zeros for a key without one.
   * @see /guide/keys
   * @throws `key_not_found`
   * @example
   * const { total, done, paused, finished_at } = await client.keys.resealProgress({ key: 'customers' });
   */
  readonly resealProgress: (key: ReadReseal & KeyName, options?: CallOptions) => Promise<ResealProgress>;
}

/** A key with its passphrase. */
export interface ResealKey extends Given<Schema<'ResealKey'>> {}
/** Names the key of a reseal. */
export interface ReadReseal extends Query<'readReseal'> {}
/** How many items of a key have been sealed anew, of those that were to be. */
export interface ResealProgress extends Schema<'ResealProgress'> {}

const path = ['key'] as const;

/** The calls of vault keys. */
export function createKeyCalls(transport: Transport): KeyCalls {
  const list: KeyCalls['list'] = (query, options) =>
    fetchPage(transport, { method: 'GET', path, repeat: 'always', query, options });

  return {
    create: async (key, options) => {
      checkNames(key, ['key', 'user', 'passphrase', 'summary']);
      const repeat = key.passphrase === undefined ? 'when_rejected' : 'keyed';
      return sendJson(transport, 'POST', path, repeat, key, options);
    },
    list,
    pages: pagesOf(list),
    changePassphrase: async (change, options) => {
      // A misspelt new_passphrase would be ignored, and the service would generate another passphrase.
      checkNames(change, ['key', 'user', 'passphrase', 'new_passphrase', 'summary']);
      return sendJson(transport, 'PUT', path, 'when_rejected', change, options);
    },
    setSummary: async (change, options) => {
      checkNames(change, ['key', 'user', 'passphrase', 'summary']);
      if (typeof change.summary !== 'boolean') {
        // Without it the service would make another passphrase.
        throw new VaultError('summary is missing: true or false.');
      }
      return sendJson(transport, 'PUT', path, 'always', change, options);
    },
    delete: (query, options) => remove(transport, path, { ...query }, options),
    ...createRecoveryCalls(transport),
    reseal: async (key, options) => {
      checkNames(key, ['key', 'user', 'passphrase']);
      return sendJson(transport, 'POST', [...path, 'reseal'], 'always', key, options);
    },
    resealProgress: (query, options) => get(transport, [...path, 'reseal'], { ...query }, options),
  };
}
