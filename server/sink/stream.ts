import type { AuditStore } from '../audit/store.ts';
import { bindParts } from '../core/bind.ts';
import type { RandomId } from '../core/clock.ts';
import { failureFields } from '../core/failure.ts';
import type { Crypto } from '../crypto/client.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { itemEventOf, type SinkEvent, securityEventOf } from './event.ts';
import type { OutboxEntry, SinkBucket, SinkStore, UndeliveredPart } from './store.ts';

/** What the delivery works with. */
export interface StreamDependencies {
  readonly crypto: Pick<Crypto, 'describeChain' | 'streamAudit' | 'streamLogs'>;
  readonly auditStore: Pick<AuditStore, 'chains' | 'read' | 'readMarks'>;
  readonly sinkStore: SinkStore;
  /** All accounts with their names, and the ids and names of their vault keys. */
  readonly accounts: () => AsyncIterable<{
    readonly aid: string;
    readonly name: string;
    readonly kids: readonly string[];
    readonly users: readonly string[];
  }>;
  /** Resolves when the sink has taken all events; rejects when it may not have, also once the signal is aborted. */
  readonly deliver: (events: readonly SinkEvent[], signal: AbortSignal) => Promise<void>;
  readonly recordEvent: RecordEvent;
  readonly randomId: RandomId;
}

interface StreamParts extends StreamDependencies {
  readonly server: string;
  readonly stopping: AbortController;
  /** Names of accounts and keys, by their ids. */
  readonly names: Map<string, string>;
  /** Of each security log the head up to which all was delivered, and the one that the last round has found. */
  readonly delivered: Map<string, string>;
  readonly found: Map<string, string>;
  /** What the last round has left; undefined while another server delivers. */
  readonly state: {
    backlog: number | undefined;
    isOk: boolean | undefined;
    running: Promise<void> | undefined;
    /** Whether this round has read all names. */
    hasNames: boolean;
  };
}

/** What is delivered at once, and what is noted behind that. */
interface Batch {
  events: SinkEvent[];
  notes: (() => Promise<unknown>)[];
}

/** Longer than a batch takes: whoever dies with the lease delays the others by this. */
const LEASE_MS = 60_000;
const BATCH_MAX = 2_048;
const STEP = 256;
const NO_BYTES = Buffer.alloc(0);

/** The sink did not take a batch, or the lease was lost: nothing else is delivered in this round. */
class DeliveryError extends Error {}

/**
 * Delivers every entry of security logs and of action logs to a sink, at least once, and each log in its order. One server
 * at a time does so. What was delivered is noted in Redis behind the delivery.
 */
export function createAuditStream(dependencies: StreamDependencies) {
  const parts: StreamParts = {
    ...dependencies,
    server: dependencies.randomId(),
    stopping: new AbortController(),
    names: new Map(),
    delivered: new Map(),
    found: new Map(),
    state: { backlog: undefined, isOk: undefined, running: undefined, hasNames: false },
  };
  return bindParts(parts, { round, figures, stop });
}

async function flush({ sinkStore, deliver, server, stopping }: StreamParts, batch: Batch): Promise<void> {
  const { events, notes } = batch;
  batch.events = [];
  batch.notes = [];
  if (events.length > 0) {
    if (stopping.signal.aborted || !(await sinkStore.claim(server, LEASE_MS))) {
      throw new DeliveryError('lease');
    }
    try {
      await deliver(events, stopping.signal);
    } catch (error) {
      throw new DeliveryError('sink', { cause: error });
    }
  }
  for (const note of notes) {
    await note();
  }
}

async function add(
  parts: StreamParts,
  batch: Batch,
  events: readonly SinkEvent[],
  note: () => Promise<unknown>,
): Promise<void> {
  batch.events.push(...events);
  batch.notes.push(note);
  await (batch.events.length >= BATCH_MAX ? flush(parts, batch) : undefined);
}

/** The name of an account or key; its id for one that is gone. New names are learned once a round: that reads all records. */
async function nameOf({ accounts, names, state }: StreamParts, id: string): Promise<string> {
  if (!names.has(id) && id !== '' && !state.hasNames) {
    state.hasNames = true;
    for await (const { aid, name, kids, users } of accounts()) {
      names.set(aid, name);
      for (const [i, kid] of kids.entries()) {
        names.set(kid, users[i] ?? kid);
      }
    }
  }
  return names.get(id) ?? id;
}

