/** Recoveries of vault keys: shares of which some together open a key without its passphrase. */

import type { CallOptions } from '../transport/call.ts';
import { checkNames } from '../transport/needed.ts';
import { get, sendJson } from '../transport/pages.ts';
import type { Given, Query, Schema } from '../transport/shapes.ts';
import type { Transport } from '../transport/transport.ts';
import type { KeyName, KeyWithPassphrase, Message } from '../transport/types.ts';

/** A key, the recipients of its shares, and the number of shares that open it. */
export interface CreateRecovery extends Given<Schema<'CreateRecovery'>> {}
/** Names the key of a recovery. */
export interface ReadRecovery extends Query<'readRecovery'> {}
/** Names the key of a recovery to remove. */
export interface DeleteRecovery extends Given<Schema<'DeleteRecovery'>> {}
/** A key, decrypted shares, and the new passphrase. */
export interface RecoverKey extends Given<Schema<'RecoverKey'>> {}
/** Shares that only their recipients can open, and the number of them that opens the key. */
export interface Recovery extends Schema<'Recovery'> {}

/**
 * Recoveries: shares that open a key without its passphrase.
 * @see /guide/recovery
 */
export interface RecoveryCalls {
  /**
   * Makes a recovery of a key, in place of one that it has: the shares of that one become useless. Each recipient of age gets a
   * share, and `threshold` of them open the key. Changes of the passphrase keep it valid. It is retried only if the service has
   * rejected the request without any effect.
   * @see /guide/recovery
   * @throws `passphrase_wrong`, `key_not_found`, `key_changed`
   * @example
   * const { shares } = await client.keys.recovery.create({
   *   key: 'customers',
   *   passphrase: 'correct-horse-battery-staple',
   *   recipients: ['age1…', 'age1…', 'age1…'],
   *   threshold: 2,
   * });
   */
  readonly create: (recovery: CreateRecovery & KeyName, options?: CallOptions) => Promise<Recovery>;
  /**
   * The recovery of a key, as it was made.
   * @see /guide/recovery
   * @throws `key_not_found`, `recovery_not_found`
   * @example
   * const { threshold, shares } = await client.keys.recovery.read({ key: 'customers' });
   */
  readonly read: (recovery: ReadRecovery & KeyName, options?: CallOptions) => Promise<Recovery>;
  /**
   * Removes the recovery of a key: its shares become useless. Also throws `recovery_not_found` if an earlier attempt, whose
   * reply was lost, has succeeded.
   * @see /guide/recovery
   * @throws `passphrase_wrong`, `key_not_found`, `recovery_not_found`, `key_changed`
   * @example
   * await client.keys.recovery.remove({ key: 'customers', passphrase: 'correct-horse-battery-staple' });
   */
  readonly remove: (recovery: DeleteRecovery & KeyName, options?: CallOptions) => Promise<Message>;
}

/** The calls of recoveries, as members of those of keys. */
export function createRecoveryCalls(transport: Transport): {
  readonly recovery: RecoveryCalls;
  readonly recover: (recovery: RecoverKey & KeyName, options?: CallOptions) => Promise<KeyWithPassphrase>;
} {
  const path = ['key', 'recovery'];
  const send = async <Reply>(
    method: 'POST' | 'DELETE',
    to: readonly string[],
    body: object,
    names: readonly string[],
    options?: CallOptions,
  ): Promise<Reply> => {
    checkNames(body, ['key', 'user', ...names]);
    return sendJson(transport, method, to, 'when_rejected', body, options);
  };
  return {
    recovery: {
      create: (recovery, options) =>
        send('POST', path, recovery, ['passphrase', 'recipients', 'threshold'], options),
      read: (query, options) => get(transport, path, { ...query }, options),
      remove: (recovery, options) => send('DELETE', path, recovery, ['passphrase'], options),
    },
    recover: (recovery, options) =>
      send('POST', ['key', 'recover'], recovery, ['shares', 'new_passphrase'], options),
  };
}
