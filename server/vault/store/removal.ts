/** Deletes items with all that belongs to them. */

import { type RedisLink, script } from '../../redis/client.ts';
import prelude from '../../redis/records/bucket-prelude.lua' with { type: 'text' };
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';
import sinkPrelude from '../../redis/records/outbox-prelude.lua' with { type: 'text' };
import { asList, asOneOf } from '../../redis/reply.ts';
import removeItemsText from './remove-items-n.lua' with { type: 'text' };

const removal = script(prelude, sinkPrelude, removeItemsText);

/** An item to delete, as it was read and checked. */
export interface ItemRemoval {
  readonly token: string;
  /** The last 16 bytes of its metadata, and of the first entry of its log (empty for none). */
  readonly metaTag: Uint8Array;
  readonly firstTag: Uint8Array;
  /** That the service removes this log. */
  readonly proof: Uint8Array;
  /** Its member of the reference index, empty for none. */
  readonly refMember: Uint8Array;
}

const REMOVED = ['ok', 'missing', 'changed', 'damaged'] as const;
/** `changed`: it is not what was read; `damaged`: it cannot be deleted as it is. */
export type Removed = (typeof REMOVED)[number];
/** `closed`: a deletion of the key is in progress, and nothing was deleted. */
export type RemoveOutcome = 'closed' | readonly Removed[];

/** Deletes items of one bucket. With `isStreamed`, their undelivered log entries outlive them. */
export async function removeItems(
  redis: RedisLink,
  bucket: Bucket,
  items: readonly ItemRemoval[],
  isStreamed: boolean,
): Promise<RemoveOutcome> {
  const keys = [
    redisKeys.times(bucket),
    redisKeys.references(bucket),
    redisKeys.fence(bucket),
    redisKeys.changedLogs(bucket),
    redisKeys.removedLogs(bucket),
    redisKeys.undelivered(bucket),
    redisKeys.outbox(bucket),
    redisKeys.metadata(bucket),
    redisKeys.expiries(bucket),
    ...items.flatMap(({ token }) => [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)]),
  ];
  const args = items.flatMap(({ token, metaTag, firstTag, proof, refMember }) => [
    ...[token, metaTag, firstTag, proof, refMember],
  ]);
  const reply = await redis.run(removal, keys, [isStreamed ? '1' : '', ...args]);
  return Array.isArray(reply)
    ? asList(reply).map((word) => asOneOf(word, REMOVED))
    : asOneOf(reply, ['closed']);
}
