import type { Account, Caller, ListFilter, Parts, Passphrase, TreeStream, View } from '../deps.ts';
import { VaultError } from '../errors.ts';
import { actorOf } from './actor.ts';
import { mapAhead } from './coalesce.ts';
import { type CursorScope, createCursors } from './cursor.ts';
import type { Keys } from './key.ts';
import type { KeyHandle } from './key-open.ts';
import type { MeteringService } from './metering.ts';
import { refuseRules } from './rule.ts';
import { type CardMetadataSource, withCardMetadata } from './vault-card.ts';
import { createPageReader, type Page } from './vault-page.ts';
import { createPlanner, type Range, standAfter } from './vault-plan.ts';
import { type Branch, toAsync, treeStream } from './vault-tree.ts';

/** Pages that are read, opened or logged ahead of the one that is being sent. */
const PAGES_AHEAD = 3;
const KEYS_STEP = 256;

interface Place {
  readonly user: string;
  readonly kid: string;
  readonly after: readonly number[];
}

type DecryptInput = ListFilter & View & { readonly user: string; readonly passphrase: Passphrase };

async function* wholeRanges(
  keys: AsyncIterable<KeyHandle>,
  rangeOf: (key: KeyHandle) => Promise<Range>,
): AsyncGenerator<Range> {
  for await (const key of keys) {
    yield await rangeOf(key);
  }
}

/** Lists and bulk decryption: the plan of ranges, then page by page through the threads into one JSON stream. */
export function createVaultList(
  parts: Parts,
  metering: MeteringService,
  keys: Keys,
  cards: CardMetadataSource,
) {
  const { crypto, itemStore, now } = parts;
  const cursors = createCursors(parts.cursorKey);
  const planner = createPlanner(parts);
  const readPages = createPageReader(parts);

  const scopeOf = (account: Account, route: string, filter: ListFilter): CursorScope => [
    account.aid,
    route,
    filter.user,
    filter.reference,
    filter.reference_prefix,
    filter.stored_after,
    filter.stored_before,
  ];

  /** The keys that a listing covers, in order, from where its cursor stands. */
  async function* keysOf(
    account: Account,
    filter: ListFilter,
    from: Place | undefined,
  ): AsyncGenerator<KeyHandle> {
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
  async function plan(
    account: Account,
    route: string,
    filter: ListFilter,
  ): Promise<{ ranges: AsyncIterable<Range>; nextToken?: string }> {
    const scope = scopeOf(account, route, filter);
    const from =
      filter.next_token === undefined ? undefined : (cursors.open(scope, filter.next_token) as Place);
    const floorOf = (key: KeyHandle): readonly number[] | undefined =>
      from?.kid === key.kid ? from.after : undefined;
    const indexed = await planner.encodeFilter(account, filter);
    const all = keysOf(account, filter, from);
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
    gen: number | undefined,
    open: (key: KeyHandle, page: Page) => Promise<readonly Uint8Array[]>,
  ): AsyncGenerator<Branch> {
    for await (const range of ranges) {
      const { key } = range;
      yield {
        user: key.user,
        pages: mapAhead(readPages(range, part, gen), PAGES_AHEAD, (page) => open(key, page)),
      };
    }
  }

  const referenceOf = ({ reference, reference_prefix }: ListFilter) => ({
    reference,
    ...(reference_prefix === undefined ? {} : { referencePrefix: reference_prefix }),
  });

  const listPage = async (key: KeyHandle, filter: ListFilter, page: Page): Promise<readonly Uint8Array[]> => {
    const { texts } = await crypto.listItems(
      { aid: key.aid, kid: key.kid, ...referenceOf(filter) },
      page.fields,
    );
    return texts.filter((text) => text.length > 0);
  };

  const list = async (caller: Caller, filter: ListFilter): Promise<TreeStream> => {
    const { account } = caller;
    if (filter.token !== undefined) {
      const one = await listOne(account, filter, filter.token);
      metering.count(account, 'list');
      return { stream: treeStream(toAsync([one])) };
    }
    const { ranges, nextToken } = await plan(account, 'GET /v1/vault', filter);
    metering.count(account, 'list');
    const branches = branchesOf(ranges, 'meta', undefined, (key, page) => listPage(key, filter, page));
    return { stream: treeStream(branches, filter.user), nextToken };
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
    await crypto.describeItem(wanted, read.meta);
    const bucket = itemStore.bucketOf(key.kid, token);
    const page = await readPages.one(bucket, { token, storedAt: read.storedAt });
    return { user: key.user, pages: toAsync([await listPage(key, { limit: 1 }, page)]) };
  };

  /** Appends the page's log entries; an item that went away meanwhile is left out of the reply. */
  const logPage = async (key: KeyHandle, page: Page, entries: readonly Uint8Array[]) => {
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
        if ('kind' in logged) {
          throw new VaultError('key_changed');
        }
        for (const [n, i] of here.entries()) {
          if (logged[n]) {
            present.add(i);
          }
        }
      }),
    );
    return present;
  };

  const decryptPage = async (
    caller: Caller,
    input: DecryptInput,
    key: KeyHandle,
    blob: Uint8Array,
    page: Page,
  ): Promise<readonly Uint8Array[]> => {
    const { account } = caller;
    const params = {
      aid: key.aid,
      kid: key.kid,
      ...actorOf(caller, now()),
      forcedMask: !account.unmasked,
      maskFields: input.mask_fields,
      wantsCard: input.return_card_metadata,
      ...referenceOf(input),
    };
    const opened = await crypto.decryptItems(params, blob, input.passphrase, page.fields);
    if ('kind' in opened) {
      throw new VaultError('key_changed');
    }
    const present = await logPage(key, page, opened.logEntries);
    if (present.size > 0) {
      metering.count(account, 'decrypt', present.size);
      await metering.flush();
    }
    const kept = opened.texts.flatMap((text, i) => (present.has(i) ? [{ text, card: opened.cards[i] }] : []));
    if (!input.return_card_metadata) {
      return kept.map(({ text }) => text);
    }
    return Promise.all(
      kept.map(async ({ text, card }) => withCardMetadata(text, card ? await cards.of(card) : undefined)),
    );
  };

  const decryptAll = async (caller: Caller, input: DecryptInput): Promise<TreeStream> => {
    const { account } = caller;
    refuseRules(input.rules);
    // The passphrase is proven before the reply begins; what changes later aborts the stream.
    const { key, blob } = await keys.prove(account, input.user, input.passphrase);
    const { ranges, nextToken } = await plan(account, 'GET /v1/vault decrypt_all', input);
    const branches = branchesOf(ranges, 'full', key.gen, (_, page) =>
      decryptPage(caller, input, key, blob, page),
    );
    return { stream: treeStream(branches, input.user), nextToken };
  };

  return { list, decryptAll };
}
