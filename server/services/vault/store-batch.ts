import { createHash } from 'node:crypto';
import type { BatchFacts, ItemFailure, StoreItemsParams } from '../../../workers/jobs/batch/jobs.ts';
import type { Packed } from '../../../workers/jobs/item/jobs.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto, WarmBlob } from '../../crypto/client.ts';
import { BATCH_ITEMS_MAX, type BatchError, type StoreBatchReply } from '../../http/schema/batch.ts';
import { STORED_BYTES_MAX, type TokenInfo } from '../../http/schema/vault.ts';
import type { ItemStore } from '../../store/item/item.ts';
import type { ItemWrite, WriteOutcome } from '../../store/item/write.ts';
import type { Bucket } from '../../store/records/name.ts';
import { bindParts } from '../common/bind.ts';
import type { Clock } from '../common/clock.ts';
import { mapAhead } from '../common/coalesce.ts';
import { requireKey } from '../common/permission.ts';
import { type AccountContext, actorOf, confirmAccount } from '../common/request-context.ts';
import type { ServiceSettings } from '../common/settings.ts';
import type { Keys } from '../key/key.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/open.ts';
import type { Admission } from '../request/admission.ts';
import type { IdempotencyService, Repeatable } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import { stringAt } from './packed.ts';
import { CANDIDATES_MAX, LOGS_MAX, type Storing, uuidFromSeed } from './store.ts';

/** Items that are stored under one key. */
export interface StoreManyInput {
  readonly user: string;
  readonly passphrase: SecretBytes;
  /** The JSON text of each, as in a batch. */
  readonly items: readonly Uint8Array[];
  readonly return_fingerprint?: boolean | undefined;
  readonly return_card_metadata?: boolean | undefined;
  /** With the same one the same items are not stored twice. */
  readonly seed?: string | undefined;
}

/** What became of an item: the parts of a reply. */
export type StoredOrNot = TokenInfo | BatchError;

/** Items that go to a thread as one job. */
const PIECE_ITEMS = { alone: 256, shared: 64 } as const;
/** Byte strings of each sealed item, as the job says. */
const STORED_STRINGS = 7;
/** Pieces that are sealed or written at once. */
const PIECES_AHEAD = 3;

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

/** What one attempt to store a batch works with. */
interface Attempt {
  readonly ctx: AccountContext;
  readonly key: KeyRef;
  readonly blob: WarmBlob;
  readonly input: StoreManyInput;
  /** By the place of the item in the batch; what is missing is still to be stored. */
  readonly results: (StoredOrNot | undefined)[];
}

/** A sealed item that is to be written, with its place in the batch. */
interface Sealed {
  readonly index: number;
  readonly facts: BatchFacts;
  readonly write: ItemWrite;
}

/** The error of one item, as that of a single request. */
export function failedItem({ failed, field, expected }: ItemFailure): BatchError {
  const details = {
    ...(field === undefined ? {} : { field }),
    ...(expected === undefined ? {} : { expected }),
  };
  const { message, code } = new VaultError(failed, details);
  return { error: message, code, ...(field === undefined ? {} : { field }) };
}

/** The seed of one item of a batch; as long as that of a single request. */
function seedOf(seed: string, index: number): string {
  return createHash('sha256').update(`batch ${seed} ${index}`).digest('base64url').slice(0, seed.length);
}

function paramsOf(
  parts: BatchParts,
  { ctx, key, input }: Attempt,
  indexes: readonly number[],
): StoreItemsParams {
  const { preferences } = ctx.account;
  const { seed } = input;
  return {
    ...actorOf(ctx, parts.now()),
    ...{ aid: key.aid, kid: key.kid, candidate: 0, bytesMax: STORED_BYTES_MAX },
    algorithm: preferences.default_algorithm,
    rejectTestCards: parts.settings.environment === 'production',
    wantsCard: input.return_card_metadata ?? preferences.return_card_metadata,
    wantsFingerprint: input.return_fingerprint === true,
    wantsSummary: key.summary,
    refuseUnknown: parts.settings.refuseUnknown,
    sadExpiresAt: parts.storing.sadExpiry(),
    places: indexes,
    uuids: seed === undefined ? undefined : indexes.map((index) => uuidFromSeed(seedOf(seed, index))),
  };
}

