import type { Opening } from '../../../workers/jobs/key/jobs.ts';
import type { ItemFault, Packed, PageFields } from '../../../workers/jobs/vault/jobs.ts';
import { streamOf } from '../../core/byte-stream.ts';
import type { Clock } from '../../core/clock.ts';
import { mapAhead, recover } from '../../core/concurrency.ts';
import { type ErrorCode, VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto } from '../../crypto/client.ts';
import { type KeyOpener, type KeyRef, namedInBody } from '../../key/opener.ts';
import type { Admission } from '../../limits/admission.ts';
import { type AccountContext, actorOf, confirmAccount } from '../../request/context.ts';
import type { Idempotency, Repeatable } from '../../request/idempotency.ts';
import type { Metering } from '../../request/metering.ts';
import type { Rules } from '../../rule/rules.ts';
import { RULED_ITEMS_MAX } from '../list/list.ts';
import { type ItemPage, type ItemPages, textAt } from '../list/page.ts';
import type { Range } from '../list/range.ts';
import { type ReadView, type View, viewOf } from '../reader.ts';
import type { Rejections } from '../rejections.ts';
import type { ItemRemover, RemovedOrNot } from '../remover.ts';
import type { ItemStore } from '../store/items.ts';
import type { BatchItem, DeleteBatchReply } from './schema.ts';
import { errorOf } from './write-batch.ts';

/** Items of a first piece: two pieces make a large batch, of which one is opened while the other is read or logged. */
const PIECE_ITEMS = 512;
/** A batch of no more items is as short as any request, and is not admitted as a listing. */
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

interface DecryptBatchInput extends BatchInput, Pick<View, 'mask_fields'> {
  readonly rules?: readonly string[] | undefined;
  readonly passphrase: SecretBytes;
  /** Called with rejected items, before their errors are sent. */
  readonly onRefused: (items: ItemOutcomes) => Promise<void>;
}

interface DeleteBatchInput extends BatchInput {
  /** Called with all items, after their deletion and before the reply. */
  readonly onDone: (items: ItemOutcomes) => Promise<void>;
}

/** A decryption of a batch whose key is open. */
interface OpenBatch {
  readonly ctx: AccountContext;
  readonly key: KeyRef;
  readonly opening: Opening;
  readonly view: ReadView;
  readonly input: DecryptBatchInput;
  /** The items that are well-formed. */
  readonly named: readonly BatchItem[];
  /** Whether these are all. */
  readonly isWhole: boolean;
}

const encoder = new TextEncoder();
const COMMA = encoder.encode(',');

/** Batches that decrypt or delete items. */
export class Batches {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly admission: Admission,
    private readonly metering: Metering,
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
    const isWhole = named.length === input.items.length;
    await confirmAccount(ctx);
    try {
      const wanted = { mask_fields, rules: input.rules ?? [], return_card_metadata: false };
      const view = await viewOf(this.rules, account, wanted, 'body.rules');
      const { key, blob } = await namedInBody(this.keys.prove(ctx, user, passphrase));
      const opening = { kind: 'warm', blob, secret: passphrase } as const;
      const isShort = named.length <= SHORT_ITEMS;
      const end = isShort ? () => undefined : await this.admission.open(account.aid);
      return await streamOf(this.chunks({ ctx, key, opening, view, input, named, isWhole }, end));
    } catch (error) {
      const outcome = error instanceof VaultError ? error.code : 'internal';
      const refused = named.map(({ token }) => ({ token, outcome }));
      this.noteAll(ctx, refused, { user }, 'decrypt');
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
  private async *chunks(batch: OpenBatch, end: () => void): AsyncGenerator<Uint8Array, void, void> {
    const { items } = batch.input;
    const opened = mapAhead(this.pieces(batch), PIECES_AHEAD, ({ page, from }) =>
      this.resultsOf(batch, page, from),
    );
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
      end();
    }
  }

  private async *pieces({
    key,
    named,
    view,
  }: OpenBatch): AsyncGenerator<{ readonly page: ItemPage; readonly from: number }> {
    const itemsMax = view.rules.length > 0 ? RULED_ITEMS_MAX : PIECE_ITEMS;
    const options = { part: 'full', itemsFirst: PIECE_ITEMS, itemsMax } as const;
    let from = 0;
    for await (const page of this.pages.read(this.rangeOf(key, named), options)) {
      yield { page, from };
      from += page.places.length;
    }
  }

  /** Returns the items as a range of a listing that has picked them. */
  private rangeOf(key: KeyRef, named: readonly BatchItem[]): Range {
    const picked = named.map(({ token }) => ({
      ...{ token, storedAt: 0 },
      bucket: this.store.bucketOf(key.kid, token).number,
    }));
    return { key, after: [], start: [], until: Number.MAX_SAFE_INTEGER, picked };
  }

