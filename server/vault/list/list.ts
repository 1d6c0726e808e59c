import type { Opening } from '../../../workers/jobs/key/jobs.ts';
import type { ItemFilter, Packed, PageFields } from '../../../workers/jobs/vault/jobs.ts';
import { preferredLimit } from '../../account/preference-values.ts';
import { bindParts } from '../../core/bind.ts';
import type { Clock } from '../../core/clock.ts';
import { mapAhead, recover, toAsync } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { Keys } from '../../key/keys.ts';
import type { KeyRef } from '../../key/opener.ts';
import type { Admission } from '../../limits/admission.ts';
import { type Account, type AccountContext, actorOf, confirmAccount } from '../../request/context.ts';
import type { MeteringService } from '../../request/metering.ts';
import type { Rules } from '../../rule/rules.ts';
import { type CardMetadataSource, withCardMetadata } from '../card-metadata.ts';
import { type ReadView, type View, viewOf } from '../reader.ts';
import type { Rejections } from '../rejections.ts';
import type { ItemStore } from '../store/items.ts';
import { countOf, joinedTexts, textAt } from './packed.ts';
import { type ItemPage, type ItemPageParts, type PageOptions, readItemPage, readItemPages } from './page.ts';
import { type PlanParts, type PlanRequest, planListing } from './plan.ts';
import type { ListFilter, Range } from './range.ts';
import { type TreeBranch, type TreeStream, treeStream } from './tree.ts';

/** A part of a listing as a caller asks for it; what is omitted is the account's preference. */
export interface ListInput extends Omit<ListFilter, 'limit'> {
  readonly limit?: number | undefined;
}

/** A part of a listing with the data of its items, which the passphrase of their key opens. */
export type DecryptAllInput = ListInput & View & { readonly user: string; readonly passphrase: SecretBytes };

/** A tree with the data of its items. */
export interface OpenTreeRequest extends PlanRequest {
  readonly only: KeyRef;
  readonly opening: Opening;
  readonly view: ReadView;
  /** The operation that each item is counted as. */
  readonly operation: 'decrypt' | 'retrieve';
  /** Writes the texts of the items, which it gets one by one, as something else than the JSON of a tree. */
  readonly write?: TreeWriter;
}

/** Writes branches as a stream. What it must observe is said of `treeStream`. */
export type TreeWriter = typeof treeStream;

/** Pages that are read, opened or logged ahead of the one that is being sent. Many listings without data may wait unread. */
const PAGES_AHEAD = { full: 3, meta: 2 } as const;
/** Entries of a listing where neither the caller nor the account says how many. */
const LIMIT = 1_024;
/** Items of a page that rules run over: each may take as long as rules may take. */
export const RULED_ITEMS_MAX = 16;

interface VaultListDependencies extends PlanParts {
  readonly crypto: PlanParts['crypto'] & Pick<Crypto, 'decryptItems' | 'describeItem' | 'listItems'>;
  readonly admission: Pick<Admission, 'start' | 'open' | 'plan' | 'isAlone' | 'piece'>;
  readonly metering: Pick<MeteringService, 'count' | 'settle'>;
  readonly keys: Pick<Keys, 'find' | 'prove' | 'users'>;
  readonly cards: CardMetadataSource;
  readonly rules: Pick<Rules, 'find'>;
  readonly rejections: Pick<Rejections, 'record'>;
  readonly now: Clock;
}

type Parts = VaultListDependencies & ItemPageParts;

/** The texts of a page's items, as the tree shows them. */
type OpenPage = (key: KeyRef, page: ItemPage) => Promise<readonly Uint8Array[]>;

/** Trees for callers that have opened a key by other means than an account's passphrase. */
export type VaultTrees = Pick<ReturnType<typeof createVaultList>, 'listTree' | 'openTree'>;

/** Lists and bulk decryption: a plan of ranges, then page by page through the threads into one JSON stream. */
export function createVaultList(parts: VaultListDependencies) {
  return bindParts(parts, { decryptAll, openTree, list, listTree });
}

/**
 * The tree of one key with the data of its items. Rejects with `passphrase_wrong` before the reply starts; a change of
 * the key after that aborts the stream.
 */
async function decryptAll(parts: Parts, ctx: AccountContext, input: DecryptAllInput): Promise<TreeStream> {
  try {
    return await decryptTree(parts, ctx, input);
  } catch (error) {
    const { token, user } = input;
    if (token !== undefined) {
      parts.rejections.record(ctx, { token, user }, 'decrypt', error);
    }
    throw error;
  }
}

