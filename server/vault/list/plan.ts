import { toAsync } from '../../core/concurrency.ts';
import type { Cursors } from '../../core/cursors.ts';
import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { Keys } from '../../key/keys.ts';
import type { KeyRef } from '../../key/opener.ts';
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
  /** The only key whose items it covers, where the caller has found it already. */
  readonly only?: KeyRef | undefined;
}

/** The ranges of a listing in order. */
export interface ListPlan {
  readonly ranges: AsyncIterable<Range>;
  /** The cursor of the next page, if there is one. */
  readonly nextToken?: string | undefined;
}

/** What plans are made with. */
export interface PlanParts {
  readonly crypto: Pick<Crypto, 'encodeReference' | 'metadataDigest'>;
  readonly itemStore: ItemStore;
  readonly keys: Pick<Keys, 'find' | 'users'>;
  readonly cursors: Cursors;
}

/** The last item of a page, as its cursor names it. */
interface Place {
  readonly user: string;
  readonly kid: string;
  readonly after: readonly number[];
}

type RangeFinder = (key: KeyRef) => Promise<Range>;

/**
 * Finds the ranges of a listing, cut to its limit. Rejects with `cursor_invalid` a cursor of another listing, and with
 * `key_not_found` a user without a key.
 */
export async function planListing(parts: PlanParts, request: PlanRequest): Promise<ListPlan> {
  const { itemStore, cursors } = parts;
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
  const from = next_token === undefined ? undefined : (cursors.verify(scope, next_token) as Place); // signed below
  if (only && filter.token !== undefined) {
    return { ranges: toAsync([await rangeOfOne(itemStore, only, filter.token)]) };
  }
  const selection = await selectionOf(parts, ctx.account, filter);
  const findRange: RangeFinder = (key) =>
    rangeOf(itemStore, key, filter, selection, from?.kid === key.kid ? from.after : undefined);
  const keys = keysOf(parts, request, from);
  if (limit < 0) {
    return { ranges: wholeRanges(keys, findRange) };
  }
  const { ranges, last } = await cutRanges(itemStore, keys, findRange, filter);
  return { ranges: toAsync(ranges), nextToken: last && cursors.sign(scope, last) };
}

/** The narrowest index for a filter: a whole reference, then metadata, then a prefix, then the expiries. */
async function selectionOf(
  { crypto }: Pick<PlanParts, 'crypto'>,
  { aid }: Pick<Account, 'aid'>,
  { reference, reference_prefix: referencePrefix, metadata = [], expires_before: before }: ListFilter,
): Promise<Selection> {
  const text = reference ?? referencePrefix;
  if (text?.startsWith(referencePrefix ?? '') === false) {
    return { kind: 'none' };
  }
  const [pair] = metadata;
  if (reference === undefined && pair !== undefined) {
    const [name, value] = pair;
    const prefixes = await crypto.metadataDigest({ aid, name, value });
    return { kind: 'indexed', index: 'metadata', prefixes };
  }
  if (text !== undefined) {
    const exact = reference !== undefined;
    const prefixes = await crypto.encodeReference({ aid, reference: text, exact });
    return { kind: 'indexed', index: 'references', prefixes };
  }
  return before === undefined ? { kind: 'all' } : { kind: 'expiring', before };
}

/** The keys that a listing covers, in order, beginning with the one that its cursor names. */
async function* keysOf(
  { keys }: Pick<PlanParts, 'keys'>,
  { ctx: { account }, filter, only }: PlanRequest,
  from: Place | undefined,
): AsyncGenerator<KeyRef> {
  if (only) {
    yield only;
    return;
  }
  if (filter.user !== undefined) {
    yield await keys.find(account, filter.user);
    return;
  }
  const findExisting = (user: string) =>
    keys.find(account, user).catch((error: unknown) => {
      // The key was deleted after the directory was read: the listing goes on without it.
      if (error instanceof VaultError && error.code === 'key_not_found') {
        return undefined;
      }
      throw error;
    });
  const first = from ? [from.user].filter((user) => mayUseKey(account, user)) : undefined;
  let users = first ?? (await keys.users(account, undefined, KEYS_STEP));
  while (users.length > 0) {
    const found = await Promise.all(users.map(findExisting));
    yield* found.filter((key) => key !== undefined);
    users = await keys.users(account, users.at(-1), KEYS_STEP);
  }
}

async function* wholeRanges(keys: AsyncIterable<KeyRef>, findRange: RangeFinder): AsyncGenerator<Range> {
  for await (const key of keys) {
    yield await findRange(key);
  }
}

/** The ranges of the first items, and the last of these items if there are more. */
async function cutRanges(
  itemStore: ItemStore,
  keys: AsyncIterable<KeyRef>,
  findRange: RangeFinder,
  { user, limit }: ListFilter,
): Promise<{ readonly ranges: readonly Range[]; readonly last?: Place }> {
  const ranges: Range[] = [];
  let left = limit;
  for await (const key of keys) {
    const range = await findRange(key);
    // One more than wanted shows whether there is a next page.
    const places = await firstOf(itemStore, range, left + 1);
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
