import { type Clock, DAY_MS } from '../core/clock.ts';
import type { MeterOperation } from '../core/operations.ts';
import { runAtTickEnd } from '../core/tick-end.ts';
import type { Observer } from '../telemetry/observer.ts';
import type { AccountContext, RequestContext, UsageAhead } from './context.ts';
import type { UsageStore } from './usage-store.ts';

const REQUESTS = 'api_requests';
/** The first month with counts: each month has its own key, and no directory lists them. */
const FIRST_MONTH_MS = Date.UTC(2025, 0);

/** Counts of one account and day in one step. */
interface Entry {
  readonly aid: string;
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string;
  readonly counts: Map<string, number>;
  readonly stored: PromiseWithResolvers<void>;
}

/** The counts of a request without its operations. */
const THE_REQUEST: ReadonlyMap<string, number> = new Map([[REQUESTS, 1]]);

/** The last day that `dayOf` returned, and its start; module state, since all requests of a day share it. */
let lastStart = 0;
let lastDay = '1970-01-01';

/**
 * Counts the usage of accounts. A count is stored before the request that caused it is answered, and only if it is answered
 * with success. Counts of concurrent requests are stored in one step per account.
 */
export class Metering {
  /** Counts of the next step, by day and account. */
  private batch = new Map<string, Entry>();
  /** Counts to subtract while Redis is not available: an account is never charged too much. */
  private owed: Entry[] = [];
  private readonly sent = new Set<Entry>();
  /** True if a step starts at the end of this tick. */
  private isDue = false;

  constructor(
    private readonly usageStore: UsageStore,
    private readonly observer: Observer,
    private readonly now: Clock,
  ) {}

  /** Counts `n` operations of a request; they are stored by its `request` or `settle`. */
  count(ctx: AccountContext, operation: MeterOperation, n = 1): void {
    this.observer.count('operation', operation, n);
    ctx.usage.counted ??= new Map();
    addTo(ctx.usage.counted, operation, n);
  }

  /**
   * Counts a request and its operation while its write is in flight; `request` then waits for both. A second call does
   * nothing, and a failed request is subtracted. A server that dies in between, or a count that Redis stores without an answer
   * in time, has counted a write that may not have been stored; otherwise each request would wait for two writes in sequence.
   */
  countAhead(ctx: AccountContext, operation: MeterOperation): void {
    if (ctx.usage.ahead === undefined) {
      const { aid } = ctx.account;
      const day = dayOf(this.now());
      const counts = new Map<string, number>([
        [operation, 1],
        [REQUESTS, 1],
      ]);
      ctx.usage.ahead = { aid, day, counts, stored: this.handOver(aid, day, counts), operation };
    }
  }

  /** Waits until an operation is stored. It stays counted even if its request fails; only the request can be subtracted. */
  async settleAhead(ctx: AccountContext, operation: MeterOperation): Promise<void> {
    this.countAhead(ctx, operation);
    const { ahead } = ctx.usage;
    if (ahead !== undefined) {
      await ahead.stored;
      this.observer.count('operation', operation, 1);
      ctx.usage.ahead = { ...ahead, counts: THE_REQUEST, operation: undefined };
    }
  }

  /** Counts one request, with all its operations, once; resolves when that is stored. */
  request(ctx: AccountContext): Promise<void> {
    const { ahead, counted } = ctx.usage;
    if (ahead !== undefined) {
      return ahead.operation === undefined && counted === undefined
        ? ahead.stored
        : this.requestWith(ctx, ahead);
    }
    const { aid } = ctx.account;
    const day = dayOf(this.now());
    const counts = take(ctx);
    addTo(counts, REQUESTS, 1);
    const stored = this.handOver(aid, day, counts);
    ctx.usage.ahead = { aid, day, counts, stored, operation: undefined };
    return stored;
  }

  /** Stores the operations that a request has counted so far, regardless of its outcome. */
  async settle(ctx: AccountContext): Promise<void> {
    const counts = take(ctx);
    if (counts.size > 0) {
      await this.handOver(ctx.account.aid, dayOf(this.now()), counts);
    }
  }

  /** Subtracts the counts that are stored ahead of a request that has failed, and drops the others. */
  takeBack({ usage }: RequestContext): void {
    const { ahead } = usage;
    usage.counted = undefined;
    usage.ahead = undefined;
    // A count that was not stored is not subtracted.
    void ahead?.stored.then(
      () => this.giveBack(ahead),
      () => undefined,
    );
  }

  /** Resolves when all counts that were handed over before are stored, or have failed. */
  async flush(): Promise<void> {
    // Counts that are stored only now may be subtracted then, by a request that has failed meanwhile.
    for (let step = 0; step < 2; step++) {
      this.send();
      await Promise.allSettled([...this.sent].map(({ stored }) => stored.promise));
    }
  }

