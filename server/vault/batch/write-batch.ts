/** How sealed items of a batch are written, each with its own outcome. */
import type { BatchFacts, ItemFailure, StoreItemsParams } from '../../../workers/jobs/vault/batch-jobs.ts';
import type { Clock } from '../../core/clock.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto, WarmBlob } from '../../crypto/client.ts';
import { type Done, done, type KeyRef, type Retry } from '../../key/opener.ts';
import type { Admission } from '../../limits/admission.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { type AccountContext, actorOf } from '../../request/context.ts';
import type { TokenInfo } from '../schema.ts';
import type { ItemStore } from '../store/items.ts';
import type { ItemWrite, WriteOutcome } from '../store/write.ts';
import { LOGS_MAX, type Storing } from '../writer.ts';
import type { BatchError } from './schema.ts';

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
  /** Of lines of a file, see `StoreItemsParams`. */
  readonly imported?: StoreItemsParams['imported'];
}

/** What became of an item: the parts of a reply. */
export type StoredOrNot = TokenInfo | BatchError;

/** What writing needs. */
export interface WriteParts {
  readonly crypto: Pick<Crypto, 'sealLog'>;
  readonly itemStore: Pick<ItemStore, 'bucketOf' | 'writeMany'>;
  readonly admission: Pick<Admission, 'isAlone' | 'piece'>;
  readonly storing: Pick<Storing, 'tokenInfo'>;
  readonly now: Clock;
}

/** What one attempt to store a batch works with. */
export interface Attempt {
  readonly ctx: AccountContext;
  readonly key: KeyRef;
  readonly blob: WarmBlob;
  readonly input: StoreManyInput;
  /** Of a request that may be repeated, by the place of the item. */
  readonly seedOf: ((index: number) => string) | undefined;
  /** By the place of the item in the batch; what is missing is still to be stored. */
  readonly results: (StoredOrNot | undefined)[];
}

/** A sealed item that is to be written, with its place in the batch. */
export interface Sealed {
  readonly index: number;
  readonly facts: BatchFacts;
  readonly write: ItemWrite;
}

/** The error of one item, as that of a single request. */
export function errorOf(error: Error): BatchError {
  const { message, code, field } = error instanceof VaultError ? error : new VaultError('internal');
  return { error: message, code, ...(field === undefined ? {} : { field }) };
}

/** The error of one item that was not sealed or written. */
export function failedItem({ failed, field, expected }: ItemFailure): BatchError {
  return errorOf(new VaultError(failed, { field, expected }));
}

/** Items that one script writes: what holds others up for two milliseconds, or half of one. */
const WRITE_ITEMS = { alone: 64, shared: 16 } as const;

/** The items by bucket, of each token one: the others come after it. */
function byBucket(
  { itemStore, admission }: WriteParts,
  { kid, aid }: KeyRef,
  sealed: readonly Sealed[],
): { readonly groups: readonly (readonly [Bucket, readonly Sealed[]])[]; readonly later: readonly Sealed[] } {
  const most = admission.isAlone(aid) ? WRITE_ITEMS.alone : WRITE_ITEMS.shared;
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
    const bucket = itemStore.bucketOf(kid, token);
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

/** What follows from the outcome of one write: nothing, a write behind the log that is there, or another candidate. */
type Next =
  | { readonly kind: 'done' }
  | { readonly kind: 'again' | 'clash'; readonly sealed: Sealed }
  | { readonly kind: 'retry'; readonly retry: Retry };
const DONE: Next = { kind: 'done' };

/** Seals the entry of an item behind the log that it has. */
async function logAgain(
  parts: WriteParts,
  { ctx, key }: Attempt,
  sealed: Sealed,
  { logLength: seen, logTail: tail }: Extract<WriteOutcome, { readonly kind: 'exists' }>,
): Promise<Next> {
  const { write } = sealed;
  const entry = {
    ...actorOf(ctx, parts.now()),
    ...{ aid: key.aid, kid: key.kid, token: write.token, seen },
    action: 'encrypt',
    outcome: 'ok',
  } as const;
  const logEntry = await parts.crypto.sealLog({ params: entry, tail });
  return { kind: 'again', sealed: { ...sealed, write: { ...write, logEntry } } };
}

/** Notes the result of a write. Without a promise for most: a batch has many. */
function settleItem(
  parts: WriteParts,
  attempt: Attempt,
  sealed: Sealed,
  outcome: WriteOutcome,
): Next | Promise<Next> {
  const { key, results } = attempt;
  const { index, facts } = sealed;
  const fails = (failed: 'integrity_failed' | 'token_exists', field?: string): Next => {
    results[index] = failedItem({ failed, field });
    return DONE;
  };
  const taken = `body.items[${index}].token`;
  switch (outcome.kind) {
    case 'ok': {
      const settle = (info: TokenInfo): Next => {
        results[index] = info;
        return DONE;
      };
      const info = parts.storing.tokenInfo(facts, key.user, outcome);
      return info instanceof Promise ? info.then(settle) : settle(info);
    }
    case 'damaged':
      return fails('integrity_failed');
    case 'exists':
      // One that has expired is taken too: its token stands for its number, and its log is kept.
      return facts.isKept ? fails('token_exists', taken) : logAgain(parts, attempt, sealed, outcome);
    case 'clash':
      return facts.isKept ? fails('token_exists', taken) : { kind: 'clash', sealed };
    case 'closed':
    case 'stale':
      return { kind: 'retry', retry: outcome };
    default:
      throw new VaultError('internal');
  }
}

/** Writes sealed items until each has its result; gives those whose token belongs to another number. */
export async function writeAll(
  parts: WriteParts,
  attempt: Attempt,
  sealed: readonly Sealed[],
): Promise<Done<readonly Sealed[]> | Retry> {
  const { itemStore, admission } = parts;
  const { aid } = attempt.key;
  const clashes: Sealed[] = [];
  let left = sealed;
  // Tries in a row that brought no item further: of one token a batch may have many.
  for (let tries = 0; left.length > 0; ) {
    if (tries > LOGS_MAX) {
      throw new VaultError('overloaded');
    }
    const { groups, later } = byBucket(parts, attempt.key, left);
    const next = await Promise.all(
      groups.map(async ([bucket, group]) => {
        const outcomes = await admission.piece(aid, () =>
          itemStore.writeMany(
            bucket,
            group.map(({ write }) => write),
          ),
        );
        return Promise.all(
          group.map((item, i) => settleItem(parts, attempt, item, outcomes[i] ?? { kind: 'damaged' })),
        );
      }),
    );
    const again: Sealed[] = [];
    for (const step of next.flat()) {
      if (step.kind === 'again') {
        again.push(step.sealed);
      } else if (step.kind === 'clash') {
        clashes.push(step.sealed);
      } else if (step.kind === 'retry') {
        return step.retry;
      }
    }
    tries = again.length + later.length < left.length ? 0 : tries + 1;
    left = [...again, ...later];
  }
  return done(clashes);
}
