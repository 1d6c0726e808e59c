import type { AuditEvent } from '../../workers/jobs/audit/jobs.ts';
import { Memory } from '../core/cache.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { isTransient } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { AuditStore } from './store.ts';

const BATCH_MAX = 256;
const HEADS_MAX = 10_000;
const HEAD_KEEP_MS = 60_000;
/** Events that are kept while Redis is not available, for all accounts together. */
const KEPT_MAX = 10_000;
/** A call that failed sooner than this is retried once before its failure is reported. */
const RETRY_WITHIN_MS = 1_000;
const RACES_MAX = 1_000;

interface Waiting {
  readonly event: AuditEvent;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** True after a failure: it is kept until Redis is available again. */
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

/**
 * Queues events for their chains. Events of one chain that arrive while an append is in flight are appended together. An
 * append names the head that it follows and the number of its batch: a server that lost a race with another one seals the
 * batch anew, and a batch whose reply was lost is never written twice.
 */
export class AuditQueue {
  private readonly writer: string;
  private readonly lines = new Map<string, Line>();
  private readonly heads: Memory<Uint8Array>;
  /** Chains that were added to since the last `takeMoved`. */
  private readonly moved = new Set<string>();
  private batches = 0;
  private kept = 0;

  constructor(
    private readonly store: AuditStore,
    private readonly crypto: Crypto,
    private readonly recordEvent: RecordEvent,
    now: Clock,
    randomId: RandomId,
  ) {
    this.writer = randomId();
    this.heads = new Memory(HEADS_MAX, HEAD_KEEP_MS, now);
  }

  /** Resolves when the event is in its chain. When it rejects, the event stays and is written with the next one. */
  add(aid: string, event: AuditEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.lines.get(aid) ?? { waiting: [], unsure: undefined, running: undefined };
      this.lines.set(aid, line);
      line.waiting.push({ event, resolve, reject, isKept: false });
      line.running ??= this.run(aid, line);
    });
  }

  /** Waits for the events in flight, and retries those that failed. */
  async flush(): Promise<void> {
    await Promise.all([...this.lines].map(([aid, line]) => (line.running ??= this.run(aid, line))));
  }

  /** Returns the chains that this process has added to since the last call. */
  takeMoved(): readonly string[] {
    const taken = [...this.moved];
    this.moved.clear();
    return taken;
  }

  private async run(aid: string, line: Line): Promise<void> {
    while (!isEmpty(line) && (await this.writeNext(aid, line))) {
      // The next batch.
    }
    line.running = undefined;
    if (isEmpty(line)) {
      this.lines.delete(aid);
    }
  }

  /** Writes the next batch of a chain; false when that failed. */
  private async writeNext(aid: string, line: Line): Promise<boolean> {
    this.batches += 1;
    const batch = line.unsure ?? { number: this.batches, items: line.waiting.splice(0, BATCH_MAX) };
    try {
      await this.write(aid, batch);
    } catch (error) {
      const items = this.reject(batch.items, error);
      line.unsure = items.length > 0 ? { ...batch, items } : undefined;
      // Later events would wait as long, and fail for the same reason.
      line.waiting = this.reject(line.waiting, error);
      return false;
    }
    line.unsure = undefined;
    for (const item of batch.items) {
      this.kept -= item.isKept ? 1 : 0;
      item.resolve();
    }
    return true;
  }

  private async write(aid: string, batch: Batch): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.append(aid, batch);
    } catch (error) {
      this.heads.delete(aid);
      if (!isTransient(error) || performance.now() - startedAt > RETRY_WITHIN_MS) {
        throw error;
      }
      await this.append(aid, batch);
    }
  }

  private async append(aid: string, { number, items }: Batch): Promise<void> {
    const { writer } = this;
    const events = items.map(({ event }) => event);
    let seen = await this.readHead(aid);
    for (let races = 0; races < RACES_MAX; races++) {
      const { mark, head, entries } = await this.crypto.sealAudit({ aid, head: seen, events });
      const first = mark.sequence - entries.length + 1;
      const result = await this.store.append(aid, { seen, writer, number, head, first, entries });
      if (result.kind === 'appended') {
        this.heads.set(aid, new Uint8Array(head));
        this.moved.add(aid);
        return;
      }
      seen = result.head.length > 0 ? result.head : undefined;
    }
    throw new VaultError('overloaded');
  }

  private async readHead(aid: string): Promise<Uint8Array | undefined> {
    const known = this.heads.get(aid) ?? (await this.store.readMarks(aid)).head;
    if (known === undefined) {
      // Before the first entry, so that the list of all chains is complete.
      await this.store.enter(aid);
    }
    return known;
  }

  /** Rejects the callers of these items, and returns the items that are kept for later. */
  private reject(items: readonly Waiting[], error: unknown): Waiting[] {
    const stays = items.filter((item) => {
      item.reject(error);
      if (item.isKept && !isTransient(error)) {
        this.kept -= 1;
        return false;
      }
      if (!item.isKept && isTransient(error) && this.kept < KEPT_MAX) {
        this.kept += 1;
        item.isKept = true;
      }
      return item.isKept;
    });
    if (stays.length < items.length) {
      this.recordEvent('audit_events_lost', { events: items.length - stays.length });
    }
    return stays;
  }
}

function isEmpty(line: Line): boolean {
  return !line.unsure && line.waiting.length === 0;
}
