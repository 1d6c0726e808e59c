import { streamOf } from '../../core/byte-stream.ts';
import type { Clock } from '../../core/clock.ts';
import { mapAhead, toAsync } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { KeyOpener, KeyRef } from '../../key/opener.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Account, AccountContext } from '../../request/context.ts';
import type { Metering } from '../../request/metering.ts';
import type { Rules } from '../../rule/rules.ts';
import { type CardMetadataSource, withCardMetadata } from '../card-metadata.ts';
import { type View, viewOf } from '../reader.ts';
import type { Rejections } from '../rejections.ts';
import type { ItemStore } from '../store/items.ts';
import {
  countOf,
  type ItemPage,
  type ItemPages,
  itemFilter,
  joinedTexts,
  type PageOpening,
  type PageOptions,
  textAt,
} from './page.ts';
import type { ListFilter, ListPlanner, PlanRequest, Range } from './plan.ts';

/** Pages that are read, opened or logged ahead of the one that is being sent. Many listings without data may wait unread. */
const PAGES_AHEAD = { full: 3, meta: 2 } as const;
/** Entries of a listing, without a limit of the request or the account. */
const LIMIT = 1_024;
/** Items of a page with rules, each of which may take as long as rules may take. */
export const RULED_ITEMS_MAX = 16;

const encoder = new TextEncoder();
const COMMA = encoder.encode(',');

/** A tree of items as JSON text, piece by piece. An error in it aborts the connection. */
export interface TreeStream {
  readonly stream: ReadableStream<Uint8Array>;
  /** The cursor of the next page, if there is one. */
  readonly nextToken?: string | undefined;
}

/** The items of one key in a tree: its identifier, and the JSON texts of its items page by page. */
export interface TreeBranch {
  readonly user: string;
  readonly pages: AsyncIterable<readonly Uint8Array[]>;
}

/** A part of a listing with the data of its items, which the passphrase of their key opens. */
type DecryptAllInput = ListFilter & View & { readonly user: string; readonly passphrase: SecretBytes };

/** A tree with the data of its items. */
interface OpenTreeRequest extends PlanRequest, PageOpening {
  /** Writes another format than the JSON of a tree; gets the texts of the items one by one. */
  readonly write?: typeof treeStream;
}

/** Returns the texts of a page's items, as in the tree. */
type OpenPage = (key: KeyRef, page: ItemPage) => Promise<readonly Uint8Array[]>;

