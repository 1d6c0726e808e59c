import type { Crypto } from '../../crypto/client.ts';
import type { AuditStore } from '../../store/audit.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import type { Cursors } from '../common/cursor.ts';
import { createFlood } from './flood.ts';
import { type AuditService, type AuditWalk, createAuditList } from './list.ts';
import { type AuditNote, createAuditQueue } from './queue.ts';

/** The security log, for whoever writes entries, and for whoever looks after it. */
export interface Audit extends AuditService, AuditWalk {
  /**
   * Notes a refusal that is answered without waiting for its entry, which the next flush writes: for where the work of
   * an entry would tell whom it is about. What is noted so dies with the process.
   */
  readonly recordSoon: (note: AuditNote) => void;
  /** Writes what was gathered, and what could not be written before. Never throws: it is tried again. */
  readonly flush: (all?: boolean) => Promise<void>;
  /** Chains that this process has added to since this was last asked. */
  readonly takeMoved: () => readonly string[];
}

interface AuditDependencies {
  readonly crypto: Pick<Crypto, 'describeChain' | 'readAudit' | 'sealAudit'>;
  readonly auditStore: AuditStore;
  readonly cursors: Cursors;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly recordEvent: RecordEvent;
}

/** The security logs of a server; entries that could not be written are reported to `recordEvent`. */
export function createAudit({
  crypto,
  auditStore,
  cursors,
  now,
  randomId,
  recordEvent,
}: AuditDependencies): Audit {
  const onLost = (events: number): void => recordEvent('audit_events_lost', { events });
  const queue = createAuditQueue({ crypto, auditStore, now, randomId, onLost });
  const flood = createFlood(now);

  let soon: { readonly note: AuditNote; readonly timeMs: number }[] = [];

  const write = (
    { aid, object = '', ...told }: AuditNote,
    count = 1,
    timeMs = Math.floor(now()),
  ): Promise<void> => queue.add(aid, { ...told, object, count, timeMs });

  const writeSoon = (): void => {
    const due = soon;
    soon = [];
    for (const { note: told, timeMs } of due) {
      // Nobody waits for it; what cannot be written stays in the queue.
      write(told, 1, timeMs).catch(() => undefined);
    }
  };

  const writeGathered = (all = false): void => {
    for (const gathered of flood.take(all)) {
      // Who caused it was answered long ago; what cannot be written stays in the queue.
      write(gathered.note, gathered.count).catch(() => undefined);
    }
  };

  return {
    record: (told) => (flood.admits(told) ? write(told) : Promise.resolve()),
    ...createAuditList({ crypto, auditStore }, cursors),
    recordSoon(told) {
      if (flood.admits(told)) {
        soon.push({ note: told, timeMs: Math.floor(now()) });
      }
    },
    async flush(all) {
      writeSoon();
      writeGathered(all);
      await queue.flush();
    },
    takeMoved: queue.takeMoved,
  };
}
