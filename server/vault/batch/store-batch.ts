import { createHash } from 'node:crypto';
import type { BatchFacts, ItemFailure, StoreItemsParams } from '../../../workers/jobs/vault/batch-jobs.ts';
import type { Packed } from '../../../workers/jobs/vault/jobs.ts';
import { bindParts } from '../../core/bind.ts';
import type { Clock } from '../../core/clock.ts';
import { mapAhead } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { ServiceSettings } from '../../core/settings.ts';
import type { Crypto } from '../../crypto/client.ts';
import { type Keys, namedInBody } from '../../key/keys.ts';
import { type Done, done, type Retry } from '../../key/opener.ts';
import type { Admission } from '../../limits/admission.ts';
import { type AccountContext, actorOf, confirmAccount } from '../../request/context.ts';
import type { IdempotencyService, Repeatable } from '../../request/idempotency.ts';
import type { MeteringService } from '../../request/metering.ts';
import { requireKey } from '../../request/permission.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import { stringAt } from '../list/packed.ts';
import type { ItemStore } from '../store/items.ts';
import { CANDIDATES_MAX, type Storing } from '../writer.ts';
import { BATCH_ITEMS_MAX, type BatchError, type StoreBatchReply } from './schema.ts';
import {
  type Attempt,
  failedItem,
  type Sealed,
  type StoredOrNot,
  type StoreManyInput,
  writeAll,
} from './write-batch.ts';

/** Items that go to a thread as one job. */
const PIECE_ITEMS = { alone: 256, shared: 64 } as const;
/** Byte strings of each sealed item, as the job says. */
const STORED_STRINGS = 7;
/**
 * Pieces that are sealed or written at once: all of a batch. With fewer, several batches advance in step, and the
 * threads wait while all of them write: 18,000 cards a second rather than 22,000 over four connections.
 */
const PIECES_AHEAD = 4;

interface BatchParts {
  readonly crypto: Pick<Crypto, 'sealLog' | 'splitBatch' | 'storeItems'>;
  readonly itemStore: Pick<ItemStore, 'bucketOf' | 'writeMany'>;
  readonly admission: Pick<Admission, 'isAlone' | 'piece'>;
  readonly metering: Pick<MeteringService, 'count' | 'settle'>;
  readonly idempotency: IdempotencyService;
  readonly keys: Pick<Keys, 'prove' | 'withUnlocked'>;
  readonly storing: Pick<Storing, 'sadExpiry' | 'tokenInfo'>;
  readonly settings: Pick<ServiceSettings, 'environment' | 'refuseUnknown'>;
  readonly now: Clock;
}

/** Characters of the place of an item in a seed. */
const PLACE_LENGTH = 4;

/** The seed of each item of a batch; as long as that of a single request. */
function seedsOf(seed: string): (index: number) => string {
  const hash = createHash('sha256').update(`batch ${seed}`).digest('base64url');
  const whole = hash.slice(0, seed.length - PLACE_LENGTH);
  return (index) => whole + index.toString(36).padStart(PLACE_LENGTH, '0');
}

function paramsOf(
  parts: BatchParts,
  { ctx, key, input, seedOf }: Omit<Attempt, 'blob' | 'results'>,
  indexes: readonly number[],
): StoreItemsParams {
  const { preferences } = ctx.account;
  return {
    ...actorOf(ctx, parts.now()),
    ...{ aid: key.aid, kid: key.kid, candidate: 0, bytesMax: BODY_BYTES.item },
    algorithm: preferences.default_algorithm,
    rejectTestCards: parts.settings.environment === 'production',
    wantsCard: input.return_card_metadata ?? preferences.return_card_metadata,
    wantsFingerprint: input.return_fingerprint === true,
    wantsSummary: key.summary,
    refuseUnknown: parts.settings.refuseUnknown,
    sadExpiresAt: parts.storing.sadExpiry(),
    places: indexes,
    imported: input.imported,
    seeds: seedOf && indexes.map(seedOf),
  };
}

/** The sealed items of a piece; those that are refused have their results. */
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

/** Seals the items at these places of a batch; those that are refused have their results. */
async function sealPiece(
  parts: BatchParts,
  attempt: Attempt,
  indexes: readonly number[],
  candidate = 0,
): Promise<Done<readonly Sealed[]> | Retry> {
  const { blob, input } = attempt;
  const params = { ...paramsOf(parts, attempt, indexes), candidate };
  const items = indexes.map((index) => input.items[index] ?? new Uint8Array(0));
  const made = await parts.crypto.storeItems({ params, blob, passphrase: input.passphrase, items });
  return made.kind === 'warm_miss' ? made : done(sealedOf(attempt, indexes, made.facts, made.parts));
}

