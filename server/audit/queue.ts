import type { AuditEvent } from '../../workers/jobs/audit/jobs.ts';
import { bindParts } from '../core/bind.ts';
import { createMemory } from '../core/cache.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { isTransient } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AuditStore } from './store.ts';

const BATCH_MAX = 256;
const HEADS_MAX = 10_000;
const HEAD_KEEP_MS = 60_000;
/** Events that wait for a Redis that is not available, for all accounts together. */
const KEPT_MAX = 10_000;
/** A call that failed sooner than this is retried once before its failure is reported. */
const RETRY_WITHIN_MS = 1_000;
const RACES_MAX = 1_000;

interface Waiting {
  readonly event: AuditEvent;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Whether it was reported as failed, and is kept until Redis is available again. */
  isKept: boolean;
}

interface Batch {
  readonly number: number;
  readonly items: readonly Waiting[];
}

/** The events of one chain that are not written yet. */
interface Line {
  waiting: Waiting[];
  /** A batch that may have been written: it is retried under its number, before all others. */
  unsure: Batch | undefined;
  running: Promise<void> | undefined;
}

interface QueueDependencies {
  readonly crypto: Pick<Crypto, 'sealAudit'>;
  readonly auditStore: Pick<AuditStore, 'append' | 'enter' | 'readMarks'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  /** Called with the number of events that will never be written. */
  readonly onLost: (events: number) => void;
}

type Queue = ReturnType<typeof createParts>;

function createParts(dependencies: QueueDependencies) {
  return {
    ...dependencies,
    writer: dependencies.randomId(),
    lines: new Map<string, Line>(),
    heads: createMemory<Uint8Array>(HEADS_MAX, HEAD_KEEP_MS, dependencies.now),
    /** Chains that were added to since the last `takeMoved`. */
    moved: new Set<string>(),
    batches: 0,
    /** Events with `isKept`. */
    kept: 0,
  };
}

/**
 * Events on their way into their chains. Those of one chain that come while an append is in flight go together in the next
 * one. An append names the head that it follows and the number of its batch: a server that lost a race with another one
 * seals the batch anew, and a batch whose reply was lost is never written twice.
 */
export type AuditQueue = ReturnType<typeof createAuditQueue>;

/** Makes the one queue of a server. */
export function createAuditQueue(dependencies: QueueDependencies) {
  return bindParts(createParts(dependencies), { add, flush, takeMoved });
}

async function readHead({ auditStore, heads }: Queue, aid: string): Promise<Uint8Array | undefined> {
  const known = heads.get(aid) ?? (await auditStore.readMarks(aid)).head;
  if (known === undefined) {
    // Before the first entry, so that no chain is ever missing in the list of all.
    await auditStore.enter(aid);
  }
  return known;
}

async function append(queue: Queue, aid: string, { number, items }: Batch): Promise<void> {
  const { crypto, auditStore, writer, heads, moved } = queue;
  const events = items.map(({ event }) => event);
  let seen = await readHead(queue, aid);
  for (let races = 0; races < RACES_MAX; races++) {
    const { mark, head, entries } = await crypto.sealAudit({ aid, head: seen, events });
    const first = mark.sequence - entries.length + 1;
    const result = await auditStore.append(aid, { seen, writer, number, head, first, entries });
    if (result.kind === 'appended') {
      heads.set(aid, new Uint8Array(head));
      moved.add(aid);
      return;
    }
    seen = result.head.length > 0 ? result.head : undefined;
  }
  throw new VaultError('overloaded');
}

async function write(queue: Queue, aid: string, batch: Batch): Promise<void> {
  const startedAt = performance.now();
  try {
    await append(queue, aid, batch);
  } catch (error) {
    queue.heads.delete(aid);
    if (!isTransient(error) || performance.now() - startedAt > RETRY_WITHIN_MS) {
      throw error;
    }
    await append(queue, aid, batch);
  }
}

/** Reports the error to all callers that wait, and returns the items that are kept for later. */
function reject(queue: Queue, items: readonly Waiting[], error: unknown): Waiting[] {
  const stays = items.filter((item) => {
    item.reject(error);
    if (item.isKept && !isTransient(error)) {
      queue.kept -= 1;
      return false;
    }
    if (!item.isKept && isTransient(error) && queue.kept < KEPT_MAX) {
      queue.kept += 1;
      item.isKept = true;
    }
    return item.isKept;
  });
  if (stays.length < items.length) {
    queue.onLost(items.length - stays.length);
  }
  return stays;
}

/** Writes the next batch of a chain; false when that failed. */
async function writeNext(queue: Queue, aid: string, line: Line): Promise<boolean> {
  queue.batches += 1;
  const batch = line.unsure ?? { number: queue.batches, items: line.waiting.splice(0, BATCH_MAX) };
  try {
    await write(queue, aid, batch);
  } catch (error) {
    const items = reject(queue, batch.items, error);
    line.unsure = items.length > 0 ? { ...batch, items } : undefined;
    // Events behind it would wait as long, for the same.
    line.waiting = reject(queue, line.waiting, error);
    return false;
  }
  line.unsure = undefined;
  for (const item of batch.items) {
    queue.kept -= item.isKept ? 1 : 0;
    item.resolve();
  }
  return true;
}

function isEmpty(line: Line): boolean {
  return !line.unsure && line.waiting.length === 0;
}

async function run(queue: Queue, aid: string, line: Line): Promise<void> {
  while (!isEmpty(line) && (await writeNext(queue, aid, line))) {
    // The next batch.
  }
  line.running = undefined;
  if (isEmpty(line)) {
    queue.lines.delete(aid);
  }
}

/** Resolves when the event is in its chain. When it rejects, the event stays and is written with the next one. */
function add(queue: Queue, aid: string, event: AuditEvent): Promise<void> {
  return new Promise((resolve, reject) => {
    const line = queue.lines.get(aid) ?? { waiting: [], unsure: undefined, running: undefined };
    queue.lines.set(aid, line);
    line.waiting.push({ event, resolve, reject, isKept: false });
    line.running ??= run(queue, aid, line);
  });
}

/** Waits for what is in flight, and retries what could not be written. */
async function flush(queue: Queue): Promise<void> {
  await Promise.all([...queue.lines].map(([aid, line]) => (line.running ??= run(queue, aid, line))));
}

/** Chains that this process has added to since the last call. */
function takeMoved(queue: Queue): readonly string[] {
  const taken = [...queue.moved];
  queue.moved.clear();
  return taken;
}
