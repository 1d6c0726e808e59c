import { createHash } from 'node:crypto';
import type {
  BatchFacts,
  BatchHead,
  ItemFailure,
  StoreItemsParams,
} from '../../../workers/jobs/vault/jobs.ts';
import { mapAhead } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { ServiceSettings } from '../../core/settings.ts';
import type { Crypto, WarmBlob } from '../../crypto/client.ts';
import { type Done, done, type KeyOpener, type KeyRef, namedInBody, type Retry } from '../../key/opener.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { type AccountContext, rejectAbandoned } from '../../request/context.ts';
import type { Idempotency, Repeatable } from '../../request/idempotency.ts';
import type { Metering } from '../../request/metering.ts';
import { requireKey } from '../../request/permission.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import { stringAt } from '../list/page.ts';
import type { TokenInfo } from '../schema.ts';
import type { ItemStore, ItemWrite, WriteOutcome } from '../store/items.ts';
import { CANDIDATES_MAX, type ItemWriter, LOGS_MAX } from '../writer.ts';
import { BATCH_ITEMS_MAX, type BatchError, type StoreBatchReply } from './schema.ts';

/** Items that go to a thread as one job. */
const PIECE_ITEMS = { alone: 256, shared: 64 } as const;
/** Items that one script writes: it blocks others for two milliseconds, or for half of one. */
const WRITE_ITEMS = { alone: 64, shared: 16 } as const;
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

/** A sealed item that is to be written, with its place in the batch. */
interface Sealed {
  readonly index: number;
  readonly write: ItemWrite & BatchFacts;
}

/** One round of writes: the items that have no result yet, and the reason to repeat the attempt, if there is one. */
interface Round {
  /** Items to write after an existing log. */
  readonly again: Sealed[];
  /** Items whose token belongs to another number. */
  readonly clashes: Sealed[];
  retry?: Retry;
}

/** Stores batches, of requests and of imports, each item with its own outcome. */
export class StoreBatches {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly metering: Metering,
    private readonly idempotency: Idempotency,
    private readonly keys: KeyOpener,
    private readonly writer: ItemWriter,
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
    const sealed: Sealed[] = [];
    for await (const piece of pieces) {
      if (piece.kind !== 'done') {
        return piece;
      }
      sealed.push(...piece.value);
    }
    rejectAbandoned(attempt.ctx);
    return this.writeSealed(attempt, sealed);
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
  ): Promise<Done<readonly Sealed[]> | Retry> {
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
    const sealed: Sealed[] = [];
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

  /** Writes sealed items until each has its result; one whose token belongs to another number is sealed with another token. */
  private async writeSealed(attempt: Attempt, sealed: readonly Sealed[]): Promise<Done<undefined> | Retry> {
    const { aid } = attempt.key;
    let left = sealed;
    // Counts consecutive tries without a further result or token: a batch may have many items of one token.
    for (let tries = 0; left.length > 0; ) {
      if (tries > LOGS_MAX) {
        throw new VaultError('overloaded');
      }
      const { groups, later } = this.byBucket(attempt.key, left);
      const round: Round = { again: [], clashes: [] };
      const writeGroup = async ([bucket, group]: readonly [Bucket, readonly Sealed[]]): Promise<void> => {
        const writes = group.map(({ write }) => write);
        const count = this.metering.fieldOf('store');
        const outcomes = await this.limiter.run('piece', aid, () =>
          this.store.writeMany(bucket, writes, count),
        );
        const stored = outcomes.filter((outcome) => outcome.kind === 'ok' && !outcome.isRepeat).length;
        this.metering.counted('store', stored);
        await Promise.all(
          group.map((item, i) => this.settle(attempt, item, outcomes[i] ?? { kind: 'damaged' }, round)),
        );
      };
      await Promise.all(groups.map(writeGroup));
      const { again, clashes, retry } = round;
      if (retry) {
        return retry;
      }
      tries = again.length + later.length < left.length ? 0 : tries + 1;
      for (const { index, write } of clashes) {
        if (write.candidate > CANDIDATES_MAX) {
          throw new VaultError('internal');
        }
        const next = await this.sealPiece(attempt, [index], write.candidate + 1);
        if (next.kind !== 'done') {
          return next;
        }
        again.push(...next.value);
      }
      left = [...again, ...later];
    }
    return done(undefined);
  }

  /** Groups items by bucket, one of each token; further items of a token come `later`. */
  private byBucket({ kid, aid }: KeyRef, sealed: readonly Sealed[]) {
    const most = this.limiter.isAlone(aid) ? WRITE_ITEMS.alone : WRITE_ITEMS.shared;
    const groups: [Bucket, Sealed[]][] = [];
    const open = new Map<number, Sealed[]>();
    const tokens = new Set<string>();
    const later: Sealed[] = [];
    for (const item of sealed) {
      const { token } = item.write;
      if (tokens.has(token)) {
        later.push(item);
        continue;
      }
      tokens.add(token);
      const bucket = this.store.bucketOf(kid, token);
      let group = open.get(bucket.number);
      if (group === undefined || group.length === most) {
        group = [];
        open.set(bucket.number, group);
        groups.push([bucket, group]);
      }
      group.push(item);
    }
    return { groups, later };
  }

  /** Notes the result of a write. Without a promise for most items: a batch has many. */
  private settle(
    { ctx, key, results }: Attempt,
    sealed: Sealed,
    outcome: WriteOutcome,
    round: Round,
  ): undefined | Promise<void> {
    const { index, write } = sealed;
    switch (outcome.kind) {
      case 'ok': {
        const info = this.writer.tokenInfo(write, key.user, outcome);
        if (info instanceof Promise) {
          return info.then((shown) => {
            results[index] = shown;
          });
        }
        results[index] = info;
        return undefined;
      }
      case 'damaged':
        results[index] = failedItem({ failed: 'integrity_failed' });
        return undefined;
      case 'exists':
      case 'clash':
        if (write.isKept) {
          // An expired token is taken too: it belongs to its number, and its log is kept.
          results[index] = failedItem({ failed: 'token_exists', field: `body.items[${index}].token` });
          return undefined;
        }
        if (outcome.kind === 'exists') {
          return this.writer
            .sealEntry(this.writer.settingsOf(ctx, key), write.token, outcome)
            .then((logEntry) => void round.again.push({ index, write: { ...write, logEntry } }));
        }
        round.clashes.push(sealed);
        return undefined;
      case 'closed':
      case 'stale':
        round.retry = outcome;
        return undefined;
      default:
        throw new VaultError('internal');
    }
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
