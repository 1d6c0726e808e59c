import type { ItemFilter } from '../../../workers/jobs/vault/jobs.ts';
import { toAsync } from '../../core/concurrency.ts';
import type { Cursors } from '../../core/cursors.ts';
import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { KeyOpener, KeyRef } from '../../key/opener.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { MemberIndex } from '../../redis/records/scan.ts';
import type { Account, AccountContext } from '../../request/context.ts';
import type { ItemStore, Position } from '../store/items.ts';

/** Positions that are read from a bucket at once: few at first, so that the reply begins soon, and twice as many each time. */
const STEP_FIRST = 16;
const STEP_MAX = 1_024;
/** Picked items that are yielded at once. */
const PICKED_STEP = 4_096;

/** The items that a listing covers. Without `limit`, or with -1, there is no limit; times are milliseconds since 1970. */
export interface ListFilter extends ItemFilter {
  readonly user?: string | undefined;
  readonly token?: string | undefined;
  readonly stored_after?: number | undefined;
  readonly stored_before?: number | undefined;
  readonly limit?: number | undefined;
  readonly next_token?: string | undefined;
}

/** A position and the number of the bucket that holds it. */
export interface Placed extends Position {
  readonly bucket: number;
}

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
function comparePlaces(a: Placed, b: Placed): number {
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

/** A listing to plan. Its cursors belong to the route and the account. */
export interface PlanRequest {
  readonly ctx: AccountContext;
  readonly route: string;
  readonly filter: ListFilter;
  /** The only key whose items it covers, if the caller has found it already. */
  readonly only?: KeyRef | undefined;
}

/** The last item of a page, as its cursor names it. */
interface Last {
  readonly user: string;
  readonly kid: string;
  readonly after: readonly number[];
}

type RangeFinder = (key: KeyRef) => Promise<Range>;

/** Reads the positions of items of a bucket that an index names, which may be too many, unordered. */
type Index = (bucket: Bucket) => AsyncIterable<readonly Position[]>;

/** Plans listings: finds the ranges of items that they cover. */
export class ListPlanner {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly cursors: Cursors,
  ) {}

  /**
   * Finds the ranges of a listing in order, cut to its limit, and the cursor of the next page, if there is one. Rejects with
   * `cursor_invalid` a cursor of another listing, and with `key_not_found` a user without a key.
   */
  async plan(
    request: PlanRequest,
  ): Promise<{ readonly ranges: AsyncIterable<Range>; readonly nextToken?: string | undefined }> {
    const { ctx, route, filter, only } = request;
    const { user, reference, reference_prefix, stored_after, stored_before, next_token, limit = -1 } = filter;
    const facts = JSON.stringify([filter.metadata, filter.expires_before, filter.last_four]);
    const bounds = [user, reference, reference_prefix, stored_after, stored_before];
    const scope = [ctx.account.aid, route, ...bounds, facts];
    const from = next_token === undefined ? undefined : (this.cursors.verify(scope, next_token) as Last); // signed below
    if (only && filter.token !== undefined) {
      return { ranges: toAsync([await this.rangeOfOne(only, filter.token)]) };
    }
    const index = await this.indexFor(ctx.account, filter);
    const findRange: RangeFinder = (key) =>
      this.rangeOf(key, filter, index, from?.kid === key.kid ? from.after : undefined);
    const keys = await this.keysOf(request, from);
    if (limit < 0) {
      return { ranges: wholeRanges(keys, findRange) };
    }
    const { ranges, last } = await this.cutRanges(keys, findRange, user, limit);
    return { ranges: toAsync(ranges), nextToken: last && this.cursors.sign(scope, last) };
  }

  /**
   * Returns the narrowest index for a filter: a whole reference, then last four digits, then metadata, then a prefix, then the
   * expiries. Undefined for all items.
   */
  private async indexFor(
    { aid }: Account,
    { reference, reference_prefix: referencePrefix, last_four: lastFour, ...filter }: ListFilter,
  ): Promise<Index | undefined> {
    const { metadata = [], expires_before: before } = filter;
    const text = reference ?? referencePrefix;
    if (text?.startsWith(referencePrefix ?? '') === false) {
      return () => toAsync([]);
    }
    if (reference === undefined && lastFour !== undefined) {
      return this.membersOf('metadata', await this.crypto.lastFourDigest({ aid, lastFour }));
    }
    const [pair] = metadata;
    if (reference === undefined && pair !== undefined) {
      const [name, value] = pair;
      return this.membersOf('metadata', await this.crypto.metadataDigest({ aid, name, value }));
    }
    if (text !== undefined) {
      const exact = reference !== undefined;
      return this.membersOf('references', await this.crypto.encodeReference({ aid, reference: text, exact }));
    }
    return before === undefined ? undefined : (bucket) => this.store.positionsByExpiry(bucket, before);
  }

  /**
   * Reads an index by prefixes of its members. While the root is rotated the reference index has two prefixes, and entries move
   * from the first to the second: each bucket is read under one after the other.
   */
  private membersOf(index: MemberIndex, prefixes: readonly Uint8Array[]): Index {
    const { store } = this;
    return async function* (bucket) {
      for (const prefix of prefixes) {
        yield* store.positionsByMember(bucket, index, prefix);
      }
    };
  }

  /** Returns the selected items of a key that exist now; with `floor`, those after this position in each bucket. */
  private async rangeOf(
    key: KeyRef,
    { stored_after = 1, stored_before = Number.MAX_SAFE_INTEGER }: ListFilter,
    index: Index | undefined,
    floor: readonly number[] = [],
  ): Promise<Range> {
    const buckets = Array.from({ length: this.store.buckets }, (_, number) => ({ kid: key.kid, number }));
    const after = buckets.map(({ number }) => Math.max(stored_after - 1, floor[number] ?? 0));
    const start = await Promise.all(buckets.map((bucket) => this.store.newest(bucket)));
    const range = { key, after, start, until: stored_before - 1 };
    if (index === undefined) {
      return range;
    }
    const picked: Placed[] = [];
    const pick = async (bucket: Bucket): Promise<void> => {
      const { number } = bucket;
      const seen = new Set<string>();
      for await (const positions of index(bucket)) {
        for (const { token, storedAt } of positions) {
          if (storedAt > (after[number] ?? 0) && storedAt < stored_before && !seen.has(token)) {
            seen.add(token);
            picked.push({ token, storedAt, bucket: number });
          }
        }
      }
    };
    await Promise.all(buckets.map(pick));
    return { ...range, picked: picked.sort(comparePlaces) };
  }

  /** Returns the range of one item, empty if it does not exist. */
  private async rangeOfOne(key: KeyRef, token: string): Promise<Range> {
    const bucket = this.store.bucketOf(key.kid, token);
    const positions = await this.store.positionsOf(bucket, [token]);
    const picked = positions.map((position) => ({ ...position, bucket: bucket.number }));
    return { key, after: [], start: [], until: Number.MAX_SAFE_INTEGER, picked };
  }

  /**
   * Finds the keys that a listing covers, in order, beginning with the one that its cursor names. By last four digits those with
   * summaries; rejects with `invalid_request` if there is none.
   */
  private async keysOf(
    { ctx: { account }, filter, only }: PlanRequest,
    from: Last | undefined,
  ): Promise<AsyncIterable<KeyRef>> {
    const keys = only ? toAsync([only]) : this.keys.each(account, filter.user, from?.user);
    if (filter.last_four === undefined) {
      return keys;
    }
    const found = summarized(keys);
    const first = await found.next();
    if (first.done === true && from === undefined) {
      const expected = 'needs a key with summaries';
      throw new VaultError('invalid_request', { field: 'query.last_four', expected });
    }
    return first.done === true ? found : startingWith(first.value, found);
  }

  /** Returns the ranges of the first items, and the last of these items if there are more. */
  private async cutRanges(
    keys: AsyncIterable<KeyRef>,
    findRange: RangeFinder,
    user: string | undefined,
    limit: number,
  ): Promise<{ readonly ranges: readonly Range[]; readonly last?: Last }> {
    const ranges: Range[] = [];
    let left = limit;
    for await (const key of keys) {
      const range = await findRange(key);
      // One item more than wanted shows that there is a next page.
      const places = await this.firstOf(range, left + 1);
      const picked = places.slice(0, left);
      if (picked.length > 0 || (user !== undefined && left > 0)) {
        ranges.push({ ...range, picked });
      }
      if (places.length > left) {
        // The position in each bucket of its last item.
        const after = [...range.after];
        for (const { bucket, storedAt } of picked) {
          after[bucket] = Math.max(after[bucket] ?? 0, storedAt);
        }
        return { ranges, last: { user: key.user, kid: key.kid, after } };
      }
      left -= picked.length;
    }
    return { ranges };
  }

  /** Returns the first `limit` items of a range, in order. */
  private async firstOf(range: Range, limit: number): Promise<readonly Placed[]> {
    const places: Placed[] = [];
    // Tokens are spread evenly: a bucket's share and three standard deviations are seldom too little.
    const share = limit / this.store.buckets;
    const step = Math.min(STEP_MAX, Math.ceil(share + 3 * Math.sqrt(share)) + 2);
    for await (const some of mergePositions(this.store, range, step)) {
      places.push(...some.slice(0, limit - places.length));
      if (places.length === limit) {
        break;
      }
    }
    return places;
  }
}

async function* summarized(keys: AsyncIterable<KeyRef>): AsyncGenerator<KeyRef, void> {
  for await (const key of keys) {
    if (key.summary) {
      yield key;
    }
  }
}

async function* startingWith<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

async function* wholeRanges(keys: AsyncIterable<KeyRef>, findRange: RangeFinder): AsyncGenerator<Range> {
  for await (const key of keys) {
    yield await findRange(key);
  }
}
