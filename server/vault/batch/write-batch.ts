import type {
  BatchFacts,
  BatchHead,
  ItemFailure,
  StoreItemsParams,
} from '../../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../../core/clock.ts';
import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto, WarmBlob } from '../../crypto/client.ts';
import { type Done, done, type KeyRef, type Retry } from '../../key/opener.ts';
import type { Admission } from '../../limits/admission.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { type AccountContext, actorOf } from '../../request/context.ts';
import type { TokenInfo } from '../schema.ts';
import type { ItemStore, ItemWrite, WriteOutcome } from '../store/items.ts';
import { type ItemWriter, LOGS_MAX } from '../writer.ts';
import type { BatchError } from './schema.ts';

/** Items that one script writes: it blocks others for two milliseconds, or for half of one. */
const WRITE_ITEMS = { alone: 64, shared: 16 } as const;

/** Items that are stored under one key. */
export interface StoreManyInput extends BatchHead {
  readonly passphrase: SecretBytes;
  /** The JSON text of each, as in a batch. */
  readonly items: readonly Uint8Array[];
  /** Items are not stored again under the same seed. */
  readonly seed?: string | undefined;
  readonly imported?: StoreItemsParams['imported'];
}

/** The result of one item. */
export type StoredOrNot = TokenInfo | BatchError;

/** One attempt to store a batch. */
export interface Attempt {
  readonly ctx: AccountContext;
  readonly key: KeyRef;
  readonly blob: WarmBlob;
  readonly input: StoreManyInput;
  /** The seeds of a request that may be repeated, by the place of the item. */
  readonly seedOf: ((index: number) => string) | undefined;
  /** By the place of the item in the batch; undefined for items still to be stored. */
  readonly results: (StoredOrNot | undefined)[];
}

/** A sealed item that is to be written, with its place in the batch. */
export interface Sealed {
  readonly index: number;
  readonly facts: BatchFacts;
  readonly write: ItemWrite;
}

/** The step after one write: none, a write after the existing log, or another candidate. */
type Next =
  | { readonly kind: 'done' }
  | { readonly kind: 'again' | 'clash'; readonly sealed: Sealed }
  | { readonly kind: 'retry'; readonly retry: Retry };
const DONE: Next = { kind: 'done' };

/** Writes the sealed items of a batch, each with its own outcome. */
export class BatchWriter {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly admission: Admission,
    private readonly writer: ItemWriter,
    private readonly now: Clock,
  ) {}

  /** Writes sealed items until each has its result; returns those whose token belongs to another number. */
  async writeAll(attempt: Attempt, sealed: readonly Sealed[]): Promise<Done<readonly Sealed[]> | Retry> {
    const { aid } = attempt.key;
    const clashes: Sealed[] = [];
    let left = sealed;
    // Counts consecutive tries without a further result: a batch may have many items of one token.
    for (let tries = 0; left.length > 0; ) {
      if (tries > LOGS_MAX) {
        throw new VaultError('overloaded');
      }
      const { groups, later } = this.byBucket(attempt.key, left);
      const next = await Promise.all(
        groups.map(async ([bucket, group]) => {
          const writes = group.map(({ write }) => write);
          const outcomes = await this.admission.piece(aid, () => this.store.writeMany(bucket, writes));
          return Promise.all(
            group.map((item, i) => this.settleItem(attempt, item, outcomes[i] ?? { kind: 'damaged' })),
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

  /** Groups items by bucket, one of each token; further items of a token come `later`. */
  private byBucket(
    { kid, aid }: KeyRef,
    sealed: readonly Sealed[],
  ): {
    readonly groups: readonly (readonly [Bucket, readonly Sealed[]])[];
    readonly later: readonly Sealed[];
  } {
    const most = this.admission.isAlone(aid) ? WRITE_ITEMS.alone : WRITE_ITEMS.shared;
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
  private settleItem(attempt: Attempt, sealed: Sealed, outcome: WriteOutcome): Next | Promise<Next> {
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
        const info = this.writer.tokenInfo(facts, key.user, outcome);
        return info instanceof Promise ? info.then(settle) : settle(info);
      }
      case 'damaged':
        return fails('integrity_failed');
      case 'exists':
        // An expired token is taken too: it belongs to its number, and its log is kept.
        return facts.isKept ? fails('token_exists', taken) : this.logAgain(attempt, sealed, outcome);
      case 'clash':
        return facts.isKept ? fails('token_exists', taken) : { kind: 'clash', sealed };
      case 'closed':
      case 'stale':
        return { kind: 'retry', retry: outcome };
      default:
        throw new VaultError('internal');
    }
  }

  /** Seals the entry of an item after its existing log. */
  private async logAgain(
    { ctx, key }: Attempt,
    sealed: Sealed,
    { logLength: seen, logTail: tail }: Extract<WriteOutcome, { readonly kind: 'exists' }>,
  ): Promise<Next> {
    const { write } = sealed;
    const entry = {
      ...actorOf(ctx, this.now()),
      ...{ aid: key.aid, kid: key.kid, token: write.token, seen },
      action: 'encrypt',
      outcome: 'ok',
    } as const;
    const logEntry = await this.crypto.sealLog({ params: entry, tail });
    return { kind: 'again', sealed: { ...sealed, write: { ...write, logEntry } } };
  }
}

/** Returns the error of one item, as that of a single request. */
export function errorOf(error: Error): BatchError {
  const { message, code, field } = error instanceof VaultError ? error : new VaultError('internal');
  return { error: message, code, ...(field === undefined ? {} : { field }) };
}

/** Returns the error of one item that was not sealed or written. */
export function failedItem({ failed, field, expected }: ItemFailure): BatchError {
  return errorOf(new VaultError(failed, { field, expected }));
}
