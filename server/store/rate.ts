import { createHash } from 'node:crypto';
import takeRateText from './lua/account/take-rate-1.lua' with { type: 'text' };
import { count, type RedisLink, script } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const takeRate = script(takeRateText);

/** How many requests came, on all servers together. */
export interface RateStore {
  /** The counter of one source; addresses are hashed. */
  readonly sourceCounter: (source: string) => string;
  readonly accountCounter: (aid: string) => string;
  /** Counts a request, if it is within so many a minute: then 0, else the ms until the next one may come. */
  readonly take: (counter: string, perMinute: number) => Promise<number>;
}

/** Counts in Redis, by its clock; a minute after the last request nothing is left of a counter. */
export function createRateStore(redis: RedisLink): RateStore {
  return {
    sourceCounter: (source) =>
      redisKeys.sourceRate(createHash('sha256').update(source).digest('base64url').slice(0, 22)),
    accountCounter: redisKeys.accountRate,
    take: async (counter, perMinute) => count(await redis.note(takeRate, [counter], [perMinute])),
  };
}
