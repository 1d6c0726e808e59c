import type { AuditStore, StoredMarks } from '../audit/store.ts';
import { failureFields } from '../core/error-cause.ts';
import type { Crypto } from '../crypto/client.ts';
import type { NamedAccounts } from '../log-heads/heads.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { itemEventOf, type SinkEvent, securityEventOf } from './event.ts';
import type { OutboxEntry, SinkBucket, SinkStore } from './store.ts';

/** Positions of a delivery: the public methods of the store, which `streamAll` replaces by ones that record nothing. */
export type SinkPositions = Pick<SinkStore, keyof SinkStore>;

/** Delivers events: resolves when the sink has all of them; rejects when it may not, also after the signal is aborted. */
type Deliver = (events: readonly SinkEvent[], signal: AbortSignal) => Promise<void>;

/** Events to deliver at once, and the positions to record after the delivery. */
interface Batch {
  events: SinkEvent[];
  notes: (() => Promise<unknown>)[];
}

/** A security log with its ends as they are stored. */
interface FoundChain {
  readonly aid: string;
  readonly marks: StoredMarks;
  readonly end: string;
}

/** Longer than the delivery of a batch: a server that dies with the lease delays the others by this. */
const LEASE_MS = 60_000;
const BATCH_MAX = 2_048;
const STEP = 256;
const NO_BYTES = Buffer.alloc(0);

/** The sink did not accept a batch, or the lease was lost: the round ends. */
class DeliveryError extends Error {}

/** Delivers all entries of logs to a sink, at least once, each log in its order. One server at a time delivers. */
export class AuditStream {
  private readonly stopping = new AbortController();
  private readonly names = new Map<string, string>();
  /** The head of each security log up to which all is delivered, and the one that the last round has found. */
  private readonly delivered = new Map<string, string>();
  private readonly found = new Map<string, string>();
  /** The number of logs that the last round has left; undefined while another server delivers. */
  private backlog: number | undefined;
  private isOk: boolean | undefined;
  private running: Promise<void> | undefined;
  /** This round has read all names. */
  private hasNames = false;

  constructor(
    private readonly auditStore: AuditStore,
    private readonly sinkStore: SinkPositions,
    private readonly crypto: Crypto,
    private readonly accounts: NamedAccounts,
    private readonly deliver: Deliver,
    private readonly recordEvent: RecordEvent,
    /** A random id of this server. */
    private readonly server: string,
    /** The account whose security log is delivered; undefined for those of all accounts. */
    private readonly only?: string,
  ) {}

  /** Delivers undelivered entries, unless another server does. Never rejects: a later round retries. */
  async round(): Promise<void> {
    this.running ??= this.runRound().finally(() => {
      this.running = undefined;
    });
    await this.running;
  }

  /** The outcome of the last round, and the number of undelivered logs; undefined while another server delivers. */
  figures(): { readonly isOk: boolean | undefined; readonly backlog: number | undefined } {
    return { isOk: this.isOk, backlog: this.backlog };
  }

