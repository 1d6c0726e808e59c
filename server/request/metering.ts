import type { AccountStore } from '../account/store.ts';
import { bindParts } from '../core/bind.ts';
import { type Clock, DAY_MS } from '../core/clock.ts';
import type { MeterOperation } from '../core/operations.ts';
import { runAtTickEnd } from '../core/tick-end.ts';
import type { Observer } from '../telemetry/observer.ts';
import type { Account, AccountContext, RequestContext, UsageAhead } from './context.ts';

const REQUESTS = 'api_requests';
/** No vault has counted anything before: a month has a key of its own, and no directory names them. */
const FIRST_MONTH_MS = Date.UTC(2025, 0);

/** What goes to one account and day in one step. */
interface Entry {
  readonly aid: string;
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string;
  readonly counts: Map<string, number>;
  readonly stored: PromiseWithResolvers<void>;
}

interface MeteringDependencies {
  readonly accountStore: Pick<AccountStore, 'addUsage' | 'removeCounts' | 'readUsage'>;
  readonly now: Clock;
  readonly observer: Pick<Observer, 'count'>;
}

interface Meter extends MeteringDependencies {
  /** What waits for the next step, by day and account. */
  batch: Map<string, Entry>;
  /** What was counted and must be taken back, while Redis is away: an account is never left with too much. */
  owed: Entry[];
  /** What is being stored. */
  readonly sent: Set<Entry>;
  /** Whether a step starts at the end of this tick. */
  isDue: boolean;
}

/** The last day that `dayOf` gave, and its beginning; module state, since all requests of a day share it. */
let lastStart = 0;
let lastDay = '1970-01-01';

/** The day that a moment belongs to, in UTC. */
function dayOf(ms: number): string {
  if (!(ms >= lastStart && ms < lastStart + DAY_MS)) {
    lastStart = ms - (ms % DAY_MS);
    lastDay = new Date(ms).toISOString().slice(0, 10);
  }
  return lastDay;
}

/** The month that a moment or a day belongs to, in UTC. */
export function monthOf(at: number | string): string {
  return (typeof at === 'string' ? at : dayOf(at)).slice(0, 7);
}

/** The name under which the requests of a day are counted; those of its month are the sum. */
function requestsOfDay(day: number | string): string {
  return `${REQUESTS}:${String(day).slice(-2).padStart(2, '0')}`;
}

/** The months from one moment to the month behind another: a clock may be ahead, and so may what it has counted. */
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
  // A failure is reported to those who await it; nothing has to await it.
  stored.promise.catch(() => undefined);
  return { aid, day, counts: new Map(), stored };
}

function addTo(counts: Map<string, number>, name: string, n: number): void {
  counts.set(name, (counts.get(name) ?? 0) + n);
}

async function store(meter: Meter, entry: Entry, isReturn: boolean): Promise<void> {
  const { aid, day, counts } = entry;
  meter.sent.add(entry);
  const requests = counts.get(REQUESTS);
  if (requests !== undefined) {
    counts.delete(REQUESTS);
    counts.set(requestsOfDay(day), requests);
  }
  try {
    await meter.accountStore.addUsage(aid, monthOf(day), counts);
    entry.stored.resolve();
  } catch (error) {
    if (isReturn) {
      meter.owed.push(entry);
    }
    entry.stored.reject(error);
  }
  meter.sent.delete(entry);
}

function send(meter: Meter): void {
  const { batch, owed } = meter;
  meter.isDue = false;
  meter.batch = new Map();
  meter.owed = [];
  for (const entry of batch.values()) {
    void store(meter, entry, false);
  }
  for (const entry of owed) {
    void store(meter, entry, true);
  }
}

/** Starts a step at the end of this tick, with all that is handed over until then. */
function sendSoon(meter: Meter): void {
  if (!meter.isDue) {
    meter.isDue = true;
    runAtTickEnd(() => send(meter));
  }
}

/** Puts counts into the next step, with those of other requests of the account. */
function handOver(
  meter: Meter,
  aid: string,
  day: string,
  counts: ReadonlyMap<string, number>,
): Promise<void> {
  const name = `${day} ${aid}`;
  const entry = meter.batch.get(name) ?? newEntry(aid, day);
  meter.batch.set(name, entry);
  for (const [operation, n] of counts) {
    addTo(entry.counts, operation, n);
  }
  sendSoon(meter);
  return entry.stored.promise;
}

function add({ usage }: RequestContext, operation: MeterOperation, n: number): void {
  usage.counted ??= new Map();
  addTo(usage.counted, operation, n);
}

function take({ usage }: RequestContext): Map<string, number> {
  const counts = usage.counted ?? new Map<string, number>();
  usage.counted = undefined;
  return counts;
}

/** Counts `n` operations of a request; they are stored by its `request` or `settle`. */
function count(meter: Meter, ctx: AccountContext, operation: MeterOperation, n = 1): void {
  meter.observer.count('operation', operation, n);
  add(ctx, operation, n);
}

/** Stores what a request has counted so far, whatever its outcome. */
async function settle(meter: Meter, ctx: AccountContext): Promise<void> {
  const counts = take(ctx);
  if (counts.size > 0) {
    await handOver(meter, ctx.account.aid, dayOf(meter.now()), counts);
  }
}