  /** Opens a piece, logs and counts its opened items, and returns the results: one text if all items have one. */
  private async resultsOf(batch: OpenBatch, page: ItemPage, from: number): Promise<readonly Uint8Array[]> {
    const { ctx, key, input, named } = batch;
    const { texts, logEntries, failed } = await this.openPiece(batch, page, from);
    const present = await this.pages.log(key, page.buckets, logEntries);
    const logged = present.reduce((sum, flags) => sum + flags.filter(Boolean).length, 0);
    if (logged > 0) {
      this.metering.count(ctx, 'decrypt', logged);
      await this.metering.settle(ctx);
    }
    if (logged === page.places.length && batch.isWhole) {
      return [texts.bytes];
    }
    const results = textsOf(page, texts, present, failed);
    const refused = results.flatMap((outcome, i) =>
      typeof outcome === 'string' ? [{ token: named[from + i]?.token ?? '', outcome }] : [],
    );
    this.noteAll(ctx, refused, { kid: key.kid }, 'decrypt');
    await input.onRefused(refused);
    return results.map((result) =>
      typeof result === 'string' ? encoder.encode(JSON.stringify(errorOf(new VaultError(result)))) : result,
    );
  }

  /** Opens the items of a piece. If some seem to be damaged, all are read again, each in one step. */
  private async openPiece({ ctx, key, opening, view, named }: OpenBatch, page: ItemPage, from: number) {
    const { aid, kid } = key;
    const { rules, ...masks } = view;
    const references = named.slice(from, from + page.places.length).map(({ reference }) => reference ?? null);
    const params = { aid, kid, ...actorOf(ctx, this.now()), ...masks, named: references };
    const decrypt = async (fields: PageFields) => {
      const opened = await this.crypto.decryptItems({ params, opening, rules, page: fields });
      if (opened.kind === 'warm_miss') {
        throw new VaultError('key_changed');
      }
      return opened;
    };
    const opened = await recover(decrypt(page.fields), 'integrity_failed', undefined);
    const isWhole = opened?.failed.every(({ code }) => code !== 'integrity_failed') === true;
    return isWhole ? opened : decrypt(await this.pages.readAgain(key, page));
  }

  /** Puts rejected attempts into the logs of their items. */
  private noteAll(
    ctx: AccountContext,
    refused: readonly { readonly token: string; readonly outcome: ErrorCode }[],
    key: { readonly kid: string } | { readonly user: string },
    action: 'decrypt' | 'encrypt',
  ): void {
    for (const { token, outcome } of refused.slice(0, NOTED_MAX)) {
      this.rejections.record(ctx, { token, ...key }, action, new VaultError(outcome));
    }
  }

  private async deleteItems(
    ctx: AccountContext,
    { user, items, onDone }: DeleteBatchInput,
  ): Promise<DeleteBatchReply> {
    const named = namedOf(items);
    const outcomes = await namedInBody(this.remover.remove(ctx, user, named, this.now()));
    const refused = outcomes.flatMap((outcome, i) =>
      outcome === 'removed' ? [] : [{ token: named[i]?.token ?? '', outcome }],
    );
    this.noteAll(ctx, refused, { user }, 'encrypt');
    await onDone(
      named.map(({ token }, i) => {
        const outcome = outcomes[i] ?? 'internal';
        return { token, outcome: outcome === 'removed' ? 'success' : outcome };
      }),
    );
    let at = 0;
    return {
      results: items.map((item) => deletedOrNot(item, item instanceof Error ? undefined : outcomes[at++])),
    };
  }
}

function namedOf(items: BatchInput['items']): readonly BatchItem[] {
  return items.flatMap((item) => (item instanceof Error ? [] : [item]));
}

/** Returns the texts of items that were opened and logged, and the codes of those that `failed` or were deleted meanwhile. */
function textsOf(
  { buckets }: ItemPage,
  texts: Packed,
  present: readonly (readonly boolean[])[],
  failed: readonly ItemFault[],
): (Uint8Array | ErrorCode)[] {
  const results: (Uint8Array | ErrorCode)[] = Array.from(texts.ends, () => 'token_not_found');
  for (const [n, { indexes }] of buckets.entries()) {
    for (const [i, index] of indexes.entries()) {
      if (present[n]?.[i]) {
        results[index] = textAt(texts, index);
      }
    }
  }
  for (const { index, code } of failed) {
    results[index] = code;
  }
  return results;
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

/** Returns the result of one item of a deletion. */
function deletedOrNot(item: BatchItem | Error, outcome: RemovedOrNot | undefined) {
  if (item instanceof Error) {
    return errorOf(item);
  }
  return outcome === 'removed'
    ? { token: item.token, deleted: true as const }
    : errorOf(new VaultError(outcome ?? 'internal'));
}
