import { VaultError } from '../core/errors.ts';
import createRuleText from './lua/record/create-rule-1.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const createRule = script(createRuleText);

/** Rules of one account. */
const RULES_MAX = 1_000;

/** Sealed rules of each account. */
export interface RuleStore {
  /** `full` when the account has as many rules as it may have. */
  create(aid: string, id: string, record: Uint8Array): Promise<'ok' | 'exists' | 'full'>;
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
      const word = text(await redis.run(createRule, [redisKeys.rules(aid)], [id, record, RULES_MAX]));
      if (word === 'ok' || word === 'exists' || word === 'full') {
        return word;
      }
      throw new VaultError('internal');
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