  forget({ aid }: { readonly aid: string }): Promise<void> {
    return this.usageStore.remove(aid, monthsOf(FIRST_MONTH_MS, this.now()));
  }

  /** Returns the counts of a month (`YYYY-MM`), by operation, with the requests of each day. */
  read({ aid }: { readonly aid: string }, month: string): Promise<ReadonlyMap<string, number>> {
    return this.usageStore.read(aid, month);
  }

  private async requestWith(ctx: AccountContext, ahead: UsageAhead): Promise<void> {
    await (ctx.usage.counted === undefined ? ahead.stored : Promise.all([ahead.stored, this.settle(ctx)]));
    if (ahead.operation !== undefined) {
      this.observer.count('operation', ahead.operation, 1);
      ahead.operation = undefined;
    }
  }

  private giveBack({ aid, day, counts }: UsageAhead): void {
    const entry = newEntry(aid, day);
    for (const [operation, n] of counts) {
      addTo(entry.counts, operation, -n);
    }
    this.owed.push(entry);
    this.sendSoon();
  }

  /** Puts counts into the next step, with those of other requests of the account. */
  private handOver(aid: string, day: string, counts: ReadonlyMap<string, number>): Promise<void> {
    const name = `${day} ${aid}`;
    const entry = this.batch.get(name) ?? newEntry(aid, day);
    this.batch.set(name, entry);
    for (const [operation, n] of counts) {
      addTo(entry.counts, operation, n);
    }
    this.sendSoon();
    return entry.stored.promise;
  }

  /** Starts a step at the end of this tick, with all counts that are handed over until then. */
  private sendSoon(): void {
    if (!this.isDue) {
      this.isDue = true;
      runAtTickEnd(() => this.send());
    }
  }

  private send(): void {
    const { batch, owed } = this;
    this.isDue = false;
    this.batch = new Map();
    this.owed = [];
    for (const entry of batch.values()) {
      void this.store(entry, false);
    }
    for (const entry of owed) {
      void this.store(entry, true);
    }
  }

  private async store(entry: Entry, isReturn: boolean): Promise<void> {
    const { aid, day, counts } = entry;
    this.sent.add(entry);
    const requests = counts.get(REQUESTS);
    if (requests !== undefined) {
      counts.delete(REQUESTS);
      counts.set(requestsOfDay(day), requests);
    }
    try {
      await this.usageStore.add(aid, monthOf(day), counts);
      entry.stored.resolve();
    } catch (error) {
      if (isReturn) {
        this.owed.push(entry);
      }
      entry.stored.reject(error);
    }
    this.sent.delete(entry);
  }
}

function dayOf(ms: number): string {
  if (!(ms >= lastStart && ms < lastStart + DAY_MS)) {
    lastStart = ms - (ms % DAY_MS);
    lastDay = new Date(ms).toISOString().slice(0, 10);
  }
  return lastDay;
}

/** Returns the month of a moment or a day, in UTC. */
export function monthOf(at: number | string): string {
  return (typeof at === 'string' ? at : dayOf(at)).slice(0, 7);
}

/** Names the count of the requests of a day; the count of a month is their sum. */
function requestsOfDay(day: number | string): string {
  return `${REQUESTS}:${String(day).slice(-2).padStart(2, '0')}`;
}

/** Returns the months from one moment to the month after another: a clock may be ahead, and so may its counts. */
export function monthsOf(fromMs: number, toMs: number): readonly string[] {
  const from = new Date(fromMs);
  const to = new Date(toMs);
  const months = 12 * (to.getUTCFullYear() - from.getUTCFullYear()) + to.getUTCMonth() - from.getUTCMonth();
  return Array.from({ length: Math.max(0, months + 2) }, (_, at) =>
    monthOf(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + at)),
  );
}

function newEntry(aid: string, day: string): Entry {
  const stored = Promise.withResolvers<void>();
  // A failure is reported to awaiting callers; nothing has to await it.
  stored.promise.catch(() => undefined);
  return { aid, day, counts: new Map(), stored };
}

function addTo(counts: Map<string, number>, name: string, n: number): void {
  counts.set(name, (counts.get(name) ?? 0) + n);
}

function take({ usage }: RequestContext): Map<string, number> {
  const counts = usage.counted ?? new Map<string, number>();
  usage.counted = undefined;
  return counts;
}

/** Returns the requests of a month: their sum, and those of each of its first `days` days. */
export function requestsOf(counts: ReadonlyMap<string, number>, days: number) {
  const ofDays = [...counts].filter(([name]) => name.startsWith(REQUESTS));
  return {
    sum: Math.max(
      0,
      ofDays.reduce((sum, [, n]) => sum + n, 0),
    ),
    ofDays: Array.from({ length: days }, (_, at) => Math.max(0, counts.get(requestsOfDay(at + 1)) ?? 0)),
  };
}
