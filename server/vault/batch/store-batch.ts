import { createHash } from 'node:crypto';
import type { BatchFacts, ItemFailure, Packed, StoreItemsParams } from '../../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../../core/clock.ts';
import { mapAhead } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { ServiceSettings } from '../../core/settings.ts';
import type { Crypto } from '../../crypto/client.ts';
import { type Done, done, type KeyOpener, namedInBody, type Retry } from '../../key/opener.ts';
import type { Admission } from '../../limits/admission.ts';
import { type AccountContext, actorOf, confirmAccount } from '../../request/context.ts';
import type { Idempotency, Repeatable } from '../../request/idempotency.ts';
import type { Metering } from '../../request/metering.ts';
import { requireKey } from '../../request/permission.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import { stringAt } from '../list/page.ts';
import { CANDIDATES_MAX, type ItemWriter } from '../writer.ts';
import { BATCH_ITEMS_MAX, type BatchError, type StoreBatchReply } from './schema.ts';
import {
  type Attempt,
  type BatchWriter,
  failedItem,
  type Sealed,
  type StoredOrNot,
  type StoreManyInput,
} from './write-batch.ts';

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

/** Stores batches, of requests and of imports. */
export class StoreBatches {
  constructor(
    private readonly crypto: Crypto,
    private readonly admission: Admission,
    private readonly metering: Metering,
    private readonly idempotency: Idempotency,
    private readonly keys: KeyOpener,
    private readonly itemWriter: ItemWriter,
    private readonly batchWriter: BatchWriter,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
  ) {}

  /** Stores a batch as it is sent: its key and its items are in the body. */
  async storeBatch(
    ctx: AccountContext,
    { body, passphrase }: { readonly body: Uint8Array; readonly passphrase: SecretBytes },
  ): Promise<Repeatable<StoreBatchReply>> {
    const { refuseUnknown } = this.settings;
    const { head, items } = await this.crypto.splitBatch({
      aid: ctx.account.aid,
      params: { refuseUnknown, itemsMax: BATCH_ITEMS_MAX },
      body,
    });
    requireKey(ctx.account, head.user);
    const act = async (seed?: string): Promise<StoreBatchReply> => ({
      results: [...(await this.storeMany(ctx, { ...head, passphrase, items, seed }))],
    });
    const { idempotencyKey } = ctx;
    if (idempotencyKey === undefined) {
      return { reply: await act(), replayed: false };
    }
    await confirmAccount(ctx);
    const { key } = await namedInBody(this.keys.prove(ctx, head.user, passphrase));
    return this.idempotency.run(
      ctx,
      { key: idempotencyKey, route: 'POST /v1/vault/batch', parts: [key.kid, body] },
      act,
    );
  }

  /**
   * Stores items, each as a single request would; a rejected one does not stop the others. Returns the results in the order
   * of the items. Rejects with `passphrase_wrong` and `key_not_found`. Stored items are counted even if others fail.
   */
  async storeMany(ctx: AccountContext, input: StoreManyInput): Promise<readonly StoredOrNot[]> {
    const { seed } = input;
    const seedOf = seed === undefined ? undefined : seedsOf(seed);
    const results: (StoredOrNot | undefined)[] = Array.from(input.items, () => undefined);
    try {
      await namedInBody(
        this.keys.withUnlocked<undefined>(ctx, input.user, input.passphrase, (key, blob) =>
          this.storeLeft({ ctx, key, blob, input, seedOf, results }),
        ),
      );
    } finally {
      const stored = results.filter((result) => result !== undefined && 'token' in result).length;
      if (stored > 0) {
        this.metering.count(ctx, 'store', stored);
        await this.metering.settle(ctx);
      }
    }
    return results.map((result) => result ?? failedItem({ failed: 'internal' }));
  }

  /** Returns the errors of `storeMany` by their places, except for tokens that are taken; stores nothing. */
  async checkMany(ctx: AccountContext, input: StoreManyInput): Promise<readonly (BatchError | undefined)[]> {
    const { items, passphrase } = input;
    const checked = await this.keys.withUnlocked(ctx, input.user, passphrase, async (key, blob) => {
      const params = this.paramsOf({ ctx, key, input, seedOf: undefined }, [...items.keys()]);
      const made = await this.crypto.storeItems({ params, blob, passphrase, items });
      return made.kind === 'warm_miss' ? made : done(made.facts);
    });
    return checked.map((fact) => ('failed' in fact ? failedItem(fact) : undefined));
  }