/** A security log with its ends as they are stored. */
interface FoundChain {
  readonly aid: string;
  readonly marks: Awaited<ReturnType<AuditStore['readMarks']>>;
  readonly end: string;
}

/** Security logs that have grown since they were delivered, some at a time. */
async function* grownChains(
  { auditStore, delivered, found }: StreamParts,
  aids: readonly string[],
): AsyncGenerator<FoundChain, void, void> {
  for (let at = 0; at < aids.length; at += STEP) {
    const slice = aids.slice(at, at + STEP);
    const marks = await Promise.all(slice.map((aid) => auditStore.readMarks(aid)));
    for (const [i, aid] of slice.entries()) {
      const ends = marks[i];
      const end = ends?.head?.toString('base64') ?? '';
      found.set(aid, end);
      if (ends !== undefined && delivered.get(aid) !== end) {
        yield { aid, marks: ends, end };
      }
    }
  }
}

/** Adds what a security log has behind its position. */
async function addChain(
  parts: StreamParts,
  batch: Batch,
  { aid, marks, end }: FoundChain,
  position: number,
): Promise<void> {
  const { crypto, auditStore, sinkStore, delivered } = parts;
  const { head, start } = await crypto.describeChain({ aid, ...marks });
  const name = { aid, account: await nameOf(parts, aid) };
  for (let from = Math.max(position, start.sequence); from < head.sequence; ) {
    const sequences = Array.from({ length: Math.min(STEP, head.sequence - from) }, (_, i) => from + 1 + i);
    const entries = await auditStore.read(aid, sequences);
    if (entries.includes(undefined)) {
      const now = await crypto.describeChain({ aid, ...(await auditStore.readMarks(aid)) });
      if (now.start.sequence > from) {
        // Retention has removed them meanwhile.
        from = now.start.sequence;
        continue;
      }
    }
    const sealed = entries.map((entry) => entry ?? NO_BYTES);
    const opened = await crypto.streamAudit({ aid, first: from + 1, entries: sealed });
    const events = opened.map((entry, i) => securityEventOf(name, sequences[i] ?? 0, entry));
    from += sequences.length;
    const last = from;
    await add(parts, batch, events, () => sinkStore.advance(aid, last));
  }
  batch.notes.push(async () => delivered.set(aid, end));
}

/** Adds what all security logs have behind their positions; gives the number of those that could not be read. */
async function addChains(parts: StreamParts, batch: Batch): Promise<number> {
  const { auditStore, sinkStore, delivered, found } = parts;
  const positions = await sinkStore.positions();
  const chains = await auditStore.chains();
  const gone = [...positions.keys()].filter((aid) => !chains.includes(aid));
  await sinkStore.forget(gone);
  for (const aid of gone) {
    delivered.delete(aid);
    found.delete(aid);
  }
  let failed = 0;
  for await (const chain of grownChains(parts, chains)) {
    await addChain(parts, batch, chain, positions.get(chain.aid) ?? 0).catch((error: unknown) => {
      failed += 1;
      return giveUpOn(parts, error);
    });
  }
  return failed;
}

/** A log that cannot be read does not hold up others. */
function giveUpOn({ recordEvent, state }: StreamParts, error: unknown): void {
  if (error instanceof DeliveryError) {
    throw error;
  }
  if (state.isOk !== false) {
    recordEvent('audit_stream_failed', failureFields(error));
  }
}

async function eventsOf(
  parts: StreamParts,
  where: SinkBucket,
  entries: readonly {
    readonly token: string;
    readonly sequence: number;
    readonly entry: Buffer | undefined;
  }[],
): Promise<readonly SinkEvent[]> {
  const { aid, bucket } = where;
  const { kid } = bucket;
  const params = { aid, kid, tokens: entries.map(({ token }) => token) };
  const sealed = entries.map(({ entry }) => entry ?? NO_BYTES);
  const opened = await parts.crypto.streamLogs({ params, entries: sealed });
  const names = { aid, account: await nameOf(parts, aid), kid, key: await nameOf(parts, kid) };
  return entries.map(({ token, sequence }, i) =>
    itemEventOf({ ...names, token }, sequence, opened[i] ?? null),
  );
}

