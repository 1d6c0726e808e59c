import type { RecordChange } from '../../workers/jobs/audit/jobs.ts';
import type { Clock } from '../core/clock.ts';
import { sourceOf } from '../domain/text/network.ts';
import type { AuditQueue } from './queue.ts';
import type { AuditEntry } from './schema.ts';

/** The window in which rejections of one kind are counted together, as long as that of failed sign-ins. */
const WINDOW_MS = 15 * 60 * 1_000;
/** Entries of one actor, action, outcome and source in a window. */
const EACH_MAX = 10;
/** Entries of rejections of one actor of an account in a window; after that, its sources are not distinguished any more. */
const ACTOR_MAX = 200;
/** Groups that are counted at once, for all accounts together. */
const GROUPS_MAX = 10_000;

export interface SecurityEvent {
  /** Internal id of the account that it happened to; empty for what concerns the operator alone. */
  readonly aid: string;
  readonly action: AuditEntry['action'];
  /** `success`, or the code of the error. */
  readonly outcome: string;
  readonly actor: string;
  /** The name of the API credential that acted. */
  readonly actorName?: string | undefined;
  readonly ip: string;
  readonly userAgent: string;
  readonly requestId: string;
  /** `NOUN/NAME` of the object of the action. */
  readonly object?: string | undefined;
  /** The change of the record of an account or an endpoint, so that an older copy is recognised. */
  readonly change?: RecordChange | undefined;
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
  /** Entries of rejections, by actor of an account. */
  readonly written: Map<string, number>;
  readonly groups: Map<string, Group>;
}

export class Audit {
  private readonly flood: Flood;
  /** Events that the next flush writes. */
  private soon: { readonly event: SecurityEvent; readonly timeMs: number }[] = [];
  /** Events of `recordSoon` that are not complete yet. */
  private readonly incomplete = new Set<Promise<void>>();

  constructor(
    private readonly queue: AuditQueue,
    private readonly now: Clock,
  ) {
    this.flood = new Flood(now);
  }

  /** Stores an entry before the reply, or counts it in a flood of rejections. Rejects with `store_unavailable`. */
  async record(event: SecurityEvent): Promise<void> {
    if (this.flood.admits(event)) {
      await this.write(event, 1, this.now());
    }
  }

  /** Records a rejection by the next `writeSoon`: its time must not reveal the account. A promise must not reject. */
  recordSoon(event: SecurityEvent | Promise<SecurityEvent>): void {
    const timeMs = this.now();
    if (event instanceof Promise) {
      const added = event.then((complete) => {
        this.incomplete.delete(added);
        this.addSoon(complete, timeMs);
      });
      this.incomplete.add(added);
    } else {
      this.addSoon(event, timeMs);
    }
  }

  async writeSoon(): Promise<void> {
    await Promise.all(this.incomplete);
    const { soon } = this;
    this.soon = [];
    for (const { event, timeMs } of soon) {
      // No caller waits for it; an entry that cannot be written stays in the queue.
      this.write(event, 1, timeMs).catch(() => undefined);
    }
  }

  /** Writes all queued, counted and failed entries. Never rejects: failures are retried. */
  async flush(all?: boolean): Promise<void> {
    await this.writeSoon();
    for (const { event, count } of this.flood.take(all)) {
      this.write(event, count, this.now()).catch(() => undefined);
    }
    await this.queue.flush();
  }

  private write({ aid, object = '', ...rest }: SecurityEvent, count: number, timeMs: number): Promise<void> {
    return this.queue.add(aid, { ...rest, object, count, timeMs: Math.floor(timeMs) });
  }

  private addSoon(event: SecurityEvent, timeMs: number): void {
    if (this.flood.admits(event)) {
      this.soon.push({ event, timeMs });
    }
  }
}

/** Counts rejections, so that they do not fill the store. Successes are not limited: they cost their caller more. */
class Flood {
  private window: Window | undefined;
  /** Counts of windows that are over. */
  private over: Group[] = [];

  constructor(private readonly now: Clock) {}

  /** Returns whether the event gets a separate entry now; otherwise it is counted. */
  admits(event: SecurityEvent): boolean {
    if (event.outcome === 'success') {
      return true;
    }
    const window = this.currentWindow();
    const group = groupOf(window, event);
    const actor = actorIn(event);
    const ofActor = window.written.get(actor) ?? 0;
    if (group.written < EACH_MAX && ofActor < ACTOR_MAX) {
      group.written += 1;
      window.written.set(actor, ofActor + 1);
      return true;
    }
    group.count += 1;
    const isOneSource = group.count === 1 || group.event.ip === event.ip;
    group.event = isOneSource ? event : { ...event, ip: '', userAgent: '' };
    return false;
  }

  /** Returns the counts of windows that are over, or of all windows, once. */
  take(all = false): readonly Group[] {
    this.currentWindow();
    if (all) {
      this.close();
    }
    const taken = this.over;
    this.over = [];
    return taken;
  }

  private close(): void {
    this.over.push(...(this.window?.groups.values().filter(({ count }) => count > 0) ?? []));
    this.window = undefined;
  }

  private currentWindow(): Window {
    const { now, window } = this;
    // A clock that was set back must not keep a window open for as long.
    if (window && (now() >= window.endsAt || window.endsAt - now() > WINDOW_MS)) {
      this.close();
    }
    this.window ??= { endsAt: now() + WINDOW_MS, written: new Map(), groups: new Map() };
    return this.window;
  }
}

/** Names the actor of an event. Each has entries of its own, so that none can hide those of another. */
function actorIn({ aid, actor }: SecurityEvent): string {
  return `${aid} ${actor}`;
}

function groupOf({ groups, written }: Window, event: SecurityEvent): Group {
  const actor = actorIn(event);
  const kind = JSON.stringify([actor, event.action, event.outcome]);
  const name = `${kind} ${sourceOf(event.ip)}`;
  const found = groups.get(name) ?? groups.get(kind);
  if (found) {
    return found;
  }
  const isCrowded = (written.get(actor) ?? 0) >= ACTOR_MAX || groups.size >= GROUPS_MAX;
  const group = { written: isCrowded ? EACH_MAX : 0, count: 0, event };
  groups.set(isCrowded ? kind : name, group);
  return group;
}