  /** Ends the round in flight, whose entries may be delivered again, and releases the lease. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.sinkStore.release(this.server).catch(() => undefined);
  }

  private async runRound(): Promise<void> {
    try {
      if (!(await this.holdsLease())) {
        this.isOk = undefined;
        this.backlog = undefined;
        // Another server moves the positions meanwhile.
        this.delivered.clear();
        return;
      }
      const error = await this.deliverAll().then(
        () => undefined,
        (failure: unknown) => failure,
      );
      if (!this.stopping.signal.aborted) {
        this.learn(error);
        this.backlog = await this.countBacklog();
      }
    } catch (error) {
      // Redis does not answer: the backlog stays as it was known.
      this.learn(error);
    }
  }

  private async holdsLease(): Promise<boolean> {
    return !this.stopping.signal.aborted && (await this.sinkStore.claim(this.server, LEASE_MS));
  }

  private async deliverAll(): Promise<void> {
    const batch: Batch = { events: [], notes: [] };
    this.hasNames = false;
    let failed = await this.addChains(batch);
    for (const where of await this.sinkStore.buckets()) {
      await this.addBucket(batch, where).catch((error: unknown) => {
        failed += 1;
        this.giveUpOn(error);
      });
    }
    await this.flush(batch);
    if (failed > 0) {
      throw new Error('some logs could not be read');
    }
  }

  /** Adds the undelivered entries of all security logs; returns the number of those that could not be read. */
  private async addChains(batch: Batch): Promise<number> {
    const positions = await this.sinkStore.positions();
    const chains = this.only === undefined ? await this.auditStore.chains() : [this.only];
    const gone = [...positions.keys()].filter((aid) => !chains.includes(aid));
    await this.sinkStore.forget(gone);
    for (const aid of gone) {
      this.delivered.delete(aid);
      this.found.delete(aid);
    }
    let failed = 0;
    for await (const chain of this.grownChains(chains)) {
      await this.addChain(batch, chain, positions.get(chain.aid) ?? 0).catch((error: unknown) => {
        failed += 1;
        return this.giveUpOn(error);
      });
    }
    return failed;
  }

  /** Yields security logs that have grown since they were delivered. */
  private async *grownChains(aids: readonly string[]): AsyncGenerator<FoundChain, void, void> {
    for (let at = 0; at < aids.length; at += STEP) {
      const slice = aids.slice(at, at + STEP);
      const marks = await Promise.all(slice.map((aid) => this.auditStore.readMarks(aid)));
      for (const [i, aid] of slice.entries()) {
        const ends = marks[i];
        const end = ends?.head?.toString('base64') ?? '';
        this.found.set(aid, end);
        if (ends !== undefined && this.delivered.get(aid) !== end) {
          yield { aid, marks: ends, end };
        }
      }
    }
  }

  /** Adds the entries of a security log after its position. */
  private async addChain(batch: Batch, { aid, marks, end }: FoundChain, position: number): Promise<void> {
    const { head, start } = await this.crypto.describeChain({ aid, ...marks });
    const name = { aid, account: await this.nameOf(aid) };
    for (let from = Math.max(position, start.sequence); from < head.sequence; ) {
      const sequences = Array.from({ length: Math.min(STEP, head.sequence - from) }, (_, i) => from + 1 + i);
      const entries = await this.auditStore.read(aid, sequences);
      if (entries.includes(undefined)) {
        const now = await this.crypto.describeChain({ aid, ...(await this.auditStore.readMarks(aid)) });
        if (now.start.sequence > from) {
          // Retention has removed them meanwhile.
          from = now.start.sequence;
          continue;
        }
      }
      const sealed = entries.map((entry) => entry ?? NO_BYTES);
      const opened = await this.crypto.streamAudit({ aid, first: from + 1, entries: sealed });
      const events = opened.map((entry, i) => securityEventOf(name, sequences[i] ?? 0, entry));
      from += sequences.length;
      const last = from;
      await this.add(batch, events, () => this.sinkStore.advance(aid, last));
    }
    batch.notes.push(async () => this.delivered.set(aid, end));
  }

  private async addBucket(batch: Batch, where: SinkBucket): Promise<void> {
    const { bucket } = where;
    // Entries of removed logs are older than those of a new log of the same token.
    for (;;) {
      const entries: readonly OutboxEntry[] = await this.sinkStore.readOutbox(bucket);
      if (entries.length === 0) {
        break;
      }
      batch.events.push(...(await this.eventsOf(where, entries)));
      batch.notes.push(() => this.sinkStore.advanceOutbox(bucket, entries));
      await this.flush(batch);
    }
    for await (const logs of this.sinkStore.logs(bucket)) {
      await this.addLogs(batch, where, logs);
    }
    batch.notes.push(() => this.sinkStore.clear(where));
  }

