import type { BatchFacts, ItemFailure } from '../../../workers/jobs/vault/jobs.ts';
import { VaultError } from '../../core/errors.ts';
import type { MeterOperation } from '../../core/operations.ts';
import { type Done, done, type KeyRef, type Retry } from '../../key/opener.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { AccountContext } from '../../request/context.ts';
import type { Metering } from '../../request/metering.ts';
import type { TokenInfo } from '../schema.ts';
import type { ItemStore, ItemWrite, WriteOutcome } from '../store/items.ts';
import { CANDIDATES_MAX, type ItemWriter, LOGS_MAX } from '../writer.ts';

/** Items that one script writes: it blocks others for two milliseconds, or for half of one. */
const WRITE_ITEMS = { alone: 64, shared: 16 } as const;

/** A sealed item that is to be written, with its place in the request. */
export interface SealedWrite {
  readonly index: number;
  readonly write: ItemWrite &
    Pick<BatchFacts, 'candidate' | 'isKept'> &
    Parameters<ItemWriter['tokenInfo']>[0];
}

/** Sealed items of one request, and what follows of each. */
export interface WriteRequest {
  readonly ctx: AccountContext;
  readonly key: KeyRef;
  readonly operation: MeterOperation;
  /** Called with the outcome of each item, once. */
  readonly settle: (index: number, outcome: TokenInfo | ItemFailure) => void;
  /** Seals an item again, from this candidate for its token on. */
  readonly reseal: (index: number, candidate: number) => Promise<Done<readonly SealedWrite[]> | Retry>;
}

/** One round of writes: the items that have no outcome yet, and the reason to repeat the attempt, if there is one. */
interface Round {
  /** Items to write after an existing log. */
  readonly again: SealedWrite[];
  /** Items whose token belongs to another number. */
  readonly clashes: SealedWrite[];
  retry?: Retry;
}

/** Writes many items of one key, those of a bucket by one script. */
export class BatchWriter {
  constructor(
    private readonly store: ItemStore,
    private readonly limiter: Limiter,
    private readonly metering: Metering,
    private readonly writer: ItemWriter,
  ) {}

  /** Writes sealed items until each has its outcome; one whose token belongs to another number is sealed with another token. */
  async write(request: WriteRequest, sealed: readonly SealedWrite[]): Promise<Done<undefined> | Retry> {
    const { key, operation } = request;
    let left = sealed;
    // Counts consecutive tries without a further outcome or token: a batch may have many items of one token.
    for (let tries = 0; left.length > 0; ) {
      if (tries > LOGS_MAX) {
        throw new VaultError('overloaded');
      }
      const { groups, later } = this.byBucket(key, left);
      const round: Round = { again: [], clashes: [] };
      const writeGroup = async ([bucket, group]: readonly [
        Bucket,
        readonly SealedWrite[],
      ]): Promise<void> => {
        const writes = group.map(({ write }) => write);
        const count = this.metering.fieldOf(operation);
        const outcomes = await this.limiter.run('piece', key.aid, () =>
          this.store.writeMany(bucket, writes, count),
        );
        const stored = outcomes.filter((outcome) => outcome.kind === 'ok' && !outcome.isRepeat).length;
        this.metering.counted(operation, stored);
        await Promise.all(
          group.map((item, i) => this.settle(request, item, outcomes[i] ?? { kind: 'damaged' }, round)),
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
        const next = await request.reseal(index, write.candidate + 1);
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
  private byBucket({ kid, aid }: KeyRef, sealed: readonly SealedWrite[]) {
    const most = this.limiter.isAlone(aid) ? WRITE_ITEMS.alone : WRITE_ITEMS.shared;
    const groups: [Bucket, SealedWrite[]][] = [];
    const open = new Map<number, SealedWrite[]>();
    const tokens = new Set<string>();
    const later: SealedWrite[] = [];
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

  /** Notes the outcome of a write. Without a promise for most items: a batch has many. */
  private settle(
    { ctx, key, settle }: WriteRequest,
    sealed: SealedWrite,
    outcome: WriteOutcome,
    round: Round,
  ): undefined | Promise<void> {
    const { index, write } = sealed;
    switch (outcome.kind) {
      case 'ok': {
        const info = this.writer.tokenInfo(write, key.user, outcome);
        if (info instanceof Promise) {
          return info.then((shown) => settle(index, shown));
        }
        settle(index, info);
        return undefined;
      }
      case 'damaged':
        settle(index, { failed: 'integrity_failed' });
        return undefined;
      case 'exists':
      case 'clash':
        if (write.isKept) {
          // An expired token is taken too: it belongs to its number, and its log is kept.
          settle(index, { failed: 'token_exists', field: `body.items[${index}].token` });
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