/** Hands the request itself over, with what it has counted. */
function handOverRequest(meter: Meter, ctx: AccountContext): Promise<void> {
  const { aid } = ctx.account;
  const day = dayOf(meter.now());
  const counts = take(ctx);
  addTo(counts, REQUESTS, 1);
  const stored = handOver(meter, aid, day, counts);
  ctx.usage.ahead = { aid, day, counts, stored, operation: undefined };
  return stored;
}

/** What a request counts beside its operations. */
const THE_REQUEST: ReadonlyMap<string, number> = new Map([[REQUESTS, 1]]);

/** What a request with one operation counts; made once for each operation. */
const AHEAD = new Map<MeterOperation, ReadonlyMap<string, number>>();

function countsAhead(operation: MeterOperation): ReadonlyMap<string, number> {
  const counts =
    AHEAD.get(operation) ??
    new Map([
      [operation, 1],
      [REQUESTS, 1],
    ]);
  AHEAD.set(operation, counts);
  return counts;
}

/**
 * Counts a request and its operation while its write is in flight; `request` then waits for both. A second call does
 * nothing, and what fails is taken back. A server that dies in between, or a count that Redis stores without an answer in
 * time, has counted what may not have been stored; the other order would make each request wait for one write after the
 * other.
 */
function countAhead(meter: Meter, ctx: AccountContext, operation: MeterOperation): void {
  if (ctx.usage.ahead === undefined) {
    const { aid } = ctx.account;
    const day = dayOf(meter.now());
    const counts = countsAhead(operation);
    ctx.usage.ahead = { aid, day, counts, stored: handOver(meter, aid, day, counts), operation };
  }
}

/**
 * Waits until an operation is stored that was counted ahead, or is counted now. It stays counted from then on, whatever the
 * outcome of its request, which alone can still be taken back.
 */
async function settleAhead(meter: Meter, ctx: AccountContext, operation: MeterOperation): Promise<void> {
  countAhead(meter, ctx, operation);
  const { ahead } = ctx.usage;
  if (ahead !== undefined) {
    await ahead.stored;
    meter.observer.count('operation', operation, 1);
    ctx.usage.ahead = { ...ahead, counts: THE_REQUEST, operation: undefined };
  }
}

/** Counts one request, with all that was counted for it, once; resolves when that is stored. */
function request(meter: Meter, ctx: AccountContext): Promise<void> {
  const { ahead } = ctx.usage;
  if (ahead === undefined) {
    return handOverRequest(meter, ctx);
  }
  return ahead.operation === undefined && ctx.usage.counted === undefined
    ? ahead.stored
    : requestWith(meter, ctx, ahead);
}

async function requestWith(meter: Meter, ctx: AccountContext, ahead: UsageAhead): Promise<void> {
  await (ctx.usage.counted === undefined ? ahead.stored : Promise.all([ahead.stored, settle(meter, ctx)]));
  if (ahead.operation !== undefined) {
    meter.observer.count('operation', ahead.operation, 1);
    ahead.operation = undefined;
  }
}

function giveBack(meter: Meter, { aid, day, counts }: UsageAhead): void {
  const entry = newEntry(aid, day);
  for (const [operation, n] of counts) {
    addTo(entry.counts, operation, -n);
  }
  meter.owed.push(entry);
  sendSoon(meter);
}

/** Takes back what is stored ahead of a request that has failed, and forgets what is not. */
function takeBack(meter: Meter, { usage }: RequestContext): void {
  const { ahead } = usage;
  usage.counted = undefined;
  usage.ahead = undefined;
  // What was never stored needs no taking back.
  void ahead?.stored.then(
    () => giveBack(meter, ahead),
    () => undefined,
  );
}

/** Forgets all that a deleted account has used. */
function forget({ accountStore, now }: Meter, { aid }: Pick<Account, 'aid'>): Promise<void> {
  return accountStore.removeCounts(aid, monthsOf(FIRST_MONTH_MS, now()));
}

/** Requests of a month: their sum, and those of each of its first `days` days. */
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

/** Counts of a month (`YYYY-MM`), by operation, with the requests of each day. */
function read(
  { accountStore }: Meter,
  { aid }: Pick<Account, 'aid'>,
  month: string,
): Promise<ReadonlyMap<string, number>> {
  return accountStore.readUsage(aid, month);
}

/** Resolves when everything that was handed over before is stored, or has failed. */
async function flush(meter: Meter): Promise<void> {
  // What is stored only now may be taken back then, by a request that has failed meanwhile.
  for (let step = 0; step < 2; step++) {
    send(meter);
    await Promise.allSettled([...meter.sent].map(({ stored }) => stored.promise));
  }
}

/**
 * Makes the one meter of a server: it counts what accounts use. A count is stored before the request that caused it is
 * answered, and only if it is answered with success. What many requests hand over at once is stored in one step an account.
 */
export function createMetering({ accountStore, now, observer }: MeteringDependencies) {
  const meter: Meter = {
    ...{ accountStore, now, observer },
    batch: new Map(),
    owed: [],
    sent: new Set(),
    isDue: false,
  };
  return bindParts(meter, { count, countAhead, settleAhead, request, settle, takeBack, flush, forget, read });
}

export type MeteringService = ReturnType<typeof createMetering>;

/** What every request of an account is counted with. */
export type Metering = Pick<MeteringService, 'request' | 'takeBack'>;