/** Lists and bulk decryption: a plan of ranges, then page by page through the threads into one JSON stream. */
export class VaultTrees {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly metering: Metering,
    private readonly keys: KeyOpener,
    private readonly rules: Rules,
    private readonly cards: CardMetadataSource,
    private readonly rejections: Rejections,
    private readonly planner: ListPlanner,
    private readonly pages: ItemPages,
    private readonly now: Clock,
  ) {}

  /** Returns the items of an account without their data; with a token its entry alone, or rejects with `token_not_found`. */
  async list(ctx: AccountContext, input: ListFilter): Promise<TreeStream> {
    const filter = filterOf(ctx.account, input);
    const tree =
      filter.token === undefined
        ? await this.listTree({ ctx, route: 'GET /v1/vault', filter })
        : await this.listOne(ctx.account, filter, filter.token);
    this.metering.count(ctx, 'list');
    return tree;
  }

  /**
   * Returns the tree of one key with the data of its items. Rejects with `passphrase_wrong` before the reply starts; a
   * change of the key after that aborts the stream.
   */
  async decryptAll(ctx: AccountContext, input: DecryptAllInput): Promise<TreeStream> {
    const { account } = ctx;
    const { token, user, passphrase } = input;
    try {
      const view = await viewOf(this.rules, account, input);
      const { key, blob } = await this.keys.prove(ctx, user, passphrase);
      return await this.openTree({
        ctx,
        route: 'GET /v1/vault decrypt_all',
        filter: filterOf(account, input),
        key,
        opening: { kind: 'warm', blob, secret: passphrase },
        view,
        operation: 'decrypt',
      });
    } catch (error) {
      if (token !== undefined) {
        this.rejections.record(ctx, { token, user }, 'decrypt', error);
      }
      throw error;
    }
  }

  /** Returns the tree without data. With `only`, the stream ends with an error when that generation of the key is not the newest. */
  listTree(request: PlanRequest): Promise<TreeStream> {
    return this.startTree('list', request, { part: 'meta' }, async (key, page) => {
      if (request.only) {
        await this.pages.checkFences(key, page);
      }
      return this.listPage(key, request.filter, page);
    });
  }

  /** Returns a tree with data: each item is logged and counted before it is sent. A change of its key aborts the stream. */
  openTree(request: OpenTreeRequest): Promise<TreeStream> {
    const itemsMax = request.view.rules.length > 0 ? RULED_ITEMS_MAX : undefined;
    const options = { part: 'full', itemsMax } as const;
    const open: OpenPage = (_, page) => this.openPage(request, page);
    return this.startTree('open', { ...request, only: request.key }, options, open, request.write);
  }

  private async listOne(
    account: Account,
    { user = '', reference }: ListFilter,
    token: string,
  ): Promise<TreeStream> {
    const key = await this.keys.find(account, user);
    const { aid, kid } = key;
    const bucket = this.store.bucketOf(kid, token);
    const [[position], read] = await Promise.all([
      this.store.positionsOf(bucket, [token]),
      this.store.read(kid, token),
    ]);
    if (position === undefined || read === undefined) {
      throw new VaultError('token_not_found');
    }
    const named = { aid, kid, token, rule: 'lookup', reference, now: this.now() } as const;
    await this.crypto.describeItem({ params: named, meta: read.meta });
    const page = await this.pages.readOne(key, [{ ...position, bucket: bucket.number }], 'meta');
    if (!page) {
      throw new VaultError('internal'); // one item always fits
    }
    const branch = { user: key.user, pages: toAsync([await this.listPage(key, {}, page)]) };
    return { stream: await treeStream(toAsync([branch])) };
  }

  /** Starts a tree, which holds a unit of its class from its plan until its last byte is sent or its reader has gone. */
  private async startTree(
    work: 'list' | 'open',
    request: PlanRequest,
    options: PageOptions,
    open: OpenPage,
    write = treeStream,
  ): Promise<TreeStream> {
    const { aid } = request.ctx.account;
    const end = await this.limiter.hold(work, aid);
    try {
      return await this.limiter.run('plan', aid, async () => {
        const { ranges, nextToken } = await this.planner.plan(request);
        const branches = this.branchesOf(ranges, options, open);
        return { stream: await write(branches, request.filter.user, end), nextToken };
      });
    } catch (error) {
      end();
      throw error;
    }
  }

  private async *branchesOf(
    ranges: AsyncIterable<Range>,
    options: PageOptions,
    open: OpenPage,
  ): AsyncGenerator<TreeBranch> {
    for await (const range of ranges) {
      const { key } = range;
      const pages = mapAhead(this.pages.read(range, options), PAGES_AHEAD[options.part], (page) =>
        open(key, page),
      );
      yield { user: key.user, pages };
    }
  }

  /** Opens a page, and returns the texts of the items that still exist. */
  private async openPage(request: OpenTreeRequest, page: ItemPage): Promise<readonly Uint8Array[]> {
    const { filter, view, write } = request;
    const { texts, cards, isLogged, logged } = await this.pages.open(request, page, filter);
    if (!view.wantsCard && write === undefined && logged === countOf(texts)) {
      return joinedTexts(texts);
    }
    const kept = [...isLogged.keys()].filter((index) => isLogged[index]);
    if (!view.wantsCard) {
      return kept.map((index) => textAt(texts, index));
    }
    return Promise.all(
      kept.map(async (index) => {
        const card = cards[index];
        return withCardMetadata(textAt(texts, index), card ? await this.cards.of(card) : undefined);
      }),
    );
  }

  private async listPage({ aid, kid }: KeyRef, filter: ListFilter, page: ItemPage) {
    const params = { aid, kid, now: this.now(), ...itemFilter(filter) };
    return joinedTexts(await this.crypto.listItems({ params, page: page.fields }));
  }
}

function filterOf({ preferences }: Account, input: ListFilter): ListFilter {
  return { ...input, limit: input.limit ?? preferences.default_limit ?? LIMIT };
}

/**
 * Writes branches as a stream of JSON text. A key without items is omitted, unless it is the requested one. An error before
 * the first chunk rejects. `end` is called when the stream is over, also when it is cancelled.
 */
function treeStream(branches: AsyncIterable<TreeBranch>, wanted?: string, end?: () => void) {
  return streamOf(treeChunks(branches, wanted, end));
}

async function* treeChunks(
  branches: AsyncIterable<TreeBranch>,
  wanted: string | undefined,
  end: (() => void) | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    let lead = '{';
    for await (const { user, pages } of branches) {
      const head = `${lead}${JSON.stringify(user)}:[`;
      let before = head;
      for await (const texts of pages) {
        if (texts.length > 0) {
          yield Buffer.concat(texts.flatMap((text, i) => [i === 0 ? encoder.encode(before) : COMMA, text]));
          before = ',';
        }
      }
      if (before === ',' || user === wanted) {
        yield encoder.encode(before === ',' ? ']' : `${head}]`);
        lead = ',';
      }
    }
    yield encoder.encode(lead === '{' ? '{}' : '}');
  } finally {
    end?.();
  }
}
