/** How items leave when their time is over. */
import expireItemsText from '../lua/item/expire-items-n.lua' with { type: 'text' };
import prelude from '../lua/item/prelude.lua' with { type: 'text' };
import type { Bucket } from '../records/name.ts';
import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/keys.ts';
import { asCount, asList, asText } from '../redis/reply.ts';
import { tagOf } from './reply.ts';

const expireItems = script(prelude, expireItemsText);

/** An item that has expired, as it was read. */
export interface ExpiredItem {
  readonly token: string;
  readonly meta: Uint8Array;
  /** Its member of the reference index, empty for none. */
  readonly refMember: Uint8Array;
}

/** Tokens whose time is over, at most `limit`. */
export async function dueTokens(
  redis: RedisLink,
  bucket: Bucket,
  now: number,
  limit: number,
): Promise<readonly string[]> {
  const range = [redisKeys.expiries(bucket), 0, now, 'BYSCORE', 'LIMIT', 0, limit];
  return asList(await redis.command('ZRANGE', range)).map(asText);
}

/** Leaves nothing but their logs of items that have expired by the clock of Redis; gives their number. */
export async function expire(
  redis: RedisLink,
  bucket: Bucket,
  items: readonly ExpiredItem[],
  logsUntil: number,
): Promise<number> {
  const keys = [
    redisKeys.fence(bucket),
    redisKeys.times(bucket),
    redisKeys.references(bucket),
    redisKeys.metadata(bucket),
    redisKeys.expiries(bucket),
    ...items.flatMap(({ token }) => [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)]),
  ];
  const args = items.flatMap(({ token, meta, refMember }) => [token, tagOf(meta), refMember]);
  return asCount(await redis.run(expireItems, keys, [logsUntil, ...args]));
}