/** Adds what some logs have: a part of each at once, and the next one of those that are longer. */
async function addLogs(
  parts: StreamParts,
  batch: Batch,
  where: SinkBucket,
  logs: readonly Pick<UndeliveredPart, 'token' | 'from'>[],
): Promise<void> {
  const { sinkStore } = parts;
  const { bucket } = where;
  for (let open = logs; open.length > 0; ) {
    const read = await Promise.all(
      open.map(({ token, from }) => sinkStore.readLog(bucket, token, from, 'recorded')),
    );
    const numbered = read.flatMap(({ token, from, entries }) =>
      entries.map((entry, i) => ({ token, sequence: from + 1 + i, entry })),
    );
    const events = numbered.length === 0 ? [] : await eventsOf(parts, where, numbered);
    await add(parts, batch, events, () =>
      Promise.all(read.map((part) => sinkStore.advanceLog(bucket, part))),
    );
    open = read
      .filter(({ isLast }) => !isLast)
      .map(({ token, from, entries }) => ({ token, from: from + entries.length }));
  }
}

async function addBucket(parts: StreamParts, batch: Batch, where: SinkBucket): Promise<void> {
  const { sinkStore } = parts;
  const { bucket } = where;
  // Entries of removed logs are older than those that a new log of the same token has.
  for (;;) {
    const entries: readonly OutboxEntry[] = await sinkStore.readOutbox(bucket);
    if (entries.length === 0) {
      break;
    }
    const events = await eventsOf(parts, where, entries);
    batch.events.push(...events);
    batch.notes.push(() => sinkStore.advanceOutbox(bucket, entries));
    await flush(parts, batch);
  }
  for await (const logs of sinkStore.logs(bucket)) {
    await addLogs(parts, batch, where, logs);
  }
  batch.notes.push(() => sinkStore.clear(where));
}

async function deliverAll(parts: StreamParts): Promise<void> {
  const batch: Batch = { events: [], notes: [] };
  parts.state.hasNames = false;
  let failed = await addChains(parts, batch);
  for (const where of await parts.sinkStore.buckets()) {
    await addBucket(parts, batch, where).catch((error: unknown) => {
      failed += 1;
      giveUpOn(parts, error);
    });
  }
  await flush(parts, batch);
  if (failed > 0) {
    throw new Error('some logs could not be read');
  }
}

/** Logs that wait: security logs that have grown, item logs, and entries of removed ones. */
async function countBacklog({ sinkStore, delivered, found }: StreamParts): Promise<number> {
  const waiting = (await sinkStore.buckets()).map(({ bucket }) => sinkStore.waiting(bucket));
  const grown = [...found].filter(([aid, end]) => delivered.get(aid) !== end);
  return (await Promise.all(waiting)).reduce((sum, count) => sum + count, grown.length);
}

/** Remembers an outcome; a change is recorded once. */
function learn({ state, recordEvent }: StreamParts, error: unknown): void {
  const isOk = error === undefined;
  if (isOk && state.isOk === false) {
    recordEvent('audit_sink_ok');
  }
  if (!isOk && state.isOk !== false) {
    const { cause = error } = error instanceof Error ? error : {};
    recordEvent('audit_sink_failed', { reason: reasonOf(cause) });
  }
  state.isOk = isOk;
}

/** The code of a system error, otherwise its class: a message may contain data. */
function reasonOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : error instanceof Error ? error.name : 'error';
}

async function runRound(parts: StreamParts): Promise<void> {
  const { sinkStore, server, state, stopping, delivered } = parts;
  try {
    if (stopping.signal.aborted || !(await sinkStore.claim(server, LEASE_MS))) {
      state.isOk = undefined;
      state.backlog = undefined;
      // Another server moves the positions meanwhile.
      delivered.clear();
      return;
    }
    const error = await deliverAll(parts).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    if (!stopping.signal.aborted) {
      learn(parts, error);
      state.backlog = await countBacklog(parts);
    }
  } catch (error) {
    // Redis is away: what it does not say is not known.
    learn(parts, error);
  }
}

/** Delivers what there is, unless another server does. Never rejects: what is left is delivered by a later round. */
async function round(parts: StreamParts): Promise<void> {
  const { state } = parts;
  state.running ??= runRound(parts).finally(() => {
    state.running = undefined;
  });
  await state.running;
}

/** Whether the last round has delivered all that there was, and how many logs wait; undefined while another server delivers. */
function figures({ state }: StreamParts): {
  readonly isOk: boolean | undefined;
  readonly backlog: number | undefined;
} {
  return { isOk: state.isOk, backlog: state.backlog };
}

/** Ends the round in flight, which may repeat what it delivers, and leaves the lease to others. */
async function stop({ sinkStore, server, state, stopping }: StreamParts): Promise<void> {
  stopping.abort();
  await state.running;
  await sinkStore.release(server).catch(() => undefined);
}
