import { Memory } from '../../core/cache.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';

/** Redis keeps them for twice as long. */
const KEPT_MS = 60_000;
/** Buckets. */
const KEPT_MAX = 1_024;
const NAME_BYTES = 16;
const NO_BYTES = new Uint8Array(0);

/** Parts of an item, and the place of the bytes that both have in common with other items. */
interface Whole {
  readonly item: Uint8Array;
  /** Empty for none. */
  readonly sad: Uint8Array;
  readonly shared?: readonly [from: number, to: number] | undefined;
}

/** The parts without these bytes. */
interface Cut extends Whole {
  /** The Redis key of the bytes. */
  readonly key: string;
  readonly from: number;
  /** The bytes if Redis does not have them; otherwise empty. */
  readonly bytes: Uint8Array;
}

/**
 * The bytes that items captured together have in common, by bucket, as far as this process knows that Redis has them. They
 * are sent once a minute and not with each item: Redis syncs after every 16 KiB that it reads, so shorter commands are fewer
 * syncs. Redis stores each item whole.
 */
export class SharedBytes {
  private readonly kept: Memory<{ readonly key: string; readonly bytes: Uint8Array }> = new Memory(
    KEPT_MAX,
    KEPT_MS,
    () => performance.now(),
  );

  /** Returns the parts without their shared bytes; undefined if they have none, or not the same. */
  cut(bucket: Bucket, { item, sad, shared }: Whole): Cut | undefined {
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
    const known = this.kept.get(nameOf(bucket));
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

  /** Notes that Redis has the bytes of a cut. */
  remember(bucket: Bucket, { key, bytes }: Cut): void {
    // Copied: they are a view of the whole reply of a thread.
    this.kept.set(nameOf(bucket), { key, bytes: new Uint8Array(bytes) });
  }

  /** Notes that Redis no longer has them. */
  forget(bucket: Bucket): void {
    this.kept.delete(nameOf(bucket));
  }
}

function nameOf(bucket: Bucket): string {
  return redisKeys.shared(bucket, '');
}
