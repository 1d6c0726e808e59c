import { recover, toAsync } from '../../core/concurrency.ts';
import type { Cursors } from '../../core/cursors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { KeyOpener, KeyRef } from '../../key/opener.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { MemberIndex } from '../../redis/records/scan.ts';
import type { Account, AccountContext } from '../../request/context.ts';
import { mayUseKey } from '../../request/permission.ts';
import type { ItemStore, Position } from '../store/items.ts';
import {
  comparePlaces,
  type ListFilter,
  mergePositions,
  type Placed,
  type Range,
  STEP_MAX,
} from './range.ts';

/** Keys that are looked up at once. */
const KEYS_STEP = 256;

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
    const facts = JSON.stringify([filter.metadata, filter.expires_before]);
    const bounds = [user, reference, reference_prefix, stored_after, stored_before];
    const scope = [ctx.account.aid, route, ...bounds, facts];
    const from = next_token === undefined ? undefined : (this.cursors.verify(scope, next_token) as Last); // signed below
    if (only && filter.token !== undefined) {
      return { ranges: toAsync([await this.rangeOfOne(only, filter.token)]) };
    }
    const index = await this.indexFor(ctx.account, filter);
    const findRange: RangeFinder = (key) =>
      this.rangeOf(key, filter, index, from?.kid === key.kid ? from.after : undefined);
    const keys = this.keysOf(request, from);
    if (limit < 0) {
      return { ranges: wholeRanges(keys, findRange) };
    }
    const { ranges, last } = await this.cutRanges(keys, findRange, user, limit);
    return { ranges: toAsync(ranges), nextToken: last && this.cursors.sign(scope, last) };
  }

  /**
   * Returns the narrowest index for a filter: a whole reference, then metadata, then a prefix, then the expiries. Undefined for
   * all items.
   */
  private async indexFor(
    { aid }: Account,
    { reference, reference_prefix: referencePrefix, metadata = [], expires_before: before }: ListFilter,
  ): Promise<Index | undefined> {
    const text = reference ?? referencePrefix;
    if (text?.startsWith(referencePrefix ?? '') === false) {
      return () => toAsync([]);
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
    const read = await this.store.read(key.kid, token);
    const bucket = this.store.bucketOf(key.kid, token).number;
    const picked = read?.kind === 'item' ? [{ token, storedAt: read.storedAt, bucket }] : [];
    return { key, after: [], start: [], until: Number.MAX_SAFE_INTEGER, picked };
  }

  /** Yields the keys that a listing covers, in order, beginning with the one that its cursor names. */
  private async *keysOf(
    { ctx: { account }, filter, only }: PlanRequest,
    from: Last | undefined,
  ): AsyncGenerator<KeyRef> {
    if (only) {
      yield only;
      return;
    }
    if (filter.user !== undefined) {
      yield await this.keys.find(account, filter.user);
      return;
    }
    // A key that was deleted after the directory was read is left out.
    const findExisting = (user: string) => recover(this.keys.find(account, user), 'key_not_found', undefined);
    const first = from ? [from.user].filter((user) => mayUseKey(account, user)) : undefined;
    let users = first ?? (await this.keys.users(account, undefined, KEYS_STEP));
    while (users.length > 0) {
      const found = await Promise.all(users.map(findExisting));
      yield* found.filter((key) => key !== undefined);
      users = await this.keys.users(account, users.at(-1), KEYS_STEP);
    }
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

async function* wholeRanges(keys: AsyncIterable<KeyRef>, findRange: RangeFinder): AsyncGenerator<Range> {
  for await (const key of keys) {
    yield await findRange(key);
  }
}
