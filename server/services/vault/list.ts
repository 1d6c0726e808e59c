import { VaultError } from '../../core/errors.ts';
import type { Crypto, Opening, Passphrase } from '../../crypto/client.ts';
import { preferredLimit } from '../../domain/account/preference.ts';
import type { ItemStore } from '../../store/item.ts';
import type { Clock } from '../common/clock.ts';
import { mapAhead } from '../common/coalesce.ts';
import type { CursorScope, Cursors } from '../common/cursor.ts';
import { type Account, type AccountContext, actorOf } from '../common/request-context.ts';
import type { Keys } from '../key/key.ts';
import type { KeyRef } from '../key/open.ts';
import type { Admission } from '../request/admission.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Rules } from '../rule/rule.ts';
import { type CardMetadataSource, withCardMetadata } from './card.ts';
import { createPageReader, type Page } from './page.ts';
import { createPlanner, type ListFilter, type Range, standAfter } from './plan.ts';
import type { ReadView, View } from './read.ts';
import { type Branch, type TreeStream, toAsync, treeStream } from './tree.ts';

/** A part of a listing as a caller asks for it; what is left out is the account's preference. */
export interface ListInput extends Omit<ListFilter, 'limit'> {
  readonly limit?: number | undefined;
}

/** Pages that are read, opened or logged ahead of the one that is being sent. */
const PAGES_AHEAD = 3;
const KEYS_STEP = 256;
/** Entries of a listing whose caller and account say nothing of it. */
const LIMIT = 1_024;
/** Items of a page that rules run over: each may take as long as rules may take. */
const RULED_ITEMS_MAX = 16;

interface Place {
  readonly user: string;
  readonly kid: string;
  readonly after: readonly number[];
}

type DecryptInput = ListInput & View & { readonly user: string; readonly passphrase: Passphrase };

/** A tree that somebody may read. Its cursors belong to the route and the account. */
export interface TreeRequest {
  readonly ctx: AccountContext;
  readonly route: string;
  readonly filter: ListFilter;
  /** The only key whose items are in it, where the caller has found it already. */
  readonly only?: KeyRef | undefined;
}

/** A tree with the data of its items. */
export interface OpenTreeRequest extends TreeRequest {
  readonly only: KeyRef;
  readonly opening: Opening;
  readonly view: ReadView;
  /** What each item counts as. */
  readonly operation: 'decrypt' | 'retrieve';
}

interface VaultListDependencies {
  readonly crypto: Pick<Crypto, 'decryptItems' | 'describeItem' | 'encodeReference' | 'listItems'>;
  readonly itemStore: ItemStore;
  readonly admission: Pick<Admission, 'begin' | 'open' | 'plan'>;
  readonly metering: Pick<MeteringService, 'count' | 'settle'>;
  readonly keys: Pick<Keys, 'find' | 'prove' | 'users'>;
  readonly cards: CardMetadataSource;
  readonly rules: Pick<Rules, 'find'>;
  readonly cursors: Cursors;
  readonly now: Clock;
}

async function* wholeRanges(
  keys: AsyncIterable<KeyRef>,
  rangeOf: (key: KeyRef) => Promise<Range>,
): AsyncGenerator<Range> {
  for await (const key of keys) {
    yield await rangeOf(key);
  }
}

