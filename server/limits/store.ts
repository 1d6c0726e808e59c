import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { digestOf } from '../redis/records/name.ts';
import { asCount } from '../redis/reply.ts';
import takeRateText from './take-rate-1.lua' with { type: 'text' };

const takeRate = script(takeRateText);

/** Request rates, over all servers. */
export interface RateStore {
  /** The counter of one source address, which is hashed. */
  readonly sourceCounter: (source: string) => string;
  /** The counter of one account. */
  readonly accountCounter: (aid: string) => string;
  /** Counts a request if it is within the rate, and returns 0; otherwise returns the ms until the next one is allowed. */
  readonly take: (counter: string, perMinute: number) => Promise<number>;
}

/** The rates in one Redis, by its clock. A counter expires a minute after its last request. */
export function createRateStore(redis: RedisLink): RateStore {
  return {
    sourceCounter: (source) => redisKeys.sourceRate(digestOf(source)),
    accountCounter: redisKeys.accountRate,
    take: async (counter, perMinute) =>
      asCount(await redis.runUnreplicated(takeRate, [counter], [perMinute])),
  };
}
