import type { Crypto } from '../../crypto/client.ts';
import type { ItemStore, Position } from '../../store/item.ts';
import type { Bucket } from '../../store/records/name.ts';
import type { Account } from '../common/request-context.ts';
import type { KeyRef } from '../key/open.ts';

/** A part of a listing. `limit` -1 means no limit; times are milliseconds since 1970. */
export interface ListFilter {
  readonly user?: string | undefined;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly reference_prefix?: string | undefined;
  readonly stored_after?: number | undefined;
  readonly stored_before?: number | undefined;
  readonly limit: number;
  readonly next_token?: string | undefined;
}

/** Positions that are read from a bucket at once, at most. */
const STEP_MAX = 256;

/** A position and the number of the bucket that it lies in. */
export interface Placed extends Position {
  readonly bucket: number;
}

/** A part of one key's items. */
export interface Range {
  readonly key: KeyRef;
  /** For every bucket, from where in time (exclusive). */
  readonly after: readonly number[];
  /** For every bucket, what was newest when the walk began. */
  readonly start: readonly number[];
  /** The filter's end in time, inclusive. */
  readonly until: number;
  /** The items themselves, in order, where a limit or a reference filter has picked them. */
  readonly picked?: readonly Placed[];
}

/** The order of every listing within a key. */
function before(a: Placed, b: Placed): number {
  return a.storedAt - b.storedAt || (a.token < b.token ? -1 : 1);
}

/** Merges the buckets' positions of a range into the order of the listing, reading each bucket as it goes. */
export async function* mergePositions(
  itemStore: Pick<ItemStore, 'positions'>,
  range: Range,
  step = STEP_MAX,
): AsyncGenerator<Placed> {
  if (range.picked) {
    yield* range.picked;
    return;
  }
  const sources = range.after.map((after, number) => ({
    number,
    at: after,
    waiting: [] as Placed[],
    next: 0,
    done: false,
  }));
  const refill = async (source: (typeof sources)[number]): Promise<void> => {
    const bucket: Bucket = { kid: range.key.kid, number: source.number };
    const found = [...(await itemStore.positions(bucket, source.at, range.until, step))];
    const last = found.at(-1);
    source.done = found.length < step;
    if (last && !source.done && last.storedAt >= (range.start[source.number] ?? 0)) {
      // The walk has come to the time of its start. What is behind it now, in one look, is the rest: whatever
      // moved meanwhile is in it, and what comes later is not waited for.
      found.push(...(await itemStore.positions(bucket, last.storedAt, range.until, -1)));
      source.done = true;
    }
    source.waiting = found.map((position) => ({ ...position, bucket: source.number }));
    source.next = 0;
    source.at = found.at(-1)?.storedAt ?? source.at;
  };
  await Promise.all(sources.map(refill));
  let live = sources.filter((source) => source.waiting.length > 0);
  while (live.length > 0) {
    let first: (typeof sources)[number] | undefined;
    let head: Placed | undefined;
    for (const source of live) {
      const candidate = source.waiting[source.next];
      if (candidate && (!head || before(candidate, head) < 0)) {
        head = candidate;
        first = source;
      }
    }
    if (!first || !head) {
      return;
    }
    yield head;
    first.next += 1;
    if (first.next === first.waiting.length) {
      if (!first.done) {
        await refill(first);
      }
      if (first.next === first.waiting.length) {
        live = live.filter((source) => source !== first);
      }
    }
  }
}

/** Works out which items a listing covers, from the time indexes or the reference indexes. */
export function createPlanner(itemStore: ItemStore, crypto: Pick<Crypto, 'encodeReference'>) {
  const numbers = Array.from({ length: itemStore.buckets }, (_, number) => number);

  const pick = async (
    key: KeyRef,
    prefix: Uint8Array,
    after: readonly number[],
    until: number,
  ): Promise<Placed[]> => {
    const picked: Placed[] = [];
    await Promise.all(
      numbers.map(async (number) => {
        for await (const positions of itemStore.positionsByReference({ kid: key.kid, number }, prefix)) {
          for (const { token, storedAt } of positions) {
            if (storedAt > (after[number] ?? 0) && storedAt <= until) {
              picked.push({ token, storedAt, bucket: number });
            }
          }
        }
      }),
    );
    return picked.sort(before);
  };

  return {
    /** The index prefix of the filter's reference, when it has one. */
    async encodeFilter(
      { aid }: Pick<Account, 'aid'>,
      { reference, reference_prefix }: ListFilter,
    ): Promise<Uint8Array | undefined> {
      if (reference !== undefined) {
        return crypto.encodeReference({ aid, reference, exact: true });
      }
      return reference_prefix === undefined
        ? undefined
        : crypto.encodeReference({ aid, reference: reference_prefix, exact: false });
    },

    /** All of a key's items within the filter's times and behind `floor`, as far as they are there now. */
    async rangeOf(
      key: KeyRef,
      filter: ListFilter,
      indexed: Uint8Array | undefined,
      floor: readonly number[] | undefined,
    ): Promise<Range> {
      const since = (filter.stored_after ?? 1) - 1;
      const until = (filter.stored_before ?? Number.MAX_SAFE_INTEGER) - 1;
      const start = await Promise.all(numbers.map((number) => itemStore.newest({ kid: key.kid, number })));
      const after = numbers.map((number) => Math.max(since, floor?.[number] ?? 0));
      const { reference, reference_prefix: prefix } = filter;
      const isNothing = reference !== undefined && prefix !== undefined && !reference.startsWith(prefix);
      const picked = isNothing ? [] : indexed && (await pick(key, indexed, after, until));
      return { key, after, start, until, ...(picked ? { picked } : {}) };
    },

    /** One item, if it is there. */
    async oneItem(key: KeyRef, token: string): Promise<Range> {
      const read = await itemStore.read(key.kid, token);
      const bucket = itemStore.bucketOf(key.kid, token).number;
      const picked = read?.kind === 'item' ? [{ token, storedAt: read.storedAt, bucket }] : [];
      return { key, after: [], start: [], until: Number.MAX_SAFE_INTEGER, picked };
    },

    /** The first `limit` items of a range, in order. */
    async first(range: Range, limit: number): Promise<readonly Placed[]> {
      const places: Placed[] = [];
      // Tokens are spread evenly: a bucket's share and half as much again seldom needs a second look.
      const step = Math.min(STEP_MAX, Math.ceil((1.5 * limit) / itemStore.buckets) + 2);
      for await (const place of mergePositions(itemStore, range, step)) {
        places.push(place);
        if (places.length === limit) {
          break;
        }
      }
      return places;
    },
  };
}

/** Where a walk stands after these items: in each bucket at the last one of it. */
export function standAfter(range: Range, places: readonly Placed[]): readonly number[] {
  const after = [...range.after];
  for (const { bucket, storedAt } of places) {
    after[bucket] = Math.max(after[bucket] ?? 0, storedAt);
  }
  return after;
}
