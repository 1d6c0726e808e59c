import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { createNamedStore, type NamedStore } from '../redis/records/named.ts';
import replaceText from '../redis/records/replace-field-1.lua' with { type: 'text' };
import { isOk } from '../redis/reply.ts';

const replaceField = script(replaceText);

/** The most connections of one account. */
const CONNECTIONS_MAX = 1_000;

/** Encrypted connections of each account. */
export interface ConnectionStore extends NamedStore {
  /** Replaces the record that was read; false if it has changed or was removed. */
  replace(aid: string, id: string, read: Uint8Array, record: Uint8Array): Promise<boolean>;
}

/** The connections of one Redis. */
export function createConnectionStore(redis: RedisLink): ConnectionStore {
  const { connections } = redisKeys;
  return {
    ...createNamedStore(redis, connections, CONNECTIONS_MAX),
    async replace(aid, id, read, record) {
      return isOk(await redis.run(replaceField, [connections(aid)], [id, read, record]));
    },
  };
}
