/** How items leave when their time is over. */

import { type RedisLink, script } from '../../redis/client.ts';
import prelude from '../../redis/records/bucket-prelude.lua' with { type: 'text' };
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { asCount, asList, asText } from '../../redis/reply.ts';
import dueTokensText from './due-tokens-1.lua' with { type: 'text' };
import expireItemsText from './expire-items-n.lua' with { type: 'text' };
import type { ItemRemoval } from './removal.ts';

const expireItems = script(prelude, expireItemsText);
const due = script(prelude, dueTokensText);

/** An item that has expired, as it was read. */
export type ExpiredItem = Pick<ItemRemoval, 'token' | 'metaTag' | 'refMember'>;

/** Which tokens are looked for, and how many. */
export interface DueTokens {
  /** ms since 1970; the clock of Redis must agree. */
  readonly now: number;
  /** How long, in ms, logs are kept after an item has expired: of the logs whose time is over. Without it of the items. */
  readonly logsKept?: number | undefined;
  readonly skip: number;
  readonly limit: number;
}

/** Tokens whose time is over. */
export async function dueTokens(
  redis: RedisLink,
  bucket: Bucket,
  { now, logsKept, skip, limit }: DueTokens,
): Promise<readonly string[]> {
  const args = [now, logsKept ?? '', skip, limit];
  return asList(await redis.runUnreplicated(due, [redisKeys.expiries(bucket)], args)).map(asText);
}

/** Leaves nothing but their logs of items that have expired by the clock of Redis; gives their number. */
export async function expire(
  redis: RedisLink,
  bucket: Bucket,
  items: readonly ExpiredItem[],
): Promise<number> {
  const keys = [
    redisKeys.fence(bucket),
    redisKeys.times(bucket),
    redisKeys.references(bucket),
    redisKeys.metadata(bucket),
    redisKeys.expiries(bucket),
    ...items.flatMap(({ token }) => [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)]),
  ];
  const args = items.flatMap(({ token, metaTag, refMember }) => [token, metaTag, refMember]);
  return asCount(await redis.run(expireItems, keys, args));
}
