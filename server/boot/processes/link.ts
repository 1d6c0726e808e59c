import type { Figures } from '../../telemetry/figures.ts';
import { FIRST_ARGUMENT, type Order, PROCESS_ARGUMENT, type Report } from './messages.ts';

/** How long a supervisor may take for the metrics of all processes; it waits one second for each of them at once. */
const SCRAPE_MS_MAX = 5_000;

/** Why a server process must end. */
export type EndReason = 'retired' | 'supervisor_gone';

/** The connection of a server process to the supervisor that started it. */
export interface SupervisorLink {
  /** The place of this process among all, from 0. */
  readonly slot: number;
  /** Whether this process creates what a vault needs once, and prints the banner. */
  readonly isFirst: boolean;
  /** From now on this process answers for its metrics, and `onEnd` is called instead of an exit. */
  readonly serve: (collect: () => Promise<Figures>, onEnd: (reason: EndReason) => void) => void;
  /** The metrics of all processes, in the Prometheus text format. Rejects when the supervisor does not answer. */
  readonly scrape: () => Promise<string>;
  /** Reports the last metrics of this process; resolves when they are sent, or the supervisor is gone. */
  readonly reportLast: (figures: Figures) => Promise<void>;
}

/** What a link knows while it is open. */
interface LinkState {
  readonly waiting: Set<(text: string) => void>;
  collect: () => Promise<Figures>;
  onEnd: (reason: EndReason) => void;
}

/** Sends a report; a supervisor that is gone gets none. */
function send(report: Report): Promise<void> {
  return new Promise((resolve) => {
    try {
      process.send?.(report, undefined, undefined, () => resolve());
    } catch {
      resolve();
    }
  });
}

async function obey(state: LinkState, order: Order): Promise<void> {
  switch (order.kind) {
    case 'collect':
      return send({ kind: 'figures', figures: await state.collect() });
    case 'scraped':
      for (const resolve of state.waiting) {
        resolve(order.text);
      }
      return state.waiting.clear();
    case 'retire':
      return state.onEnd('retired');
  }
}

function scrape(state: LinkState): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      state.waiting.delete(settle);
      reject(new Error('the supervisor did not answer'));
    }, SCRAPE_MS_MAX);
    const settle = (text: string): void => {
      clearTimeout(timer);
      resolve(text);
    };
    state.waiting.add(settle);
    void send({ kind: 'scrape' });
  });
}

/**
 * Opens the connection to the supervisor; undefined for a server that was started on its own. Call it first: a process
 * whose supervisor ends before it serves exits immediately, so that none is left behind.
 */
export function openSupervisorLink(): SupervisorLink | undefined {
  const [argument, slot, role] = process.argv.slice(2);
  if (argument !== PROCESS_ARGUMENT || process.send === undefined) {
    return undefined;
  }
  const state: LinkState = {
    waiting: new Set(),
    collect: async () => [],
    onEnd: () => process.exit(1),
  };
  // Only the supervisor, which is the same program, has the other end.
  process.on('message', (order: Order) => void obey(state, order).catch(() => undefined));
  process.on('disconnect', () => state.onEnd('supervisor_gone'));
  return {
    slot: Number(slot),
    isFirst: role === FIRST_ARGUMENT,
    serve: (collect, onEnd) => {
      state.collect = collect;
      state.onEnd = onEnd;
      if (!process.connected) {
        onEnd('supervisor_gone');
      }
      void send({ kind: 'ready' });
    },
    scrape: () => scrape(state),
    reportLast: (figures) => send({ kind: 'figures', figures }),
  };
}
