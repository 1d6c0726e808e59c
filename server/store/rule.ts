import createNamedText from './lua/record/create-named-1.lua' with { type: 'text' };
import { type RedisLink, script } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';
import { asCount, asList, asOneOf, asOptionalBytes, asText } from './redis/reply.ts';

const createNamed = script(createNamedText);

/** The most rules of one account. */
const RULES_MAX = 1_000;

/** Encrypted rules of each account. */
export interface RuleStore {
  /** `full` if the account has reached its limit of rules. */
  create(aid: string, id: string, record: Uint8Array): Promise<'ok' | 'exists' | 'full'>;
  /** One record for each id, in the same order; undefined for missing ones. */
  read(aid: string, ids: readonly string[]): Promise<readonly (Buffer | undefined)[]>;
  /** All ids, in no order. */
  ids(aid: string): Promise<readonly string[]>;
  /** False if it did not exist. */
  remove(aid: string, id: string): Promise<boolean>;
}

/** The rules of one Redis. */
export function createRuleStore(redis: RedisLink): RuleStore {
  return {
    async create(aid, id, record) {
      const reply = await redis.run(createNamed, [redisKeys.rules(aid)], [id, record, RULES_MAX]);
      return asOneOf(reply, ['ok', 'exists', 'full']);
    },
    async read(aid, ids) {
      if (ids.length === 0) {
        return [];
      }
      return asList(await redis.command('HMGET', [redisKeys.rules(aid), ...ids])).map(asOptionalBytes);
    },
    async ids(aid) {
      return asList(await redis.command('HKEYS', [redisKeys.rules(aid)])).map(asText);
    },
    async remove(aid, id) {
      return asCount(await redis.write('HDEL', [redisKeys.rules(aid), id])) === 1;
    },
  };
}
