import type { Clock } from '../core/clock.ts';
import { pause, recover } from '../core/concurrency.ts';
import { asVaultError, failureFields, isFault } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Bucket } from '../redis/records/name.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { ItemStore } from '../vault/store/items.ts';
import type { HeadsStore, ReadHeads } from './store.ts';
import { parseHeadsCheckpoint } from './verify.ts';

/** All accounts, with their vault keys by id and, in the same order, by name. */
export type NamedAccounts = () => AsyncIterable<{
  readonly aid: string;
  readonly name: string;
  readonly kids: readonly string[];
  readonly users: readonly string[];
}>;

interface OwnedKey {
  readonly aid: string;
  readonly kid: string;
}

/** Attempts while other servers change the same record. */
const RACES_MAX = 20;
/** A round uses at most one part in so many of Redis' time; the next one records the rest. */
const PACE = 4;
/** The longest duration of a round: the checkpoints of the security logs wait for it. */
const ROUND_MS = 20_000;
/** The longest duration of the last round of a stopping server. Another server goes on, or this one at its next start. */
const LAST_ROUND_MS = 5_000;

/**
 * Records the lengths of item logs and signs them, so that a log that was cut since is found. The scripts that append to logs mark
 * them as changed; no request waits for the recording. All servers may do it at once: each change names its predecessor.
 */
