import { createHash } from 'node:crypto';
import type { BatchHead, ItemFailure, StoreItemsParams } from '../../../workers/jobs/vault/jobs.ts';
import { mapAhead } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { ServiceSettings } from '../../core/settings.ts';
import type { Crypto, WarmBlob } from '../../crypto/client.ts';
import { type Done, done, type KeyOpener, type KeyRef, namedInBody, type Retry } from '../../key/opener.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { type AccountContext, rejectAbandoned } from '../../request/context.ts';
import type { Idempotency, Repeatable } from '../../request/idempotency.ts';
import { requireKey } from '../../request/permission.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import { stringAt } from '../list/page.ts';
import type { TokenInfo } from '../schema.ts';
import type { ItemWriter } from '../writer.ts';
import { BATCH_ITEMS_MAX, type BatchError, type StoreBatchReply } from './schema.ts';
import type { BatchWriter, SealedWrite } from './write-batch.ts';

/** Items that go to a thread as one job. */
const PIECE_ITEMS = { alone: 256, shared: 64 } as const;
/** Byte strings of each sealed item in the output of the job `storeItems`. */
const STORED_STRINGS = 7;
/**
 * Pieces that are sealed at once: all of a batch. With fewer, several batches advance in step, and the threads wait while
 * all of them write: 18,000 cards a second rather than 22,000 over four connections.
 */
const PIECES_AHEAD = 4;
/** Characters of the place of an item in a seed. */
const PLACE_LENGTH = 4;

/** Options of items that are stored under one key. */
export interface StoreManyInput extends BatchHead {
  readonly passphrase: SecretBytes;
  readonly imported?: StoreItemsParams['imported'];
}

/** The result of one item. */
export type StoredOrNot = TokenInfo | BatchError;

/** One attempt to store a batch. */
interface Attempt {
  readonly ctx: AccountContext;
  readonly key: KeyRef;
  readonly blob: WarmBlob;
  readonly input: StoreManyInput;
  /** The JSON text of each item, as in a batch. */
  readonly items: readonly Uint8Array[];
  /** The seeds of a request that may be repeated, by the place of the item. */
  readonly seedOf: ((index: number) => string) | undefined;
  /** By the place of the item in the batch; undefined for items still to be stored. */
  readonly results: (StoredOrNot | undefined)[];
}

/** Stores batches, of requests and of imports, each item with its own outcome. */
export class StoreBatches {
  constructor(
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly idempotency: Idempotency,
    private readonly keys: KeyOpener,
    private readonly writer: ItemWriter,
    private readonly batchWriter: BatchWriter,
    private readonly settings: ServiceSettings,
  ) {}

  /** Stores a batch as it is sent: its key and its items are in the body. */
  async storeBatch(
    ctx: AccountContext,
    { body, passphrase }: { readonly body: Uint8Array; readonly passphrase: SecretBytes },
  ): Promise<Repeatable<StoreBatchReply>> {
    const { aid } = ctx.account;
    const params = { refuseUnknown: this.settings.refuseUnknown, itemsMax: BATCH_ITEMS_MAX };
    const { head, items } = await this.crypto.splitBatch({ aid, params, body });
    requireKey(ctx.account, head.user);
    const act = async (seed?: string): Promise<StoreBatchReply> => ({
      results: await this.storeMany(ctx, { ...head, passphrase }, items, seed),
    });
    const { idempotencyKey } = ctx;
    if (idempotencyKey === undefined) {
      return { reply: await act(), replayed: false };
    }
    const { key } = await namedInBody(this.keys.prove(ctx, head.user, passphrase), head.field);
    const request = { key: idempotencyKey, route: 'POST /v1/vault/batch', parts: [key.kid, body] };
    return this.idempotency.run(ctx, request, act);
  }

  /**
   * Stores items, each as a single request would; a rejected one does not stop the others. Returns the results in the order
   * of the items. Rejects with `passphrase_wrong` and `key_not_found`. Stored items are counted even if others fail. Items are
   * not stored again under the same seed.
   */
  async storeMany(
    ctx: AccountContext,
    input: StoreManyInput,
    items: readonly Uint8Array[],
    seed?: string,
  ): Promise<StoredOrNot[]> {
    const seedOf = seed === undefined ? undefined : seedsOf(seed);
    const results: (StoredOrNot | undefined)[] = items.map(() => undefined);
    await namedInBody(
      this.keys.withUnlocked<undefined>(ctx, input.user, input.passphrase, (key, blob) =>
        this.storeLeft({ ctx, key, blob, input, items, seedOf, results }),
      ),
      input.field,
    );
    return results.map((result) => result ?? failedItem({ failed: 'internal' }));
  }

