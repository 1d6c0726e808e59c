/** How items are stored and replaced. */

import { type RedisLink, script } from '../../redis/client.ts';
import prelude from '../../redis/records/bucket-prelude.lua' with { type: 'text' };
import { asFenced, type Fenced, tagOf } from '../../redis/records/fence.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { asBytes, asCount, asList, asText, asTime, isOk } from '../../redis/reply.ts';
import type { Argument } from '../../redis/resp.ts';
import { cutShared, forgetShared, type Kept, rememberShared } from './shared.ts';
import writeItemsText from './write-items-n.lua' with { type: 'text' };

const writeItems = script(prelude, writeItemsText);
const NO_BYTES = Buffer.alloc(0);

/** A new item, or the replacement of one. */
export interface ItemWrite {
  readonly token: string;
  readonly gen: number;
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly sad: Uint8Array;
  /** ms since 1970; 0 = never. */
  readonly sadExpiresAt: number;
  readonly refMember: Uint8Array;
  /** Behind what it names, as every entry that is given to the store (see prelude.lua). */
  readonly logEntry: Uint8Array;
  /** The metadata that this write replaces; absent for a new item. */
  readonly replaces?: Uint8Array;
  readonly identity: Uint8Array;
  /** Identifies an idempotent request: a second write with the same seed succeeds without a change. */
  readonly seed?: string | undefined;
  /** From when on the item is gone, ms since 1970. */
  readonly expiresAt?: number | undefined;
  /** What the metadata index has of it, see `metadataDigest`. */
  readonly digests?: Uint8Array | undefined;
  /** The bytes that both parts have alike, and other items too, see `shared.ts`. */
  readonly shared?: readonly [from: number, to: number] | undefined;
}

/**
 * `clash`: the token belongs to another number; `changed`: the item is not the one to replace; `exists`: a new item must
 * name this log, which is not the one that its entry names; `damaged`: something else stands in the item's place.
 */
export type WriteOutcome =
  | Fenced
  | { readonly kind: 'ok'; readonly storedAt: number; readonly created: boolean }
  | { readonly kind: 'clash' | 'changed' | 'damaged' }
  | {
      readonly kind: 'exists';
      readonly logLength: number;
      readonly logTail: Buffer;
      /** Not once the item has expired. */
      readonly isLive: boolean;
    };

function asWriteOutcome(reply: unknown): WriteOutcome {
  const [word, first, second, third] = asList(reply);
  const kind = asText(word);
  switch (kind) {
    case 'ok':
      return { kind, storedAt: asTime(first), created: isOne(second) };
    case 'exists':
      return { kind, logLength: asCount(first), logTail: asBytes(second), isLive: isOne(third) };
    case 'clash':
    case 'changed':
    case 'damaged':
      return { kind };
    default:
      return asFenced(kind);
  }
}

function isOne(reply: unknown): boolean {
  return asCount(reply) === 1;
}

/** Writes items of one bucket and one generation, each of another token, in one step. */
export async function writeMany(
  redis: RedisLink,
  kept: Kept,
  bucket: Bucket,
  writes: readonly ItemWrite[],
): Promise<readonly WriteOutcome[]> {
  const keys = [
    redisKeys.fence(bucket),
    redisKeys.times(bucket),
    redisKeys.references(bucket),
    redisKeys.identities(bucket),
    redisKeys.changedLogs(bucket),
    redisKeys.metadata(bucket),
    redisKeys.expiries(bucket),
  ];
  const [first] = writes;
  const cut = first && writes.length === 1 ? cutShared(kept, bucket, first) : undefined;
  const args: Argument[] = [first?.gen ?? 0, cut?.from ?? 0, cut?.bytes ?? NO_BYTES];
  for (const write of writes) {
    const { token, replaces } = write;
    const { item, sad } = cut ?? write;
    keys.push(redisKeys.item(bucket, token), redisKeys.sad(bucket, token));
    args.push(token, item, write.meta, sad, write.sadExpiresAt, write.refMember, write.logEntry);
    args.push(replaces === undefined ? NO_BYTES : tagOf(replaces), write.identity, write.seed ?? NO_BYTES);
    args.push(write.expiresAt ?? NO_BYTES, write.digests ?? NO_BYTES);
  }
  if (cut !== undefined) {
    keys.push(cut.key);
  }
  const [word, ...replies] = asList(await redis.run(writeItems, keys, args));
  if (cut !== undefined && asText(word) === 'unshared') {
    forgetShared(kept, bucket);
    return await writeMany(redis, kept, bucket, writes);
  }
  if (cut !== undefined && cut.bytes.length > 0 && isOk(word)) {
    rememberShared(kept, bucket, cut);
  }
  if (!isOk(word)) {
    const fenced = asFenced(asText(word));
    return writes.map(() => fenced);
  }
  return replies.map(asWriteOutcome);
}