export class LogHeads {
  private readonly owners = new Map<string, string>();
  /** Buckets that the next round records, by key. */
  private readonly left = new Map<string, Set<number>>();
  private readonly epochs = new Map<string, number>();
  /** The end of the last round of a stopping server. */
  private lastEndsAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly store: HeadsStore,
    private readonly itemStore: ItemStore,
    private readonly crypto: Crypto,
    private readonly accounts: NamedAccounts,
    /** Called after logs in these buckets of a key were recorded; undefined without a sink. */
    private readonly onRecorded:
      | ((aid: string, kid: string, numbers: readonly number[]) => Promise<void>)
      | undefined,
    private readonly recordEvent: RecordEvent,
    private readonly now: Clock,
  ) {}

  /** Records the logs that this process has extended since the last round. */
  async take(): Promise<void> {
    const endsAt = performance.now() + ROUND_MS;
    for (const { kid, number } of this.itemStore.takeMoved()) {
      this.keepLeft(kid, [number]);
    }
    const round = new Map(this.left);
    this.left.clear();
    const aids = new Set<string>();
    if ([...round.keys()].some((kid) => !this.owners.has(kid))) {
      await this.learnOwners().catch((error: unknown) => this.recordFailure(error));
    }
    for (const [kid, numbers] of round) {
      const aid = this.owners.get(kid);
      if (aid === undefined) {
        continue;
      }
      if (this.isOver(endsAt)) {
        this.keepLeft(kid, numbers);
        continue;
      }
      aids.add(aid);
      await this.coverKey({ aid, kid }, numbers, endsAt).catch((error: unknown) => {
        this.keepLeft(kid, numbers);
        this.recordFailure(error);
      });
    }
    for (const aid of aids) {
      await this.checkpoint(aid).catch((error: unknown) => this.recordFailure(error));
    }
  }

  /** Runs the last round of a stopping server. It is short, and a round in flight ends at the same time. */
  takeLast(): Promise<void> {
    this.lastEndsAt = performance.now() + LAST_ROUND_MS;
    return this.take();
  }

  /** Records the logs of all keys, whichever server has extended them, and forgets deleted keys. */
  async catchUp(): Promise<void> {
    const aids = await this.learnOwners();
    const errors: unknown[] = [];
    const attempt = (work: Promise<void>): Promise<unknown> =>
      work.catch((error: unknown) => errors.push(error));
    for (const [kid, aid] of [...this.owners]) {
      const numbers = this.bucketsOf(kid).map(({ number }) => number);
      await attempt(this.coverKey({ aid, kid }, numbers, Number.POSITIVE_INFINITY));
    }
    for (const aid of aids) {
      await attempt(this.forgetRemoved(aid));
      await attempt(this.checkpoint(aid));
    }
    if (errors.length > 0) {
      throw errors[0];
    }
  }

  /** Reads the accounts of all keys; returns all accounts. */
  private async learnOwners(): Promise<ReadonlySet<string>> {
    const aids = new Set<string>();
    this.owners.clear();
    for await (const { aid, kids } of this.accounts()) {
      aids.add(aid);
      for (const kid of kids) {
        this.owners.set(kid, aid);
      }
    }
    return aids;
  }

  /** Records the changed logs of some buckets of a key, or all logs of a new key. The next round records the rest. */
  private async coverKey(key: OwnedKey, numbers: Iterable<number>, endsAt: number): Promise<void> {
    const { aid, kid } = key;
    const { buckets } = await this.store.readKey(aid, kid);
    const isNew = buckets.length === 0;
    const some = isNew ? this.bucketsOf(kid) : [...numbers].map((number) => ({ kid, number }));
    const recorded: number[] = [];
    for (const bucket of some) {
      if (isNew) {
        await this.store.nameAll(bucket);
      }
      if (await this.foldBucket(key, bucket, endsAt)) {
        recorded.push(bucket.number);
      } else {
        this.keepLeft(kid, [bucket.number]);
      }
    }
    await this.onRecorded?.(aid, kid, recorded);
    await this.coverAccount(key);
  }

  /** Records the changed logs of a bucket, with pauses in which others use Redis. False if the round ended before. */
  private async foldBucket(key: OwnedKey, bucket: Bucket, endsAt: number): Promise<boolean> {
    let startedAt = performance.now();
    for await (const read of this.store.changed(bucket)) {
      if (this.isOver(endsAt)) {
        return false;
      }
      await this.foldSome(key, bucket, read);
      if (read.tokens.length > 0 && this.lastEndsAt === Number.POSITIVE_INFINITY) {
        await pause((PACE - 1) * (performance.now() - startedAt));
      }
      startedAt = performance.now();
    }
    return true;
  }

  /** Records the logs of one reading, and reads them again while another server was first. */
  private async foldSome({ aid, kid }: OwnedKey, bucket: Bucket, first: ReadHeads): Promise<void> {
    let read = first;
    for (let races = 0; races < RACES_MAX && read.tokens.length > 0; races++) {
      const params = { aid, kid, bucket: bucket.number, tokens: read.tokens };
      const { record, facts } = await this.crypto.foldHeads({
        params,
        record: read.record,
        heads: read.heads,
      });
      for (const what of ['cut', 'removed'] as const) {
        const logs = facts.faults.filter((fault) => fault.what === what).length;
        if (logs > 0 && races === 0) {
          this.recordEvent('log_heads_fault', { aid, kid, what, logs });
        }
      }
      if (record.length === 0 || (await this.store.fold(bucket, read, facts.lengths, record))) {
        return;
      }
      read = await this.store.read(bucket, read.tokens);
    }
  }

  /** Updates the record of an account from those of the buckets of a key. */
  private async coverAccount(key: OwnedKey): Promise<void> {
    const { aid, kid } = key;
    for (let races = 0; races < RACES_MAX; races++) {
      const read = await this.readKey(key);
      // Read after the record of the account: they can only be newer.
      const records = await this.recordsOf(kid);
      const isUnrecorded = read.buckets.length === 0 && records.every(({ length }) => length === 0);
      if (read.proof.length > 0 || isUnrecorded) {
        return;
      }
      const { mark, buckets } = read;
      const covered = this.crypto.coverKey({ params: { aid, kid }, mark, buckets, records });
      const next = await recover(covered, 'integrity_failed', undefined);
      if (next === undefined) {
        this.recordOlder(key);
        return;
      }
      if (
        next.mark === undefined ||
        (await this.store.put(aid, read, { mark: next.mark, buckets: next.buckets }))
      ) {
        return;
      }
    }
    throw new VaultError('overloaded');
  }

  /** Removes the keys of an account that the service has deleted, once none of their logs is recorded. */
  private async forgetRemoved(aid: string): Promise<void> {
    for (const { kid, proof } of (await this.store.readAccount(aid)).keys) {
      if (proof.length > 0 && (await this.recordsOf(kid)).every(({ length }) => length === 0)) {
        const read = await this.store.readKey(aid, kid);
        const { mark } = await this.crypto.uncoverKey({ params: { aid, kid }, ...read });
        await this.store.put(aid, read, { mark, buckets: new Uint8Array(0) });
      }
    }
  }

  /** Signs the recorded heads of an account, unless the newest checkpoint has their epoch. */
  private async checkpoint(aid: string): Promise<void> {
    const { mark, epoch, signed: newest } = await this.readKey({ aid, kid: '' });
    if (epoch === newest) {
      return;
    }
    const signed = await this.crypto.signHeads({ params: { aid, timeMs: this.now() }, mark });
    // Announced before it is stored: an announcement may be repeated, but must not be lost.
    this.recordEvent('log_heads_checkpoint', { ...signed });
    await this.store.putCheckpoint(aid, JSON.stringify(signed));
  }

  /**
   * Returns the entry of a key, with the epoch of its account's mark and that of the newest checkpoint. Reports a mark that is
   * older than one that was signed or seen by this process, and rejects with `integrity_failed`.
   */
  private async readKey(key: OwnedKey) {
    const { aid, kid } = key;
    // Read before the mark, which others may replace meanwhile.
    const seen = this.epochs.get(aid) ?? 0;
    const checkpoint = await this.store.readCheckpoint(aid);
    const signed = checkpoint === undefined ? 0 : (parseHeadsCheckpoint(checkpoint)?.epoch ?? 0);
    const read = await this.store.readKey(aid, kid);
    const params = { aid, kids: [] };
    const { epoch } = await this.crypto.readHeadsMark({ params, mark: read.mark, buckets: [] });
    if (epoch < Math.max(seen, signed)) {
      this.recordOlder(key);
      throw new VaultError('integrity_failed');
    }
    this.epochs.set(aid, Math.max(epoch, this.epochs.get(aid) ?? 0));
    return { ...read, epoch, signed };
  }

  private recordsOf(kid: string): Promise<Buffer[]> {
    return Promise.all(this.bucketsOf(kid).map((bucket) => this.store.record(bucket)));
  }

  private bucketsOf(kid: string): Bucket[] {
    return Array.from({ length: this.itemStore.buckets }, (_, number) => ({ kid, number }));
  }

  private keepLeft(kid: string, numbers: Iterable<number>): void {
    this.left.set(kid, new Set([...(this.left.get(kid) ?? []), ...numbers]));
  }

  /** True after the end of a round, a time of `performance.now()`. */
  private isOver(endsAt: number): boolean {
    return performance.now() > Math.min(endsAt, this.lastEndsAt);
  }

  /** Reports that all recorded heads of a key are older than before. */
  private recordOlder(key: OwnedKey): void {
    this.recordEvent('log_heads_fault', { ...key, what: 'older', logs: 0 });
  }

  /** Reports why a part of a round failed. The next round retries it. */
  private recordFailure(error: unknown): void {
    if (isFault(asVaultError(error))) {
      this.recordEvent('audit_checkpoint_failed', failureFields(error));
    }
  }
}
