import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import { sourceOf } from '../domain/text/source.ts';
import type { SecurityEvent } from './event.ts';

/** How long rejections of one kind are counted together: as long as failed sign-ins are. */
const WINDOW_MS = 15 * 60 * 1_000;
/** Entries of one account, action, outcome and source in a window. */
const EACH_MAX = 10;
/** Entries of one account's rejections in a window; after that, sources are not distinguished any more. */
const ACCOUNT_MAX = 200;
/** Groups that are counted at once, for all accounts together. */
const GROUPS_MAX = 10_000;

/** The last of some events, and how many there were. */
interface Counted {
  readonly event: SecurityEvent;
  readonly count: number;
}

interface Group {
  /** Entries that were written, each for one event. */
  written: number;
  /** Events after them, and the last of them. */
  count: number;
  event: SecurityEvent;
}

interface Window {
  readonly endsAt: number;
  /** Entries of rejections by account. */
  readonly written: Map<string, number>;
  readonly groups: Map<string, Group>;
}

interface FloodState {
  readonly now: Clock;
  window: Window | undefined;
  /** What was counted in windows that are over. */
  over: Counted[];
}

/**
 * Prevents a caller whose requests are rejected from filling the store with entries of it: counts the rejections of this
 * process. Successes are no part of it: they cost their caller more than us.
 */
export type Flood = ReturnType<typeof createFlood>;

/** Makes the one count of a server. */
export function createFlood(now: Clock) {
  const state: FloodState = { now, window: undefined, over: [] };
  return bindParts(state, { admits, take });
}

function close(state: FloodState): void {
  state.over.push(...(state.window?.groups.values().filter(({ count }) => count > 0) ?? []));
  state.window = undefined;
}

function currentWindow(state: FloodState): Window {
  const { now, window } = state;
  // A clock that was put back must not keep a window open for as long.
  if (window && (now() >= window.endsAt || window.endsAt - now() > WINDOW_MS)) {
    close(state);
  }
  state.window ??= { endsAt: now() + WINDOW_MS, written: new Map(), groups: new Map() };
  return state.window;
}

function groupOf({ groups, written }: Window, event: SecurityEvent): Group {
  const kind = JSON.stringify([event.aid, event.action, event.outcome]);
  const name = `${kind} ${sourceOf(event.ip)}`;
  const found = groups.get(name) ?? groups.get(kind);
  if (found) {
    return found;
  }
  const isCrowded = (written.get(event.aid) ?? 0) >= ACCOUNT_MAX || groups.size >= GROUPS_MAX;
  const group = { written: isCrowded ? EACH_MAX : 0, count: 0, event };
  groups.set(isCrowded ? kind : name, group);
  return group;
}

/** Whether the event gets an entry of its own now; otherwise it is counted. */
function admits(state: FloodState, event: SecurityEvent): boolean {
  if (event.outcome === 'success') {
    return true;
  }
  const window = currentWindow(state);
  const group = groupOf(window, event);
  const ofAccount = window.written.get(event.aid) ?? 0;
  if (group.written < EACH_MAX && ofAccount < ACCOUNT_MAX) {
    group.written += 1;
    window.written.set(event.aid, ofAccount + 1);
    return true;
  }
  group.count += 1;
  const isOneSource = group.count === 1 || group.event.ip === event.ip;
  group.event = isOneSource ? event : { ...event, ip: '', userAgent: '' };
  return false;
}

/** What was counted in a window that is over, or in any when `all` is set. It is not returned again. */
function take(state: FloodState, all = false): readonly Counted[] {
  currentWindow(state);
  if (all) {
    close(state);
  }
  const taken = state.over;
  state.over = [];
  return taken;
}