/** The sealed items of a piece; those that are refused have their results. */
function sealedOf(
  { results, input }: Attempt,
  indexes: readonly number[],
  facts: readonly (BatchFacts | ItemFailure)[],
  parts: Packed,
): Sealed[] {
  const { seed } = input;
  const sealed: Sealed[] = [];
  for (const [i, fact] of facts.entries()) {
    const index = indexes[i] ?? 0;
    if ('failed' in fact) {
      results[index] = failedItem(fact);
      continue;
    }
    const { token, gen, sadExpiresAt, expiresAt } = fact;
    const at = (string: number) => stringAt(parts, STORED_STRINGS * i + string);
    const write = {
      ...{ token, gen, sadExpiresAt, expiresAt },
      ...{
        item: at(0),
        meta: at(1),
        sad: at(2),
        refMember: at(3),
        logEntry: at(4),
        identity: at(5),
        digests: at(6),
      },
      seed: seed === undefined ? undefined : seedOf(seed, index),
    };
    sealed.push({ index, facts: fact, write });
  }
  return sealed;
}
/** The items by bucket, of each token one: the others come after it. */
function byBucket(
  itemStore: BatchParts['itemStore'],
  kid: string,
  sealed: readonly Sealed[],
): { readonly groups: readonly (readonly [Bucket, readonly Sealed[]])[]; readonly later: readonly Sealed[] } {
  const groups = new Map<number, [Bucket, Sealed[]]>();
  const tokens = new Set<string>();
  const later: Sealed[] = [];
  for (const item of sealed) {
    const { token } = item.write;
    if (tokens.has(token)) {
      later.push(item);
      continue;
    }
    tokens.add(token);
    const bucket = itemStore.bucketOf(kid, token);
    const group = groups.get(bucket.number) ?? [bucket, []];
    groups.set(bucket.number, group);
    group[1].push(item);
  }
  return { groups: [...groups.values()], later };
}

/** What follows from the outcome of one write: nothing, a write behind the log that is there, or another candidate. */
type Next =
  | { readonly kind: 'done' | 'clash' }
  | { readonly kind: 'again'; readonly sealed: Sealed }
  | { readonly kind: 'retry'; readonly retry: Retry };

async function settleItem(
  parts: BatchParts,
  { ctx, key, results }: Attempt,
  sealed: Sealed,
  outcome: WriteOutcome,
): Promise<Next> {
  const { index, facts, write } = sealed;
  switch (outcome.kind) {
    case 'ok':
      results[index] = await parts.storing.tokenInfo(facts, key.user, outcome);
      return { kind: 'done' };
    case 'damaged':
      results[index] = failedItem({ failed: 'integrity_failed' });
      return { kind: 'done' };
    case 'exists': {
      const { logLength: seen, logTail: tail } = outcome;
      if (facts.isKept && outcome.isLive) {
        results[index] = failedItem({ failed: 'token_exists', field: `body.items[${index}].token` });
        return { kind: 'done' };
      }
      const entry = {
        ...actorOf(ctx, parts.now()),
        ...{ aid: key.aid, kid: key.kid, token: write.token, seen },
        action: 'encrypt',
        outcome: 'ok',
      } as const;
      const logEntry = await parts.crypto.sealLog({ params: entry, tail });
      return { kind: 'again', sealed: { ...sealed, write: { ...write, logEntry } } };
    }
    case 'clash':
      if (facts.isKept) {
        results[index] = failedItem({ failed: 'token_exists', field: `body.items[${index}].token` });
        return { kind: 'done' };
      }
      return { kind: 'clash' };
    case 'closed':
    case 'stale':
      return { kind: 'retry', retry: outcome };
    default:
      throw new VaultError('internal');
  }
}