async function decryptTree(parts: Parts, ctx: AccountContext, input: DecryptAllInput): Promise<TreeStream> {
  const { rules, keys } = parts;
  const { account } = ctx;
  await confirmAccount(ctx);
  const view = await viewOf(rules, account, input);
  const { key, blob } = await keys.prove(ctx, input.user, input.passphrase);
  return openTree(parts, {
    ctx,
    route: 'GET /v1/vault decrypt_all',
    filter: filterOf(account, input),
    only: key,
    opening: { kind: 'warm', blob, secret: input.passphrase },
    view,
    operation: 'decrypt',
  });
}

function filterOf({ preferences }: Account, input: ListInput): ListFilter {
  return { ...input, limit: preferredLimit(preferences, input.limit, LIMIT) };
}

/** A tree with data: each item is logged and counted before it is sent. A change of its key aborts the stream. */
function openTree(parts: Parts, request: OpenTreeRequest): Promise<TreeStream> {
  const itemsMax = request.view.rules.length > 0 ? RULED_ITEMS_MAX : undefined;
  const options = { part: 'full', itemsMax } as const;
  const open: OpenPage = (key, page) => openPage(parts, request, key, page);
  return startTree(parts, 'open', request, options, open, request.write);
}

/** Starts a tree under admission, which it holds from its plan until its last byte is sent or its reader has gone. */
async function startTree(
  parts: Parts,
  work: 'list' | 'open',
  request: PlanRequest,
  options: PageOptions,
  open: OpenPage,
  write: TreeWriter = treeStream,
): Promise<TreeStream> {
  const { admission } = parts;
  const { aid } = request.ctx.account;
  const end = work === 'open' ? await admission.open(aid) : admission.start(work, aid);
  try {
    return await admission.plan(aid, async () => {
      const { ranges, nextToken } = await planListing(parts, request);
      const branches = branchesOf(parts, ranges, options, open);
      return { stream: await write(branches, request.filter.user, end), nextToken };
    });
  } catch (error) {
    end();
    throw error;
  }
}

async function* branchesOf(
  parts: ItemPageParts,
  ranges: AsyncIterable<Range>,
  options: PageOptions,
  open: OpenPage,
): AsyncGenerator<TreeBranch> {
  for await (const range of ranges) {
    const { key } = range;
    const pages = mapAhead(readItemPages(parts, range, options), PAGES_AHEAD[options.part], (page) =>
      open(key, page),
    );
    yield { user: key.user, pages };
  }
}

/** Opens a page; then logs and counts the items that still exist; then gives their texts. */
async function openPage(
  parts: Parts,
  { ctx, filter, opening, view, operation, write }: OpenTreeRequest,
  key: KeyRef,
  page: ItemPage,
): Promise<readonly Uint8Array[]> {
  const { crypto, metering, cards, now } = parts;
  const { rules, ...masks } = view;
  const { aid, kid } = key;
  const params = { aid, kid, ...actorOf(ctx, now()), ...masks, ...itemFilter(filter) };
  const decrypt = (fields: PageFields) => crypto.decryptItems({ params, opening, rules, page: fields });
  const opened =
    (await recover(decrypt(page.fields), 'integrity_failed', undefined)) ??
    (await decrypt(await readPageAgain(parts, key, page)));
  if (opened.kind === 'warm_miss') {
    throw new VaultError('key_changed');
  }
  const { texts, cards: facts } = opened;
  const present = await logPage(parts, key, page, opened.logEntries);
  const logged = present.reduce((sum, flags) => sum + flags.filter(Boolean).length, 0);
  if (logged > 0) {
    metering.count(ctx, operation, logged);
    await metering.settle(ctx);
  }
  if (!masks.wantsCard && write === undefined && logged === countOf(texts)) {
    return joinedTexts(texts);
  }
  const kept = page.buckets
    .flatMap(({ indexes }, n) => indexes.filter((_, i) => present[n]?.[i]))
    .sort((a, b) => a - b)
    .map((i) => ({ text: textAt(texts, i), card: facts[i] }));
  if (!masks.wantsCard) {
    return kept.map(({ text }) => text);
  }
  return Promise.all(
    kept.map(async ({ text, card }) => withCardMetadata(text, card ? await cards.of(card) : undefined)),
  );
}