/** Writes sealed items; those whose tokens belong to other numbers are sealed again, until they find free ones. */
async function writeSealed(
  parts: BatchParts,
  attempt: Attempt,
  sealed: readonly Sealed[],
): Promise<Done<undefined> | Retry> {
  const written = await writeAll(parts, attempt, sealed);
  if (written.kind !== 'done') {
    return written;
  }
  for (const { index, facts } of written.value) {
    if (facts.candidate > CANDIDATES_MAX) {
      throw new VaultError('internal');
    }
    const next = await sealPiece(parts, attempt, [index], facts.candidate + 1);
    const again = next.kind === 'done' ? await writeSealed(parts, attempt, next.value) : next;
    if (again.kind !== 'done') {
      return again;
    }
  }
  return done(undefined);
}

function* piecesOf(parts: BatchParts, { key, results }: Attempt): Generator<readonly number[]> {
  const left = [...results.keys()].filter((index) => results[index] === undefined);
  for (let at = 0; at < left.length; ) {
    const size = parts.admission.isAlone(key.aid) ? PIECE_ITEMS.alone : PIECE_ITEMS.shared;
    yield left.slice(at, at + size);
    at += size;
  }
}

/**
 * Stores what has no result yet. All is sealed before it is written: Redis syncs once for each script, and the more items of
 * a bucket one has, the fewer there are.
 */
async function storeLeft(parts: BatchParts, attempt: Attempt): Promise<Done<undefined> | Retry> {
  const pieces = mapAhead(piecesOf(parts, attempt), PIECES_AHEAD, (indexes) =>
    sealPiece(parts, attempt, indexes),
  );
  const sealed: Sealed[] = [];
  for await (const piece of pieces) {
    if (piece.kind !== 'done') {
      return piece;
    }
    sealed.push(...piece.value);
  }
  await confirmAccount(attempt.ctx);
  return writeSealed(parts, attempt, sealed);
}

/**
 * Stores items, each as a single request would; one that is refused does not stop the others. The results stand in the order
 * of the items. Rejects with `passphrase_wrong` and `key_not_found`. What is stored is counted, whatever becomes of the others.
 */
async function storeMany(
  parts: BatchParts,
  ctx: AccountContext,
  input: StoreManyInput,
): Promise<readonly StoredOrNot[]> {
  const { seed } = input;
  const seedOf = seed === undefined ? undefined : seedsOf(seed);
  const results: (StoredOrNot | undefined)[] = Array.from(input.items, () => undefined);
  try {
    await namedInBody(
      parts.keys.withUnlocked<undefined>(ctx, input.user, input.passphrase, (key, blob) =>
        storeLeft(parts, { ctx, key, blob, input, seedOf, results }),
      ),
    );
  } finally {
    const stored = results.filter((result) => result !== undefined && 'token' in result).length;
    if (stored > 0) {
      parts.metering.count(ctx, 'store', stored);
      await parts.metering.settle(ctx);
    }
  }
  return results.map((result) => result ?? failedItem({ failed: 'internal' }));
}

/** What `storeMany` would refuse of these items, by their places, but for tokens that are taken; nothing is stored. */
async function checkMany(
  parts: BatchParts,
  ctx: AccountContext,
  input: StoreManyInput,
): Promise<readonly (BatchError | undefined)[]> {
  const { items, passphrase } = input;
  const checked = await parts.keys.withUnlocked(ctx, input.user, passphrase, async (key, blob) => {
    const params = paramsOf(parts, { ctx, key, input, seedOf: undefined }, [...items.keys()]);
    const made = await parts.crypto.storeItems({ params, blob, passphrase, items });
    return made.kind === 'warm_miss' ? made : done(made.facts);
  });
  return checked.map((fact) => ('failed' in fact ? failedItem(fact) : undefined));
}

/** A batch as it is sent: its key and its items stand in the body. */
async function storeBatch(
  parts: BatchParts,
  ctx: AccountContext,
  { body, passphrase }: { readonly body: Uint8Array; readonly passphrase: SecretBytes },
): Promise<Repeatable<StoreBatchReply>> {
  const { crypto, idempotency, keys, settings } = parts;
  const { refuseUnknown } = settings;
  const { head, items } = await crypto.splitBatch({
    aid: ctx.account.aid,
    params: { refuseUnknown, itemsMax: BATCH_ITEMS_MAX },
    body,
  });
  requireKey(ctx.account, head.user);
  const act = async (seed?: string): Promise<StoreBatchReply> => ({
    results: [...(await storeMany(parts, ctx, { ...head, passphrase, items, seed }))],
  });
  const { idempotencyKey } = ctx;
  if (idempotencyKey === undefined) {
    return { reply: await act(), replayed: false };
  }
  await confirmAccount(ctx);
  const { key } = await namedInBody(keys.prove(ctx, head.user, passphrase));
  return idempotency.run(
    ctx,
    { key: idempotencyKey, route: 'POST /v1/vault/batch', parts: [key.kid, body] },
    act,
  );
}

/** Batches of a server. */
export function createStoreBatch(parts: BatchParts) {
  return bindParts(parts, { checkMany, storeBatch, storeMany });
}
