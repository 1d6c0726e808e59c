import { streamOf } from '../../core/byte-stream.ts';
import type { Clock } from '../../core/clock.ts';
import { mapAhead } from '../../core/concurrency.ts';
import { type ErrorCode, VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import { type KeyOpener, namedInBody } from '../../key/opener.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { AccountContext } from '../../request/context.ts';
import type { Idempotency, Repeatable } from '../../request/idempotency.ts';
import type { Rules } from '../../rule/rules.ts';
import { RULED_ITEMS_MAX } from '../list/list.ts';
import { type ItemPage, type ItemPages, type PageOpening, textAt } from '../list/page.ts';
import { viewOf } from '../reader.ts';
import type { Rejections } from '../rejections.ts';
import type { ItemRemover } from '../remover.ts';
import type { ItemStore } from '../store/items.ts';
import type { BatchItem, DeleteBatchReply } from './schema.ts';
import { errorOf } from './store-batch.ts';

/** Items of a first piece: two pieces make a large batch, of which one is opened while the other is read or logged. */
const PIECE_ITEMS = 512;
/** A batch of no more items is as short as any request, and is not limited as a listing. */
const SHORT_ITEMS = 64;
/** Rejected items of a piece that are noted in their logs: one batch must not use up the notes of its account. */
const NOTED_MAX = 100;
/** Pieces that are read, opened or logged at once. */
const PIECES_AHEAD = 3;

/** Items of one key, as a batch names them: each well-formed or an error. */
interface BatchInput {
  readonly user: string;
  readonly items: readonly (BatchItem | Error)[];
}

/** Outcomes of items, for the security log: the codes of failed ones, `success` for others. */
type ItemOutcomes = readonly { readonly token: string; readonly outcome: ErrorCode | 'success' }[];

interface DecryptBatchInput extends BatchInput {
  readonly mask_fields?: readonly string[] | undefined;
  readonly rules?: readonly string[] | undefined;
  readonly passphrase: SecretBytes;
  /** Called with rejected items, before their errors are sent. */
  readonly onRejected: (items: ItemOutcomes) => Promise<void>;
}

interface DeleteBatchInput extends BatchInput {
  /** Called with all items, after their deletion and before the reply. */
  readonly onDone: (items: ItemOutcomes) => Promise<void>;
}

/** A decryption of a batch whose key is open. */
interface OpenBatch extends PageOpening {
  readonly input: DecryptBatchInput;
  /** The items that are well-formed. */
  readonly named: readonly BatchItem[];
}

const encoder = new TextEncoder();
const COMMA = encoder.encode(',');

/** Batches that decrypt or delete items. */
export class Batches {
  constructor(
    private readonly store: ItemStore,
    private readonly limiter: Limiter,
    private readonly idempotency: Idempotency,
    private readonly keys: KeyOpener,
    private readonly rules: Rules,
    private readonly rejections: Rejections,
    private readonly remover: ItemRemover,
    private readonly pages: ItemPages,
    private readonly now: Clock,
  ) {}

  /**
   * Decrypts items, each as a single request would. Rejects with `passphrase_wrong`, `key_not_found` and `rule_not_found`
   * before the reply starts; a change of the key after that aborts the stream.
   */
  async decryptBatch(ctx: AccountContext, input: DecryptBatchInput): Promise<ReadableStream<Uint8Array>> {
    const { account } = ctx;
    const { user, mask_fields, passphrase } = input;
    const named = namedOf(input.items);
    try {
      const wanted = { mask_fields, rules: input.rules ?? [], return_card_metadata: false };
      const view = await viewOf(this.rules, account, wanted, 'body.rules');
      const { key, blob } = await namedInBody(this.keys.prove(ctx, user, passphrase));
      const opening = { kind: 'warm', blob, secret: passphrase } as const;
      const end = named.length <= SHORT_ITEMS ? undefined : await this.limiter.hold('open', account.aid);
      const batch = { ctx, key, opening, view, operation: 'decrypt', input, named } as const;
      return await streamOf(this.chunks(batch, end));
    } catch (error) {
      const outcome = error instanceof VaultError ? error.code : 'internal';
      const rejected = named.map(({ token }) => ({ token, outcome }));
      this.noteAll(ctx, rejected, { user }, 'decrypt');
      throw error;
    }
  }

  /**
   * Deletes items with their logs, each as a single request would. Rejects with `key_not_found`. A repeat with the same
   * Idempotency-Key gets the first reply.
   */
  async deleteBatch(ctx: AccountContext, input: DeleteBatchInput): Promise<Repeatable<DeleteBatchReply>> {
    const { idempotencyKey } = ctx;
    if (idempotencyKey === undefined) {
      return { reply: await this.deleteItems(ctx, input), replayed: false };
    }
    const { kid } = await namedInBody(this.keys.find(ctx.account, input.user));
    const items = input.items.map((item) =>
      item instanceof Error ? String(errorOf(item).field) : [item.token, item.reference],
    );
    return this.idempotency.run(
      ctx,
      { key: idempotencyKey, route: 'POST /v1/vault/batch/delete', parts: [kid, JSON.stringify(items)] },
      () => this.deleteItems(ctx, input),
    );
  }

  /** Yields the reply, piece by piece, in the order of the items. */
  private async *chunks(
    batch: OpenBatch,
    end: (() => void) | undefined,
  ): AsyncGenerator<Uint8Array, void, void> {
    const { key, named, view } = batch;
    const { items } = batch.input;
    const picked = named.map(({ token }) => ({
      ...{ token, storedAt: 0 },
      bucket: this.store.bucketOf(key.kid, token).number,
    }));
    const range = { key, after: [], start: [], until: Number.MAX_SAFE_INTEGER, picked };
    const itemsMax = view.rules.length > 0 ? RULED_ITEMS_MAX : PIECE_ITEMS;
    const pages = this.pages.read(range, { part: 'full', itemsFirst: PIECE_ITEMS, itemsMax });
    let next = 0;
    const opened = mapAhead(pages, PIECES_AHEAD, (page) => {
      const from = next;
      next += page.places.length;
      return this.resultsOf(batch, page, from);
    });
    let place = 0;
    let lead = '{"results":[';
    try {
      for await (const results of opened) {
        const texts: Uint8Array[] = [];
        for (const result of results) {
          place = addMalformed(items, place, texts) + 1;
          texts.push(result);
        }
        yield joined(lead, texts);
        lead = ',';
      }
      const rest: Uint8Array[] = [];
      addMalformed(items, place, rest);
      yield joined(rest.length > 0 || lead !== ',' ? lead : '', rest);
      yield encoder.encode(']}');
    } finally {
      end?.();
    }
  }

  /** Opens a piece and returns the results: one text if all items have one. */
  private async resultsOf(batch: OpenBatch, page: ItemPage, from: number): Promise<readonly Uint8Array[]> {
    const { ctx, key, input } = batch;
    const named = batch.named.slice(from, from + page.places.length);
    const references = named.map(({ reference }) => reference ?? null);
    const { texts, failed, isLogged, logged } = await this.pages.open(batch, page, { named: references });
    if (logged === named.length && batch.named.length === input.items.length) {
      return [texts.bytes];
    }
    // An item that was opened and not logged was deleted meanwhile.
    const outcomes: (Uint8Array | ErrorCode)[] = isLogged.map((has, i) =>
      has ? textAt(texts, i) : 'token_not_found',
    );
    for (const { index, code } of failed) {
      outcomes[index] = code;
    }
    const rejected = named.flatMap(({ token }, i) => {
      const outcome = outcomes[i] ?? 'internal';
      return typeof outcome === 'string' ? [{ token, outcome }] : [];
    });
    this.noteAll(ctx, rejected, { kid: key.kid }, 'decrypt');
    await input.onRejected(rejected);
    return outcomes.map((outcome) =>
      typeof outcome === 'string'
        ? encoder.encode(JSON.stringify(errorOf(new VaultError(outcome))))
        : outcome,
    );
  }

  /** Puts rejected attempts into the logs of their items. */
  private noteAll(
    ctx: AccountContext,
    rejected: readonly { readonly token: string; readonly outcome: ErrorCode }[],
    key: { readonly kid: string } | { readonly user: string },
    action: 'decrypt' | 'encrypt',
  ): void {
    for (const { token, outcome } of rejected.slice(0, NOTED_MAX)) {
      this.rejections.record(ctx, { token, ...key }, action, new VaultError(outcome));
    }
  }

  private async deleteItems(
    ctx: AccountContext,
    { user, items, onDone }: DeleteBatchInput,
  ): Promise<DeleteBatchReply> {
    const named = namedOf(items);
    const outcomes = await namedInBody(this.remover.remove(ctx, user, named, this.now()));
    const rejected = named.flatMap(({ token }, i) => {
      const outcome = outcomes[i] ?? 'internal';
      return outcome === 'removed' ? [] : [{ token, outcome }];
    });
    this.noteAll(ctx, rejected, { user }, 'encrypt');
    await onDone(
      named.map(({ token }, i) => {
        const outcome = outcomes[i] ?? 'internal';
        return { token, outcome: outcome === 'removed' ? 'success' : outcome };
      }),
    );
    let at = 0;
    const results = items.map((item) => {
      if (item instanceof Error) {
        return errorOf(item);
      }
      const outcome = outcomes[at++] ?? 'internal';
      return outcome === 'removed'
        ? { token: item.token, deleted: true as const }
        : errorOf(new VaultError(outcome));
    });
    return { results };
  }
}

function namedOf(items: BatchInput['items']): readonly BatchItem[] {
  return items.flatMap((item) => (item instanceof Error ? [] : [item]));
}

/** Adds the errors of malformed items from a place on, up to the next well-formed one; returns its place. */
function addMalformed(items: BatchInput['items'], from: number, texts: Uint8Array[]): number {
  let place = from;
  for (let item = items[place]; item instanceof Error; item = items[place]) {
    texts.push(encoder.encode(JSON.stringify(errorOf(item))));
    place += 1;
  }
  return place;
}

function joined(lead: string, texts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([
    encoder.encode(lead),
    ...texts.flatMap((text, i) => (i === 0 ? [text] : [COMMA, text])),
  ]);
}