/** A page whose items do not open is read once more, each item as it is at one moment (see `ItemStore.readMany`). */
export async function readPageAgain(
  { itemStore, admission }: ItemPageParts,
  { aid, kid, gen }: KeyRef,
  { fields, places }: ItemPage,
): Promise<PageFields> {
  const found = await admission.piece(aid, () => itemStore.readManyAgain(kid, places, gen));
  if (found.kind !== 'items') {
    throw new VaultError('key_changed');
  }
  return { ...fields, replies: found.replies };
}

/** Appends the log entries of a page; tells for each bucket which of its items still exist and are logged. */
export function logPage(
  {
    itemStore,
    admission,
  }: Pick<ItemPageParts, 'admission'> & { readonly itemStore: Pick<ItemStore, 'appendLog'> },
  key: KeyRef,
  page: Pick<ItemPage, 'buckets'>,
  entries: readonly Packed[],
): Promise<readonly (readonly boolean[])[]> {
  return Promise.all(
    page.buckets.map(async ({ bucket, tokens }, n) => {
      const outcome = await admission.piece(key.aid, () =>
        itemStore.appendLog(bucket, tokens, entries[n] ?? [], key.gen),
      );
      if (outcome.kind !== 'appended') {
        throw new VaultError('key_changed');
      }
      return outcome.present;
    }),
  );
}

/** The items of an account without their data; with a token its entry alone, or an error if it does not exist. */
async function list(parts: Parts, ctx: AccountContext, input: ListInput): Promise<TreeStream> {
  await confirmAccount(ctx);
  const filter = filterOf(ctx.account, input);
  const tree =
    filter.token === undefined
      ? await listTree(parts, { ctx, route: 'GET /v1/vault', filter })
      : await listOne(parts, ctx.account, filter, filter.token);
  parts.metering.count(ctx, 'list');
  return tree;
}

/** The tree without data. With `only`, the stream goes on while that generation of the key is the newest. */
function listTree(parts: Parts, request: PlanRequest): Promise<TreeStream> {
  return startTree(parts, 'list', request, { part: 'meta' }, async (key, page) => {
    if (request.only) {
      await checkFences(parts, key, page);
    }
    return listPage(parts, key, request.filter, page);
  });
}

/** Rejects with `key_changed` when the generation of the key was not the newest any more after the page was read. */
async function checkFences(
  parts: Pick<Parts, 'itemStore' | 'admission'>,
  key: KeyRef,
  page: ItemPage,
): Promise<void> {
  const noItems = page.buckets.map(({ bucket }) => ({ bucket, indexes: [], tokens: [] }));
  await logPage(parts, key, { buckets: noItems }, []);
}

/** What of a filter a thread compares. */
function itemFilter(filter: Omit<ListFilter, 'limit'>): ItemFilter {
  const { reference, reference_prefix: referencePrefix, metadata, expires_before: expiresBefore } = filter;
  return { reference, referencePrefix, metadata, expiresBefore };
}

async function listPage(
  { crypto, now }: Pick<Parts, 'crypto' | 'now'>,
  { aid, kid }: KeyRef,
  filter: Omit<ListFilter, 'limit'>,
  page: ItemPage,
): Promise<readonly Uint8Array[]> {
  const params = { aid, kid, now: now(), ...itemFilter(filter) };
  const texts = await crypto.listItems({ params, page: page.fields });
  return joinedTexts(texts);
}

async function listOne(
  parts: Parts,
  account: Account,
  { user = '', reference }: ListFilter,
  token: string,
): Promise<TreeStream> {
  const { crypto, itemStore, keys } = parts;
  const key = await keys.find(account, user);
  const { aid, kid } = key;
  const read = await itemStore.read(kid, token);
  if (read?.kind !== 'item') {
    throw new VaultError('token_not_found');
  }
  const named = { aid, kid, token, rule: 'lookup', reference, now: parts.now() } as const;
  await crypto.describeItem({ params: named, meta: read.meta });
  const place = { token, storedAt: read.storedAt, bucket: itemStore.bucketOf(kid, token).number };
  const page = await readItemPage(parts, key, [place], 'meta');
  if (!page) {
    throw new VaultError('internal'); // one item always fits
  }
  const branch = { user: key.user, pages: toAsync([await listPage(parts, key, {}, page)]) };
  return { stream: await treeStream(toAsync([branch])) };
}