/** Lists and bulk decryption: the plan of ranges, then page by page through the threads into one JSON stream. */
export function createVaultList(dependencies: VaultListDependencies) {
  const { crypto, itemStore, admission, metering, keys, cards, rules, cursors, now } = dependencies;
  const planner = createPlanner(itemStore, crypto);
  const readPages = createPageReader(itemStore);

  const scopeOf = ({ ctx, route, filter }: TreeRequest): CursorScope => [
    ctx.account.aid,
    route,
    filter.user,
    filter.reference,
    filter.reference_prefix,
    filter.stored_after,
    filter.stored_before,
  ];

  /** The keys that a listing covers, in order, from where its cursor stands. */
  async function* keysOf(
    { ctx: { account }, filter, only }: TreeRequest,
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
    const findThere = (user: string) =>
      keys.find(account, user).catch((error: unknown) => {
        // Deleted between the directory and here: the listing goes on without it.
        if (error instanceof VaultError && error.code === 'key_not_found') {
          return undefined;
        }
        throw error;
      });
    let users = from ? [from.user] : await keys.users(account, undefined, KEYS_STEP);
    while (users.length > 0) {
      const found = await Promise.all(users.map(findThere));
      yield* found.filter((key) => key !== undefined);
      users = await keys.users(account, users.at(-1), KEYS_STEP);
    }
  }

  /** Cuts the listing to its limit and tells where the next page begins. */
  async function plan(request: TreeRequest): Promise<{ ranges: AsyncIterable<Range>; nextToken?: string }> {
    const { ctx, filter, only } = request;
    const scope = scopeOf(request);
    const from =
      filter.next_token === undefined ? undefined : (cursors.open(scope, filter.next_token) as Place);
    const floorOf = (key: KeyRef): readonly number[] | undefined =>
      from?.kid === key.kid ? from.after : undefined;
    if (only && filter.token !== undefined) {
      return { ranges: toAsync([await planner.oneItem(only, filter.token)]) };
    }
    const indexed = await planner.encodeFilter(ctx.account, filter);
    const all = keysOf(request, from);
    if (filter.limit < 0) {
      return { ranges: wholeRanges(all, (key) => planner.rangeOf(key, filter, indexed, floorOf(key))) };
    }
    const ranges: Range[] = [];
    let left = filter.limit;
    for await (const key of all) {
      const range = await planner.rangeOf(key, filter, indexed, floorOf(key));
      // One more than wanted tells whether there is a next page.
      const places = await planner.first(range, left + 1);
      const picked = places.slice(0, left);
      if (picked.length > 0 || (filter.user !== undefined && left > 0)) {
        ranges.push({ ...range, picked });
      }
      if (places.length > left) {
        const place: Place = { user: key.user, kid: key.kid, after: standAfter(range, picked) };
        return { ranges: toAsync(ranges), nextToken: cursors.seal(scope, place) };
      }
      left -= picked.length;
    }
    return { ranges: toAsync(ranges) };
  }

  async function* branchesOf(
    ranges: AsyncIterable<Range>,
    part: 'full' | 'meta',
    limits: { readonly gen?: number | undefined; readonly itemsMax?: number | undefined },
    open: (key: KeyRef, page: Page) => Promise<readonly Uint8Array[]>,
  ): AsyncGenerator<Branch> {
    for await (const range of ranges) {
      const { key } = range;
      yield {
        user: key.user,
        pages: mapAhead(readPages(range, part, limits), PAGES_AHEAD, (page) => open(key, page)),
      };
    }
  }

  /** Keeps a place for a tree from its plan until its last byte is sent or its reader has gone. */
  const whileAdmitted = async (
    work: 'list' | 'open',
    { ctx }: TreeRequest,
    begin: (end: () => void) => Promise<TreeStream>,
  ): Promise<TreeStream> => {
    const { aid } = ctx.account;
    const end = work === 'open' ? await admission.open(aid) : admission.begin(work, aid);
    try {
      return await admission.plan(aid, () => begin(end));
    } catch (error) {
      end();
      throw error;
    }
  };

  const referenceOf = ({ reference, reference_prefix }: ListFilter) => ({
    reference,
    ...(reference_prefix === undefined ? {} : { referencePrefix: reference_prefix }),
  });

  const listPage = async (key: KeyRef, filter: ListFilter, page: Page): Promise<readonly Uint8Array[]> => {
    const texts = await crypto.listItems({
      params: { aid: key.aid, kid: key.kid, ...referenceOf(filter) },
      page: page.fields,
    });
    return texts.filter((text) => text.length > 0);
  };

  /** The tree without data. With `only`, whoever reads it may do so while that generation is the newest. */
  const listTree = async (request: TreeRequest): Promise<TreeStream> => {
    const { filter, only } = request;
    return whileAdmitted('list', request, async (end) => {
      const { ranges, nextToken } = await plan(request);
      const branches = branchesOf(ranges, 'meta', { gen: only?.gen }, (key, page) =>
        listPage(key, filter, page),
      );
      return { stream: await treeStream(branches, filter.user, end), nextToken };
    });
  };

  const settled = ({ preferences }: Account, input: ListInput): ListFilter => ({
    ...input,
    limit: preferredLimit(preferences, input.limit, LIMIT),
  });

  const list = async (ctx: AccountContext, input: ListInput): Promise<TreeStream> => {
    const { account } = ctx;
    const filter = settled(account, input);
    const tree =
      filter.token === undefined
        ? await listTree({ ctx, route: 'GET /v1/vault', filter })
        : { stream: await treeStream(toAsync([await listOne(account, filter, filter.token)])) };
    metering.count(ctx, 'list');
    return tree;
  };

  /** A token without a passphrase: its entry in the tree. */
  const listOne = async (account: Account, filter: ListFilter, token: string): Promise<Branch> => {
    const key = await keys.find(account, filter.user ?? '');
    const read = await itemStore.read(key.kid, token);
    if (read?.kind !== 'item') {
      throw new VaultError('token_not_found');
    }
    const { reference } = filter;
    const wanted = {
      aid: key.aid,
      kid: key.kid,
      token,
      rule: 'lookup',
      reference,
    } as const;
    await crypto.describeItem({ params: wanted, meta: read.meta });
    const bucket = itemStore.bucketOf(key.kid, token);
    const page = await readPages.one(bucket, { token, storedAt: read.storedAt });
    return { user: key.user, pages: toAsync([await listPage(key, { limit: 1 }, page)]) };
  };

  /** Appends the page's log entries; an item that went away meanwhile is left out of the reply. */
  const logPage = async (key: KeyRef, page: Page, entries: readonly Uint8Array[]) => {
    const present = new Set<number>();
    await Promise.all(
      page.byBucket().map(async ({ bucket, indexes }) => {
        const here = indexes.filter((i) => (entries[i]?.length ?? 0) > 0);
        const tokens = here.map((i) => page.fields.tokens[i] ?? '');
        const logged = await itemStore.appendLog(
          bucket,
          tokens,
          here.map((i) => entries[i] ?? new Uint8Array(0)),
          key.gen,
        );
        if (logged.kind !== 'appended') {
          throw new VaultError('key_changed');
        }
        for (const [n, i] of here.entries()) {
          if (logged.present[n]) {
            present.add(i);
          }
        }
      }),
    );
    return present;
  };

  const openPage = async (
    { ctx, filter, opening, view, operation }: OpenTreeRequest,
    key: KeyRef,
    page: Page,
  ): Promise<readonly Uint8Array[]> => {
    const { rules: applied, ...masks } = view;
    const ids = { aid: key.aid, kid: key.kid };
    const params = { ...ids, ...actorOf(ctx, now()), ...masks, ...referenceOf(filter) };
    const opened = await crypto.decryptItems({ params, opening, rules: applied, page: page.fields });
    if (opened.kind === 'warm_miss') {
      throw new VaultError('key_changed');
    }
    const present = await logPage(key, page, opened.logEntries);
    if (present.size > 0) {
      metering.count(ctx, operation, present.size);
      await metering.settle(ctx);
    }
    const kept = opened.texts.flatMap((text, i) => (present.has(i) ? [{ text, card: opened.cards[i] }] : []));
    if (!masks.wantsCard) {
      return kept.map(({ text }) => text);
    }
    return Promise.all(
      kept.map(async ({ text, card }) => withCardMetadata(text, card ? await cards.of(card) : undefined)),
    );
  };

  /** The tree with data, each item logged and counted before it is sent. What changes later aborts the stream. */
  const openTree = async (request: OpenTreeRequest): Promise<TreeStream> => {
    const { filter, only, view } = request;
    return whileAdmitted('open', request, async (end) => {
      const { ranges, nextToken } = await plan(request);
      const itemsMax = view.rules.length > 0 ? RULED_ITEMS_MAX : undefined;
      const branches = branchesOf(ranges, 'full', { gen: only.gen, itemsMax }, (key, page) =>
        openPage(request, key, page),
      );
      return { stream: await treeStream(branches, filter.user, end), nextToken };
    });
  };

  const decryptAll = async (ctx: AccountContext, input: DecryptInput): Promise<TreeStream> => {
    const { account } = ctx;
    const view = {
      rules: await rules.find(account.aid, input.rules, 'query.rules'),
      forcedMask: !account.unmasked,
      maskFields: input.mask_fields ?? account.preferences.mask_fields,
      wantsCard: input.return_card_metadata ?? account.preferences.return_card_metadata,
    };
    // The passphrase is proven before the reply begins.
    const { key, blob } = await keys.prove(account, input.user, input.passphrase);
    return openTree({
      ctx,
      route: 'GET /v1/vault decrypt_all',
      filter: settled(account, input),
      only: key,
      opening: { kind: 'warm', blob, secret: input.passphrase },
      view,
      operation: 'decrypt',
    });
  };

  return { list, decryptAll, listTree, openTree };
}

/** Trees for whoever has opened a key by other means than an account's passphrase. */
export type VaultTrees = Pick<ReturnType<typeof createVaultList>, 'listTree' | 'openTree'>;