  /**
   * Stores the items that have no result yet. All are sealed before they are written: Redis syncs once for each script, and
   * the more items of a bucket one has, the fewer there are.
   */
  private async storeLeft(attempt: Attempt): Promise<Done<undefined> | Retry> {
    const pieces = mapAhead(this.piecesOf(attempt), PIECES_AHEAD, (indexes) =>
      this.sealPiece(attempt, indexes),
    );
    const sealed: Sealed[] = [];
    for await (const piece of pieces) {
      if (piece.kind !== 'done') {
        return piece;
      }
      sealed.push(...piece.value);
    }
    await confirmAccount(attempt.ctx);
    return this.writeSealed(attempt, sealed);
  }

  private *piecesOf({ key, results }: Attempt): Generator<readonly number[]> {
    const left = [...results.keys()].filter((index) => results[index] === undefined);
    for (let at = 0; at < left.length; ) {
      const size = this.admission.isAlone(key.aid) ? PIECE_ITEMS.alone : PIECE_ITEMS.shared;
      yield left.slice(at, at + size);
      at += size;
    }
  }

  /** Seals the items at these places of a batch; rejected ones get their results. */
  private async sealPiece(
    attempt: Attempt,
    indexes: readonly number[],
    candidate = 0,
  ): Promise<Done<readonly Sealed[]> | Retry> {
    const { blob, input } = attempt;
    const params = { ...this.paramsOf(attempt, indexes), candidate };
    const items = indexes.map((index) => input.items[index] ?? new Uint8Array(0));
    const made = await this.crypto.storeItems({ params, blob, passphrase: input.passphrase, items });
    return made.kind === 'warm_miss' ? made : done(sealedOf(attempt, indexes, made.facts, made.parts));
  }

  /** Writes sealed items, and seals those whose tokens belong to other numbers again, until their tokens are free. */
  private async writeSealed(attempt: Attempt, sealed: readonly Sealed[]): Promise<Done<undefined> | Retry> {
    const written = await this.batchWriter.writeAll(attempt, sealed);
    if (written.kind !== 'done') {
      return written;
    }
    for (const { index, facts } of written.value) {
      if (facts.candidate > CANDIDATES_MAX) {
        throw new VaultError('internal');
      }
      const next = await this.sealPiece(attempt, [index], facts.candidate + 1);
      const again = next.kind === 'done' ? await this.writeSealed(attempt, next.value) : next;
      if (again.kind !== 'done') {
        return again;
      }
    }
    return done(undefined);
  }

  private paramsOf(
    { ctx, key, input, seedOf }: Omit<Attempt, 'blob' | 'results'>,
    indexes: readonly number[],
  ): StoreItemsParams {
    const { preferences } = ctx.account;
    return {
      ...actorOf(ctx, this.now()),
      ...{ aid: key.aid, kid: key.kid, candidate: 0, bytesMax: BODY_BYTES.item },
      algorithm: preferences.default_algorithm,
      rejectTestCards: this.settings.environment === 'production',
      wantsCard: input.return_card_metadata ?? preferences.return_card_metadata,
      wantsFingerprint: input.return_fingerprint === true,
      wantsSummary: key.summary,
      refuseUnknown: this.settings.refuseUnknown,
      sadExpiresAt: this.itemWriter.sadExpiry(),
      places: indexes,
      imported: input.imported,
      seeds: seedOf && indexes.map(seedOf),
    };
  }
}

/** Returns the seed of each item of a batch, as long as that of a single request. */
function seedsOf(seed: string): (index: number) => string {
  const hash = createHash('sha256').update(`batch ${seed}`).digest('base64url');
  const whole = hash.slice(0, seed.length - PLACE_LENGTH);
  return (index) => whole + index.toString(36).padStart(PLACE_LENGTH, '0');
}

/** Returns the sealed items of a piece; rejected ones get their results. */
function sealedOf(
  { results, seedOf }: Attempt,
  indexes: readonly number[],
  facts: readonly (BatchFacts | ItemFailure)[],
  parts: Packed,
): Sealed[] {
  const sealed: Sealed[] = [];
  for (const [i, fact] of facts.entries()) {
    const index = indexes[i] ?? 0;
    if ('failed' in fact) {
      results[index] = failedItem(fact);
      continue;
    }
    const { token, gen, sadExpiresAt, expiresAt } = fact;
    const first = STORED_STRINGS * i;
    const write = {
      token,
      gen,
      sadExpiresAt,
      expiresAt,
      item: stringAt(parts, first),
      meta: stringAt(parts, first + 1),
      sad: stringAt(parts, first + 2),
      refMember: stringAt(parts, first + 3),
      logEntry: stringAt(parts, first + 4),
      identity: stringAt(parts, first + 5),
      digests: stringAt(parts, first + 6),
      seed: seedOf?.(index),
    };
    sealed.push({ index, facts: fact, write });
  }
  return sealed;
}
