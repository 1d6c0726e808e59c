import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asBytes, asOptionalBytes } from '../redis/reply.ts';
import createSealingKeyText from './create-sealing-key-1.lua' with { type: 'text' };

const createSealingKey = script(createSealingKeyText);

/** The sealing keys of the vault, one for each day. */
export interface SealingStore {
  /** The record of a day; undefined if there is none. */
  readonly read: (day: number) => Promise<Buffer | undefined>;
  /**
   * Stores the record of a day, unless there is one, and returns the stored one. Removes those of days before `oldest`;
   * all expire after `keptMs`, unless a later one is created.
   */
  readonly create: (day: number, record: Uint8Array, oldest: number, keptMs: number) => Promise<Buffer>;
}

/** The sealing keys in one Redis. */
export function createSealingStore(redis: RedisLink): SealingStore {
  return {
    read: async (day) => asOptionalBytes(await redis.command('HGET', [redisKeys.sealingKeys, String(day)])),
    create: async (day, record, oldest, keptMs) =>
      asBytes(
        await redis.run(createSealingKey, [redisKeys.sealingKeys], [String(day), record, oldest, keptMs]),
      ),
  };
}
