/** Recoveries of vault keys: shares of which some together open a key without its passphrase. */

import type { CallOptions } from '../transport/call.ts';
import { checkNames } from '../transport/needed.ts';
import { readJson } from '../transport/pages.ts';
import type { Given, Query, Schema } from '../transport/shapes.ts';
import type { Transport } from '../transport/transport.ts';
import type { Message } from '../transport/types.ts';

/** Whose key gets a recovery: who has a share, and how many of them are needed. */
export interface CreateRecovery extends Given<Schema<'CreateRecovery'>> {}
/** Which recovery to read. */
export interface ReadRecovery extends Query<'readRecovery'> {}
/** Which recovery to remove. */
export interface DeleteRecovery extends Given<Schema<'DeleteRecovery'>> {}
/** A key, decrypted shares, and the passphrase from now on. */
export interface RecoverKey extends Given<Schema<'RecoverKey'>> {}
/** Shares that only their recipients can open, and how many of them open the key. */
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
   *   user: 'customers',
   *   passphrase: 'correct-horse-battery-staple',
   *   recipients: ['age1…', 'age1…', 'age1…'],
   *   threshold: 2,
   * });
   */
  readonly create: (recovery: CreateRecovery, options?: CallOptions) => Promise<Recovery>;
  /**
   * The recovery of a key, as it was made.
   * @see /guide/recovery
   * @throws `key_not_found`, `recovery_not_found`
   * @example
   * const { threshold, shares } = await client.keys.recovery.read({ user: 'customers' });
   */
  readonly read: (recovery: ReadRecovery, options?: CallOptions) => Promise<Recovery>;
  /**
   * Removes the recovery of a key: its shares become useless. Also throws `recovery_not_found` if an earlier attempt, whose
   * reply was lost, has succeeded.
   * @see /guide/recovery
   * @throws `passphrase_wrong`, `key_not_found`, `recovery_not_found`, `key_changed`
   * @example
   * await client.keys.recovery.remove({ user: 'customers', passphrase: 'correct-horse-battery-staple' });
   */
  readonly remove: (recovery: DeleteRecovery, options?: CallOptions) => Promise<Message>;
}

const path = ['key', 'recovery'] as const;

/** The calls of recoveries. */
export function createRecoveryCalls(transport: Transport): RecoveryCalls {
  return {
    create: async (recovery, options) => {
      checkNames(recovery, ['user', 'passphrase', 'recipients', 'threshold']);
      const body = JSON.stringify(recovery);
      return readJson(transport, { method: 'POST', path, repeat: 'when_rejected', body, options });
    },
    read: (query, options) => readJson(transport, { method: 'GET', path, repeat: 'always', query, options }),
    remove: async (recovery, options) => {
      checkNames(recovery, ['user', 'passphrase']);
      const body = JSON.stringify(recovery);
      return readJson(transport, { method: 'DELETE', path, repeat: 'when_rejected', body, options });
    },
  };
}