  /** Adds the undelivered entries of some logs: one part of each at a time. */
  private async addLogs(
    batch: Batch,
    where: SinkBucket,
    logs: readonly { readonly token: string; readonly from: number }[],
  ): Promise<void> {
    const { bucket } = where;
    for (let open = logs; open.length > 0; ) {
      const read = await Promise.all(
        open.map(({ token, from }) => this.sinkStore.readLog(bucket, token, from, 'recorded')),
      );
      const numbered = read.flatMap(({ token, from, entries }) =>
        entries.map((entry, i) => ({ token, sequence: from + 1 + i, entry })),
      );
      const events = numbered.length === 0 ? [] : await this.eventsOf(where, numbered);
      await this.add(batch, events, () =>
        Promise.all(read.map((part) => this.sinkStore.advanceLog(bucket, part))),
      );
      open = read
        .filter(({ isLast }) => !isLast)
        .map(({ token, from, entries }) => ({ token, from: from + entries.length }));
    }
  }

  private async eventsOf(
    { aid, bucket: { kid } }: SinkBucket,
    entries: readonly {
      readonly token: string;
      readonly sequence: number;
      readonly entry: Buffer | undefined;
    }[],
  ): Promise<readonly SinkEvent[]> {
    const params = { aid, kid, tokens: entries.map(({ token }) => token) };
    const sealed = entries.map(({ entry }) => entry ?? NO_BYTES);
    const opened = await this.crypto.streamLogs({ params, entries: sealed });
    const names = { aid, account: await this.nameOf(aid), kid, key: await this.nameOf(kid) };
    return entries.map(({ token, sequence }, i) =>
      itemEventOf({ ...names, token }, sequence, opened[i] ?? null),
    );
  }

  /** Returns the name of an account or key, or its id if it is deleted. Reads new names once a round, with all records. */
  private async nameOf(id: string): Promise<string> {
    if (!this.names.has(id) && id !== '' && !this.hasNames) {
      this.hasNames = true;
      for await (const { aid, name, kids, users } of this.accounts()) {
        this.names.set(aid, name);
        for (const [i, kid] of kids.entries()) {
          this.names.set(kid, users[i] ?? kid);
        }
      }
    }
    return this.names.get(id) ?? id;
  }

  private async add(batch: Batch, events: readonly SinkEvent[], note: () => Promise<unknown>): Promise<void> {
    batch.events.push(...events);
    batch.notes.push(note);
    if (batch.events.length >= BATCH_MAX) {
      await this.flush(batch);
    }
  }

  private async flush(batch: Batch): Promise<void> {
    const { events, notes } = batch;
    batch.events = [];
    batch.notes = [];
    if (events.length > 0) {
      if (!(await this.holdsLease())) {
        throw new DeliveryError('lease');
      }
      try {
        await this.deliver(events, this.stopping.signal);
      } catch (error) {
        throw new DeliveryError('sink', { cause: error });
      }
    }
    for (const note of notes) {
      await note();
    }
  }

  /** Skips a log that cannot be read, so that it does not hold up others. */
  private giveUpOn(error: unknown): void {
    if (error instanceof DeliveryError) {
      throw error;
    }
    if (this.isOk !== false) {
      this.recordEvent('audit_stream_failed', failureFields(error));
    }
  }

  /** Stores an outcome, and reports a change once. */
  private learn(error: unknown): void {
    const isOk = error === undefined;
    if (isOk && this.isOk === false) {
      this.recordEvent('audit_sink_ok');
    }
    if (!isOk && this.isOk !== false) {
      const { cause = error } = error instanceof Error ? error : {};
      this.recordEvent('audit_sink_failed', { reason: reasonOf(cause) });
    }
    this.isOk = isOk;
  }

  /** Counts undelivered logs: security logs that have grown, item logs, and entries of removed ones. */
  private async countBacklog(): Promise<number> {
    const waiting = (await this.sinkStore.buckets()).map(({ bucket }) => this.sinkStore.waiting(bucket));
    const grown = [...this.found].filter(([aid, end]) => this.delivered.get(aid) !== end);
    return (await Promise.all(waiting)).reduce((sum, count) => sum + count, grown.length);
  }
}

/** Names an error by its system error code, otherwise by its class: a message may contain data. */
function reasonOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : error instanceof Error ? error.name : 'error';
}
