import type { MetadataPair } from '../../domain/mask/metadata.ts';
import type { KeyRef } from '../../key/opener.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { ItemStore, Place, Position } from '../store/items.ts';

/** Positions that are read from a bucket at once: few at first, so that the reply begins soon, and twice as many each time. */
const STEP_FIRST = 16;
export const STEP_MAX = 1_024;
/** Picked items that are yielded at once. */
const PICKED_STEP = 4_096;

/** The items that a listing covers. Without `limit`, or with -1, there is no limit; times are milliseconds since 1970. */
export interface ListFilter {
  readonly user?: string | undefined;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly reference_prefix?: string | undefined;
  readonly stored_after?: number | undefined;
  readonly stored_before?: number | undefined;
  readonly metadata?: readonly MetadataPair[] | undefined;
  readonly expires_before?: number | undefined;
  readonly limit?: number | undefined;
  readonly next_token?: string | undefined;
}

/** A position and the number of the bucket that holds it. */
export interface Placed extends Place, Position {}

/** A part of one key's items. Times are milliseconds since 1970, one for each bucket. */
export interface Range {
  readonly key: KeyRef;
  /** The start of the range in each bucket, exclusive. */
  readonly after: readonly number[];
  /** The newest item of each bucket when the range was made. */
  readonly start: readonly number[];
  /** The end of the range, inclusive. */
  readonly until: number;
  /** The items themselves, in order, if a limit or a filter has picked them. */
  readonly picked?: readonly Placed[];
}

/** Progress in one bucket of a range. */
interface BucketWalk {
  readonly number: number;
  /** The time up to which positions were read. */
  at: number;
  /** Positions of the next read. */
  step: number;
  /** Positions that were read and not yielded yet, in order. */
  waiting: readonly Position[];
  done: boolean;
}

/** The order of every listing within a key. */
export function comparePlaces(a: Placed, b: Placed): number {
  return a.storedAt - b.storedAt || (a.token < b.token ? -1 : 1);
}

async function readOn(itemStore: ItemStore, { key, until, start }: Range, walk: BucketWalk): Promise<void> {
  const bucket: Bucket = { kid: key.kid, number: walk.number };
  const { step } = walk;
  walk.step = Math.min(2 * step, STEP_MAX);
  const found = await itemStore.positions(bucket, walk.at, until, step);
  const last = found.at(-1);
  walk.done = found.length < step;
  walk.waiting = walk.waiting.concat(found);
  if (last && !walk.done && last.storedAt >= (start[walk.number] ?? 0)) {
    // The walk has reached the time of its start. One read takes the rest: items that moved meanwhile are in it,
    // and the walk does not wait for later ones.
    walk.waiting = walk.waiting.concat(await itemStore.positions(bucket, last.storedAt, until, -1));
    walk.done = true;
  }
  walk.at = walk.waiting.at(-1)?.storedAt ?? walk.at;
}

/** Takes the positions that no unread one can precede: up to the time to which every bucket was read. */
function takeKnown(walks: readonly BucketWalk[]): Placed[] {
  let knownUntil = Number.POSITIVE_INFINITY;
  for (const { done, at } of walks) {
    knownUntil = done ? knownUntil : Math.min(knownUntil, at);
  }
  const known: Placed[] = [];
  for (const walk of walks) {
    const { number, waiting } = walk;
    let taken = 0;
    for (const { token, storedAt } of waiting) {
      if (storedAt > knownUntil) {
        break;
      }
      known.push({ token, storedAt, bucket: number });
      taken += 1;
    }
    walk.waiting = waiting.slice(taken);
  }
  return known.sort(comparePlaces);
}

/**
 * Merges the buckets of a range into the order of the listing, some items at a time. It reads each bucket
 * `firstStep` positions at first, then more at a time.
 */
export async function* mergePositions(
  itemStore: ItemStore,
  range: Range,
  firstStep = STEP_FIRST,
): AsyncGenerator<readonly Placed[]> {
  if (range.picked) {
    // There may be as many as the key has items.
    for (let at = 0; at < range.picked.length; at += PICKED_STEP) {
      yield range.picked.slice(at, at + PICKED_STEP);
    }
    return;
  }
  const walks = range.after.map(
    (at, number): BucketWalk => ({
      ...{ number, at, step: firstStep, waiting: [], done: false },
    }),
  );
  for (;;) {
    // Buckets that are half read are read ahead, together with those that are needed now.
    const unread = walks.filter(({ waiting, step, done }) => 2 * waiting.length < step && !done);
    await Promise.all(unread.map((walk) => readOn(itemStore, range, walk)));
    const known = takeKnown(walks);
    if (known.length > 0) {
      yield known;
    } else if (walks.every(({ done }) => done)) {
      return;
    }
  }
}
