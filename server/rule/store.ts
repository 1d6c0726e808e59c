import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { createNamedStore, type NamedStore } from '../redis/records/named.ts';

/** The most rules of one account. */
const RULES_MAX = 1_000;

/** Encrypted rules of each account. */
export type RuleStore = NamedStore;

/** The rules of one Redis. */
export function createRuleStore(redis: RedisLink): RuleStore {
  return createNamedStore(redis, redisKeys.rules, RULES_MAX);
}
