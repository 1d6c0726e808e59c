/**
 * What the parts of items that were captured together have alike is sent to Redis once a minute, not with each of them: Redis
 * syncs after every 16 KiB that it reads, so shorter commands are fewer syncs. What is stored is the same.
 */
import { createMemory, type Memory } from '../../core/cache.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';

/** Redis has them for twice as long. */
const KEPT_MS = 60_000;
/** Buckets. */
const KEPT_MAX = 1_024;
const NAME_BYTES = 16;
const NO_BYTES = new Uint8Array(0);

/** Parts of an item, and the place of the bytes that both have, and other items too. */
interface Whole {
  readonly item: Uint8Array;
  /** Empty where there is none. */
  readonly sad: Uint8Array;
  readonly shared?: readonly [from: number, to: number] | undefined;
}

/** The parts without these bytes. */
export interface Cut extends Whole {
  /** The key that Redis has the bytes under. */
  readonly key: string;
  readonly from: number;
  /** The bytes, where Redis is to be given them; otherwise empty. */
  readonly bytes: Uint8Array;
}

/** What Redis has of each bucket, as far as this process knows. */
export type Kept = Memory<{ readonly key: string; readonly bytes: Uint8Array }>;

/** Nothing is known of Redis yet. */
export function createKept(): Kept {
  return createMemory(KEPT_MAX, KEPT_MS, () => performance.now());
}

function nameOf(bucket: Bucket): string {
  return redisKeys.shared(bucket, '');
}

/** The parts without what they share; undefined where they share nothing, or not the same. */
export function cutShared(kept: Kept, bucket: Bucket, { item, sad, shared }: Whole): Cut | undefined {
  if (shared === undefined) {
    return undefined;
  }
  const [from, to] = shared;
  const bytes = item.subarray(from, to);
  if (sad.length > 0 && Buffer.compare(bytes, sad.subarray(from, to)) !== 0) {
    return undefined;
  }
  const without = (part: Uint8Array): Uint8Array =>
    part.length === 0 ? part : Buffer.concat([part.subarray(0, from), part.subarray(to)]);
  const known = kept.get(nameOf(bucket));
  const isKept = known !== undefined && Buffer.compare(known.bytes, bytes) === 0;
  const digest = (): string =>
    new Bun.CryptoHasher('sha256').update(bytes).digest().subarray(0, NAME_BYTES).toString('base64url');
  return {
    item: without(item),
    sad: without(sad),
    from,
    key: isKept ? known.key : redisKeys.shared(bucket, digest()),
    bytes: isKept ? NO_BYTES : bytes,
  };
}

/** Remembers that Redis has got the bytes of a cut. */
export function rememberShared(kept: Kept, bucket: Bucket, { key, bytes }: Cut): void {
  // A copy: they are a view of the whole reply of a thread.
  kept.set(nameOf(bucket), { key, bytes: new Uint8Array(bytes) });
}

/** Remembers that Redis has them no more. */
export function forgetShared(kept: Kept, bucket: Bucket): void {
  kept.delete(nameOf(bucket));
}
