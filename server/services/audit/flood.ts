import { sourceOf } from '../../domain/text/source.ts';
import type { Clock } from '../common/clock.ts';
import type { AuditNote } from './queue.ts';

/** How long alike refusals are counted together: as long as failed sign-ins are. */
const WINDOW_MS = 15 * 60 * 1_000;
/** Entries of one account, action, outcome and source in a window. */
const EACH_MAX = 10;
/** Entries of refusals of one account in a window; behind them sources are not told apart any more. */
const ACCOUNT_MAX = 200;
/** Groups that are counted at once, for all accounts together. */
const GROUPS_MAX = 10_000;

/** A note, and how many events it stands for. */
export interface Gathered {
  readonly note: AuditNote;
  readonly count: number;
}

interface Group {
  /** Entries that were written, each for one event. */
  written: number;
  /** Events behind them, and the last of them. */
  count: number;
  last: AuditNote;
}

interface Window {
  readonly endsAt: number;
  /** Entries of refusals by account. */
  readonly written: Map<string, number>;
  readonly groups: Map<string, Group>;
}

/** Keeps whoever sends what is refused from filling the store with entries of it. */
export interface Flood {
  /** Whether the note gets an entry of its own now; else it is counted. */
  readonly admits: (note: AuditNote) => boolean;
  /** What was counted in a window that is over, or in any when `all` is set. */
  readonly take: (all?: boolean) => readonly Gathered[];
}

/** Counts the refusals of this process. Successes are not its concern: they cost who brings them about more than us. */
export function createFlood(now: Clock): Flood {
  let window: Window | undefined;
  let over: Gathered[] = [];

  const close = (): void => {
    for (const { count, last } of window?.groups.values() ?? []) {
      if (count > 0) {
        over.push({ note: last, count });
      }
    }
    window = undefined;
  };

  const current = (): Window => {
    // A clock that was put back must not keep a window open for as long.
    if (window && (now() >= window.endsAt || window.endsAt - now() > WINDOW_MS)) {
      close();
    }
    window ??= { endsAt: now() + WINDOW_MS, written: new Map(), groups: new Map() };
    return window;
  };

  const groupOf = ({ groups, written }: Window, note: AuditNote): Group => {
    const kind = JSON.stringify([note.aid, note.action, note.outcome]);
    const name = `${kind} ${sourceOf(note.ip)}`;
    const crowded = (written.get(note.aid) ?? 0) >= ACCOUNT_MAX || groups.size >= GROUPS_MAX;
    const found = groups.get(name) ?? groups.get(kind);
    if (found) {
      return found;
    }
    const group = { written: crowded ? EACH_MAX : 0, count: 0, last: note };
    groups.set(crowded ? kind : name, group);
    return group;
  };

  return {
    admits(note) {
      if (note.outcome === 'success') {
        return true;
      }
      const here = current();
      const group = groupOf(here, note);
      const ofAccount = here.written.get(note.aid) ?? 0;
      if (group.written < EACH_MAX && ofAccount < ACCOUNT_MAX) {
        group.written += 1;
        here.written.set(note.aid, ofAccount + 1);
        return true;
      }
      group.count += 1;
      const isOneSource = group.count === 1 || group.last.ip === note.ip;
      group.last = isOneSource ? note : { ...note, ip: '', userAgent: '' };
      return false;
    },
    take(all = false) {
      current();
      if (all) {
        close();
      }
      const taken = over;
      over = [];
      return taken;
    },
  };
}