  /** Returns the errors of `storeMany` by their places, except for tokens that are taken; stores nothing. */
  async checkMany(
    ctx: AccountContext,
    input: StoreManyInput,
    items: readonly Uint8Array[],
  ): Promise<readonly (BatchError | undefined)[]> {
    const { user, passphrase } = input;
    const results: (BatchError | undefined)[] = items.map(() => undefined);
    await this.keys.withUnlocked<unknown>(ctx, user, passphrase, (key, blob) =>
      this.sealPiece({ ctx, key, blob, input, items, seedOf: undefined, results }, [...items.keys()]),
    );
    return results;
  }

  /**
   * Stores the items that have no result yet. All are sealed before they are written: Redis syncs once for each script, and
   * the more items of a bucket one has, the fewer there are.
   */
  private async storeLeft(attempt: Attempt): Promise<Done<undefined> | Retry> {
    const pieces = mapAhead(this.piecesOf(attempt), PIECES_AHEAD, (indexes) =>
      this.sealPiece(attempt, indexes),
    );
    const sealed: SealedWrite[] = [];
    for await (const piece of pieces) {
      if (piece.kind !== 'done') {
        return piece;
      }
      sealed.push(...piece.value);
    }
    rejectAbandoned(attempt.ctx);
    const { ctx, key, results } = attempt;
    return this.batchWriter.write(
      {
        ...{ ctx, key, operation: 'store' },
        settle: (index, outcome) => {
          results[index] = 'failed' in outcome ? failedItem(outcome) : outcome;
        },
        reseal: (index, candidate) => this.sealPiece(attempt, [index], candidate),
      },
      sealed,
    );
  }

  private *piecesOf({ key, results }: Attempt): Generator<readonly number[]> {
    const left = [...results.keys()].filter((index) => results[index] === undefined);
    for (let at = 0; at < left.length; ) {
      const size = this.limiter.isAlone(key.aid) ? PIECE_ITEMS.alone : PIECE_ITEMS.shared;
      yield left.slice(at, at + size);
      at += size;
    }
  }

  /** Seals the items at these places of a batch; rejected ones get their results. */
  private async sealPiece(
    attempt: Attempt,
    indexes: readonly number[],
    candidate = 0,
  ): Promise<Done<readonly SealedWrite[]> | Retry> {
    const { ctx, key, blob, input, results, seedOf } = attempt;
    const { passphrase, imported } = input;
    const { preferences } = ctx.account;
    const params = {
      ...this.writer.settingsOf(ctx, key),
      candidate,
      algorithm: preferences.default_algorithm,
      wantsCard: input.return_card_metadata ?? preferences.return_card_metadata,
      wantsFingerprint: input.return_fingerprint === true,
      refuseUnknown: this.settings.refuseUnknown,
      bytesMax: BODY_BYTES.item,
      places: indexes,
      imported,
      seeds: seedOf && indexes.map(seedOf),
    };
    const items = indexes.map((index) => attempt.items[index] ?? new Uint8Array(0));
    const made = await this.crypto.storeItems({ params, blob, passphrase, items });
    if (made.kind === 'warm_miss') {
      return made;
    }
    const sealed: SealedWrite[] = [];
    for (const [i, facts] of made.facts.entries()) {
      const index = indexes[i] ?? 0;
      if ('failed' in facts) {
        results[index] = failedItem(facts);
        continue;
      }
      const first = STORED_STRINGS * i;
      const write = {
        ...facts,
        item: stringAt(made.parts, first),
        meta: stringAt(made.parts, first + 1),
        sad: stringAt(made.parts, first + 2),
        refMember: stringAt(made.parts, first + 3),
        logEntry: stringAt(made.parts, first + 4),
        identity: stringAt(made.parts, first + 5),
        digests: stringAt(made.parts, first + 6),
        seed: params.seeds?.[i],
        hasSummaries: key.summary,
      };
      sealed.push({ index, write });
    }
    return done(sealed);
  }
}

/** Returns the seed of each item of a batch, as long as that of a single request. */
function seedsOf(seed: string): (index: number) => string {
  const hash = createHash('sha256').update(`batch ${seed}`).digest('base64url');
  const whole = hash.slice(0, seed.length - PLACE_LENGTH);
  return (index) => whole + index.toString(36).padStart(PLACE_LENGTH, '0');
}

/** Returns the error of one item, as that of a single request. */
export function errorOf(error: Error): BatchError {
  const { message, code, field } = error instanceof VaultError ? error : new VaultError('internal');
  return { error: message, code, ...(field === undefined ? {} : { field }) };
}

/** Returns the error of one item that was not sealed or written. */
function failedItem({ failed, field, expected }: ItemFailure): BatchError {
  return errorOf(new VaultError(failed, { field, expected }));
}
