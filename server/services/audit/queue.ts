import { VaultError } from '../../core/errors.ts';
import type { AuditEvent, Crypto } from '../../crypto/client.ts';
import type { AuditEntry } from '../../http/schema/audit.ts';
import type { AuditStore } from '../../store/audit.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import { isTransient } from '../common/coalesce.ts';
import { createMemory } from '../common/memory.ts';

/** Something that happened, as whoever saw it tells it. */
export interface AuditNote {
  /** Internal id of the account that it happened to; empty for what concerns the operator alone. */
  readonly aid: string;
  readonly action: AuditEntry['action'];
  /** `success`, or the code of the refusal. */
  readonly outcome: string;
  readonly actor: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly requestId: string;
  /** `NOUN/NAME`: what it was done to. */
  readonly object?: string | undefined;
}

const BATCH_MAX = 256;
const HEADS_MAX = 10_000;
const HEAD_KEEP_MS = 60_000;
/** Events that wait for a Redis that is away, for all accounts together. */
const KEPT_MAX = 10_000;
/** A call that failed sooner than this is tried once more before anybody hears of it. */
const TRY_AGAIN_MS = 1_000;
const RACES_MAX = 1_000;

export interface AuditQueue {
  /** Resolves when the event is in its chain. When it fails, the event stays and is written with the next one. */
  readonly add: (aid: string, event: AuditEvent) => Promise<void>;
  /** Waits for what is under way, and tries again to write what could not be written. */
  readonly flush: () => Promise<void>;
  /** Chains that were added to since this was last asked. */
  readonly takeMoved: () => readonly string[];
}

interface Waiting {
  readonly event: AuditEvent;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Whether nobody waits for it any more: it is kept for when Redis is back. */
  isKept: boolean;
}

interface Batch {
  readonly number: number;
  readonly items: readonly Waiting[];
}

/** The events of one chain that are not written yet. */
interface Line {
  waiting: Waiting[];
  /** A batch that may have been written: it is tried again under its number, before all others. */
  unsure: Batch | undefined;
  running: Promise<void> | undefined;
}

interface AuditQueueDependencies {
  readonly crypto: Pick<Crypto, 'sealAudit'>;
  readonly auditStore: Pick<AuditStore, 'append' | 'enter' | 'readMarks'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly onLost: (events: number) => void;
}

/**
 * Events on their way into their chains. Those of one chain that come while one append is under way go together in
 * the next one. An append names the head that it follows and the number of its batch: whoever lost a race with
 * another server seals the batch anew, and one whose reply was lost is never written twice.
 */
export function createAuditQueue(dependencies: AuditQueueDependencies): AuditQueue {
  const { crypto, auditStore, now, randomId, onLost } = dependencies;
  const writer = randomId();
  const lines = new Map<string, Line>();
  const heads = createMemory<Uint8Array>(HEADS_MAX, HEAD_KEEP_MS, now);
  let moved = new Set<string>();
  let batches = 0;
  let kept = 0;

  const headOf = async (aid: string): Promise<Uint8Array | undefined> => {
    const known = heads.get(aid) ?? (await auditStore.readMarks(aid)).head;
    if (known === undefined) {
      // Before the first entry, so that no chain is ever missing in the list of all.
      await auditStore.enter(aid);
    }
    return known;
  };

  const append = async (aid: string, { number, items }: Batch): Promise<void> => {
    const events = items.map(({ event }) => event);
    let seen = await headOf(aid);
    for (let races = 0; races < RACES_MAX; races++) {
      const { mark, head, entries } = await crypto.sealAudit({ aid, head: seen, events });
      const first = mark.sequence - entries.length + 1;
      const result = await auditStore.append(aid, { seen, writer, number, head, first, entries });
      if (result.kind === 'appended') {
        heads.set(aid, head);
        moved.add(aid);
        return;
      }
      seen = result.head.length > 0 ? result.head : undefined;
    }
    throw new VaultError('overloaded');
  };

  const write = async (aid: string, batch: Batch): Promise<void> => {
    const began = performance.now();
    try {
      await append(aid, batch);
    } catch (error) {
      heads.delete(aid);
      if (!isTransient(error) || performance.now() - began > TRY_AGAIN_MS) {
        throw error;
      }
      await append(aid, batch);
    }
  };

  /** Tells whoever waits, and gives the items that are kept for later. */
  const refuse = (items: readonly Waiting[], error: unknown): Waiting[] => {
    const stays = items.filter((item) => {
      item.reject(error);
      if (item.isKept && !isTransient(error)) {
        kept -= 1;
        return false;
      }
      if (!item.isKept && isTransient(error) && kept < KEPT_MAX) {
        kept += 1;
        item.isKept = true;
      }
      return item.isKept;
    });
    if (stays.length < items.length) {
      onLost(items.length - stays.length);
    }
    return stays;
  };

  const writeNext = async (aid: string, line: Line): Promise<'written' | 'refused'> => {
    batches += 1;
    const batch = line.unsure ?? { number: batches, items: line.waiting.splice(0, BATCH_MAX) };
    try {
      await write(aid, batch);
    } catch (error) {
      const items = refuse(batch.items, error);
      line.unsure = items.length > 0 ? { ...batch, items } : undefined;
      // Whoever waits behind it would wait as long, for the same.
      line.waiting = refuse(line.waiting, error);
      return 'refused';
    }
    line.unsure = undefined;
    for (const item of batch.items) {
      kept -= item.isKept ? 1 : 0;
      item.resolve();
    }
    return 'written';
  };

  const run = async (aid: string, line: Line): Promise<void> => {
    let last = 'written';
    while (last === 'written' && (line.unsure || line.waiting.length > 0)) {
      last = await writeNext(aid, line);
    }
    line.running = undefined;
    if (!line.unsure && line.waiting.length === 0) {
      lines.delete(aid);
    }
  };

  return {
    add: (aid, event) =>
      new Promise((resolve, reject) => {
        const line = lines.get(aid) ?? { waiting: [], unsure: undefined, running: undefined };
        lines.set(aid, line);
        line.waiting.push({ event, resolve, reject, isKept: false });
        line.running ??= run(aid, line);
      }),
    async flush() {
      await Promise.all([...lines].map(([aid, line]) => (line.running ??= run(aid, line))));
    },
    takeMoved() {
      const taken = [...moved];
      moved = new Set();
      return taken;
    },
  };
}
