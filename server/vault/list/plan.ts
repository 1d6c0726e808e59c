import { recover, toAsync } from '../../core/concurrency.ts';
import type { Cursors } from '../../core/cursors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { KeyOpener, KeyRef } from '../../key/opener.ts';
import type { Account, AccountContext } from '../../request/context.ts';
import { mayUseKey } from '../../request/permission.ts';
import type { ItemStore } from '../store/items.ts';
import {
  firstOf,
  type ListFilter,
  positionsAfter,
  type Range,
  rangeOf,
  rangeOfOne,
  type Selection,
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

/** The ranges of a listing in order. */
interface ListPlan {
  readonly ranges: AsyncIterable<Range>;
  /** The cursor of the next page, if there is one. */
  readonly nextToken?: string | undefined;
}

/** The last item of a page, as its cursor names it. */
interface Last {
  readonly user: string;
  readonly kid: string;
  readonly after: readonly number[];
}

type RangeFinder = (key: KeyRef) => Promise<Range>;

/** Plans listings: finds the ranges of items that they cover. */
export class ListPlanner {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly cursors: Cursors,
  ) {}

  /**
   * Finds the ranges of a listing, cut to its limit. Rejects with `cursor_invalid` a cursor of another listing, and with
   * `key_not_found` a user without a key.
   */
  async plan(request: PlanRequest): Promise<ListPlan> {
    const { ctx, route, filter, only } = request;
    const { user, reference, reference_prefix, stored_after, stored_before, next_token, limit } = filter;
    const facts = JSON.stringify([filter.metadata, filter.expires_before]);
    const scope = [
      ctx.account.aid,
      route,
      user,
      reference,
      reference_prefix,
      stored_after,
      stored_before,
      facts,
    ];
    const from = next_token === undefined ? undefined : (this.cursors.verify(scope, next_token) as Last); // signed below
    if (only && filter.token !== undefined) {
      return { ranges: toAsync([await rangeOfOne(this.store, only, filter.token)]) };
    }
    const selection = await this.selectionOf(ctx.account, filter);
    const findRange: RangeFinder = (key) =>
      rangeOf(this.store, key, filter, selection, from?.kid === key.kid ? from.after : undefined);
    const keys = this.keysOf(request, from);
    if (limit < 0) {
      return { ranges: wholeRanges(keys, findRange) };
    }
    const { ranges, last } = await this.cutRanges(keys, findRange, filter);
    return { ranges: toAsync(ranges), nextToken: last && this.cursors.sign(scope, last) };
  }

  /** Returns the narrowest index for a filter: a whole reference, then metadata, then a prefix, then the expiries. */
  private async selectionOf(
    { aid }: Account,
    { reference, reference_prefix: referencePrefix, metadata = [], expires_before: before }: ListFilter,
  ): Promise<Selection> {
    const text = reference ?? referencePrefix;
    if (text?.startsWith(referencePrefix ?? '') === false) {
      return { kind: 'none' };
    }
    const [pair] = metadata;
    if (reference === undefined && pair !== undefined) {
      const [name, value] = pair;
      const prefixes = await this.crypto.metadataDigest({ aid, name, value });
      return { kind: 'indexed', index: 'metadata', prefixes };
    }
    if (text !== undefined) {
      const exact = reference !== undefined;
      const prefixes = await this.crypto.encodeReference({ aid, reference: text, exact });
      return { kind: 'indexed', index: 'references', prefixes };
    }
    return before === undefined ? { kind: 'all' } : { kind: 'expiring', before };
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
    { user, limit }: ListFilter,
  ): Promise<{ readonly ranges: readonly Range[]; readonly last?: Last }> {
    const ranges: Range[] = [];
    let left = limit;
    for await (const key of keys) {
      const range = await findRange(key);
      // One item more than wanted shows that there is a next page.
      const places = await firstOf(this.store, range, left + 1);
      const picked = places.slice(0, left);
      if (picked.length > 0 || (user !== undefined && left > 0)) {
        ranges.push({ ...range, picked });
      }
      if (places.length > left) {
        return { ranges, last: { user: key.user, kid: key.kid, after: positionsAfter(range, picked) } };
      }
      left -= picked.length;
    }
    return { ranges };
  }
}

async function* wholeRanges(keys: AsyncIterable<KeyRef>, findRange: RangeFinder): AsyncGenerator<Range> {
  for await (const key of keys) {
    yield await findRange(key);
  }
}
