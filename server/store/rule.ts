import { bytes, count, list, type RedisLink, text } from './redis.ts';
import { redisKeys } from './redis-keys.ts';

/** Sealed rules of each account. */
export interface RuleStore {
  /** False when the id is taken. */
  create(aid: string, id: string, record: Uint8Array): Promise<boolean>;
  /** One record for each id, in the same order; undefined where there is none. */
  read(aid: string, ids: readonly string[]): Promise<readonly (Buffer | undefined)[]>;
  /** All ids, in no order. */
  ids(aid: string): Promise<readonly string[]>;
  /** False when there was none. */
  remove(aid: string, id: string): Promise<boolean>;
  removeAll(aid: string): Promise<void>;
}

export function createRuleStore(redis: RedisLink): RuleStore {
  return {
    async create(aid, id, record) {
      return count(await redis.write('HSETNX', [redisKeys.rules(aid), id, record])) === 1;
    },
    async read(aid, ids) {
      if (ids.length === 0) {
        return [];
      }
      const found = list(await redis.command('HMGET', [redisKeys.rules(aid), ...ids]));
      return found.map((record) => (record === null ? undefined : bytes(record)));
    },
    async ids(aid) {
      return list(await redis.command('HKEYS', [redisKeys.rules(aid)])).map(text);
    },
    async remove(aid, id) {
      return count(await redis.write('HDEL', [redisKeys.rules(aid), id])) === 1;
    },
    async removeAll(aid) {
      await redis.write('UNLINK', [redisKeys.rules(aid)]);
    },
  };
}