/** Writes sealed items until each has its result; gives those whose token belongs to another number. */
async function writeAll(
  parts: BatchParts,
  attempt: Attempt,
  sealed: readonly Sealed[],
): Promise<Done<readonly Sealed[]> | Retry> {
  const { itemStore, admission } = parts;
  const { kid, aid } = attempt.key;
  const clashes: Sealed[] = [];
  let left = sealed;
  for (let tries = 0; left.length > 0; tries++) {
    if (tries > LOGS_MAX) {
      throw new VaultError('overloaded');
    }
    const { groups, later } = byBucket(itemStore, kid, left);
    const next = await Promise.all(
      groups.map(async ([bucket, group]) => {
        const outcomes = await admission.piece(aid, () =>
          itemStore.writeMany(
            bucket,
            group.map(({ write }) => write),
          ),
        );
        return Promise.all(
          group.map(async (item, i) => ({
            item,
            next: await settleItem(parts, attempt, item, outcomes[i] ?? { kind: 'damaged' }),
          })),
        );
      }),
    );
    const again: Sealed[] = [];
    for (const { item, next: step } of next.flat()) {
      if (step.kind === 'again') {
        again.push(step.sealed);
      } else if (step.kind === 'clash') {
        clashes.push(item);
      } else if (step.kind === 'retry') {
        return step.retry;
      }
    }
    left = [...again, ...later];
  }
  return done(clashes);
}

/** Stores the items at these places of a batch. What is stored is counted, whatever becomes of the others. */
async function storePiece(
  parts: BatchParts,
  attempt: Attempt,
  indexes: readonly number[],
  candidate = 0,
): Promise<Done<undefined> | Retry> {
  const { crypto, metering } = parts;
  const { ctx, blob, input, results } = attempt;
  const params = { ...paramsOf(parts, attempt, indexes), candidate };
  const items = indexes.map((index) => input.items[index] ?? new Uint8Array(0));
  const made = await crypto.storeItems({ params, blob, passphrase: input.passphrase, items });
  if (made.kind === 'warm_miss') {
    return made;
  }
  await confirmAccount(ctx);
  const written = await writeAll(parts, attempt, sealedOf(attempt, indexes, made.facts, made.parts));
  const stored = indexes.filter((index) => 'token' in (results[index] ?? {})).length;
  if (stored > 0) {
    metering.count(ctx, 'store', stored);
    await metering.settle(ctx);
  }
  if (written.kind !== 'done') {
    return written;
  }
  for (const { index, facts } of written.value) {
    if (facts.candidate > CANDIDATES_MAX) {
      throw new VaultError('internal');
    }
    const again = await storePiece(parts, attempt, [index], facts.candidate + 1);
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
 * Stores items, each as a single request would; one that is refused does not stop the others. The results stand in the order
 * of the items. Rejects with `passphrase_wrong` and `key_not_found`.
 */
async function storeMany(
  parts: BatchParts,
  ctx: AccountContext,
  input: StoreManyInput,
): Promise<readonly StoredOrNot[]> {
  const results: (StoredOrNot | undefined)[] = Array.from(input.items, () => undefined);
  await parts.keys.withUnlocked<undefined>(ctx, input.user, input.passphrase, async (key, blob) => {
    const attempt: Attempt = { ctx, key, blob, input, results };
    const pieces = mapAhead(piecesOf(parts, attempt), PIECES_AHEAD, (indexes) =>
      storePiece(parts, attempt, indexes),
    );
    for await (const outcome of pieces) {
      if (outcome.kind !== 'done') {
        return outcome;
      }
    }
    return done(undefined);
  });
  return results.map((result) => result ?? failedItem({ failed: 'internal' }));
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
  const { key } = await keys.prove(ctx, head.user, passphrase);
  return idempotency.run(
    ctx,
    { key: idempotencyKey, route: 'POST /v1/vault/batch', parts: [key.kid, body] },
    act,
  );
}

/** Batches of a server. */
export function createStoreBatch(parts: BatchParts) {
  return bindParts(parts, { storeBatch, storeMany });
}
