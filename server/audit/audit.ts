import { bindParts } from '../core/bind.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import type { Cursors } from '../core/cursors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { SecurityEvent } from './event.ts';
import { createFlood, type Flood } from './flood.ts';
import { createAuditList } from './listing.ts';
import { type AuditQueue, createAuditQueue } from './queue.ts';
import type { AuditStore } from './store.ts';

interface AuditDependencies {
  readonly crypto: Pick<Crypto, 'describeChain' | 'readAudit' | 'sealAudit'>;
  readonly auditStore: AuditStore;
  readonly cursors: Cursors;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly recordEvent: RecordEvent;
}

interface AuditParts {
  readonly queue: AuditQueue;
  readonly flood: Flood;
  readonly now: Clock;
  /** Events that the next flush writes. */
  soon: { readonly event: SecurityEvent; readonly timeMs: number }[];
  /** Events of `recordSoon` that are not complete yet. */
  readonly incomplete: Set<Promise<void>>;
}

/** The security logs of a server. */
export type Audit = ReturnType<typeof createAudit>;

/** Makes the security logs of a server; entries that could not be written are reported to `recordEvent`. */
export function createAudit(dependencies: AuditDependencies) {
  const { now, recordEvent } = dependencies;
  const onLost = (events: number): void => recordEvent('audit_events_lost', { events });
  const queue = createAuditQueue({ ...dependencies, onLost });
  const parts: AuditParts = { queue, flood: createFlood(now), now, soon: [], incomplete: new Set() };
  return {
    ...bindParts(parts, { record, recordSoon, writeSoon, flush }),
    ...createAuditList(dependencies),
    takeMoved: queue.takeMoved,
  };
}

function write({ queue }: AuditParts, event: SecurityEvent, count: number, timeMs: number): Promise<void> {
  const { aid, object = '', ...rest } = event;
  return queue.add(aid, { ...rest, object, count, timeMs: Math.floor(timeMs) });
}

/**
 * Writes an entry of the security log, and resolves when it is stored. No reply may leave before that: it rejects with
 * `store_unavailable`. Rejections that come in floods are counted, and written as one entry later.
 */
async function record(parts: AuditParts, event: SecurityEvent): Promise<void> {
  if (parts.flood.admits(event)) {
    await write(parts, event, 1, parts.now());
  }
}

function addSoon({ flood, soon }: AuditParts, event: SecurityEvent, timeMs: number): void {
  if (flood.admits(event)) {
    soon.push({ event, timeMs });
  }
}

/**
 * Records a rejection that is answered without waiting for its entry, which the next `writeSoon` writes: for where the work
 * of an entry would reveal whom it is about. A promise of an event never rejects. What is recorded so is lost when the
 * process dies.
 */
function recordSoon(parts: AuditParts, event: SecurityEvent | Promise<SecurityEvent>): void {
  const { incomplete } = parts;
  const timeMs = parts.now();
  if (event instanceof Promise) {
    const added = event.then((complete) => {
      incomplete.delete(added);
      addSoon(parts, complete, timeMs);
    });
    incomplete.add(added);
  } else {
    addSoon(parts, event, timeMs);
  }
}

/** Gives the queue what was recorded to be written soon. */
async function writeSoon(parts: AuditParts): Promise<void> {
  await Promise.all(parts.incomplete);
  const { soon } = parts;
  parts.soon = [];
  for (const { event, timeMs } of soon) {
    // No caller waits for it; what cannot be written stays in the queue.
    write(parts, event, 1, timeMs).catch(() => undefined);
  }
}

/** Writes all that waits, what was counted and what could not be written before. Never rejects: it is retried. */
async function flush(parts: AuditParts, all?: boolean): Promise<void> {
  await writeSoon(parts);
  const { flood, now, queue } = parts;
  for (const { event, count } of flood.take(all)) {
    write(parts, event, count, now()).catch(() => undefined);
  }
  await queue.flush();
}
