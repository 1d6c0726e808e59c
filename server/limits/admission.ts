import { bindParts } from '../core/bind.ts';
import { pause } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { RequestContext } from '../request/context.ts';
import {
  createFairSemaphore,
  leave as endTask,
  type FairSemaphore,
  enter as startTask,
} from './fair-queue.ts';
import { createNeighbours, hasNeighbours, type Neighbours, record } from './neighbours.ts';

/**
 * What competes for the service, first things first: what is stored, what is read of single items (and everything else
 * that is short), listings without data, listings with it.
 */
export type WorkClass = 'write' | 'read' | 'list' | 'open';

/** The work in flight, and how much was rejected so far. */
export interface AdmissionStats {
  /** Short work that is running, not waiting. */
  readonly running: number;
  readonly inFlight: Readonly<Record<WorkClass, number>>;
  readonly rejected: Readonly<Record<WorkClass, number>>;
}

/** Requests in flight that are accepted for a moment: of one account, as many as the threads' queue takes. */
const BURST = 2_400;
/** Requests in flight for longer: what the service does in a fraction of a second. */
const STEADY = 512;
/** How long there may be more than that. */
const BURST_MS = 1_000;
/** An account is admitted while it has less than this many times the free places: alone it gets 7/8, two alike 7/15 each. */
const SHARE = 7;
/** An account with no more than so many is admitted even while the rest of another account's burst is worked off. */
const FEW = 16;
/** Reads have fewer places than writes. */
const READS_PART = 0.75;

/**
 * Short work that runs at once: enough to keep Redis and the threads busy. What is beyond that waits here, where accounts
 * are served fairly, and not in the queue of Redis, where they are not.
 */
const RUNNING_MAX = 96;
/** Of these each account has so many of a class while it is not alone: others wait for what runs, in Redis and in threads. */
const RUNNING_EACH_MAX = 16;
/** Pieces of pages that are read from Redis or logged at once. */
const PIECES_MAX = 128;
/** Of these an account has so many while it is not alone: what Redis does in about a millisecond. */
const PIECES_EACH_MAX = 4;
/** Listings that are planned at once, and begun: each reads thousands of positions. */
const PLANNED_MAX = 2;

const LISTS_MAX = 512;
const LISTS_PER_ACCOUNT_MAX = 256;
const OPENS_MAX = 16;
const OPENS_PER_ACCOUNT_MAX = 4;
/** Who finds no place to read a whole key waits a while for one, in a queue that is never long. */
const OPENS_WAITING_MAX = 32;
const OPENS_WAITING_PER_ACCOUNT_MAX = 12;
const OPEN_WAIT_MS = 5_000;

/** How long a rejection is held back, and how many at most: who asks again at once would otherwise cost more than who waits. */
const HELD_MS = 250;
const HELD_MAX = 1_024;

/** How many places are taken, in all and by each account. */
interface Places {
  readonly taken: Map<string, number>;
  all: number;
}

/** Places for short work, `part` of what writes have. A burst is admitted; a queue that does not get shorter is not. */
interface ShortPlaces extends Places {
  readonly kind: 'short';
  readonly part: number;
  /** Since when there is more than what is steady. */
  longSince: number | undefined;
}

/** A fixed number of places. */
interface LongPlaces extends Places {
  readonly kind: 'long';
  readonly max: number;
  readonly perAccountMax: number;
}

/** A request that waits for a place to read a whole key. */
interface Waiting {
  readonly account: string;
  readonly resume: () => void;
}

interface AdmissionState {
  readonly clock: () => number;
  readonly openWaitMs: number;
  readonly places: Readonly<Record<WorkClass, ShortPlaces | LongPlaces>>;
  readonly rejected: Record<WorkClass, number>;
  readonly short: FairSemaphore;
  readonly plans: FairSemaphore;
  readonly pieces: FairSemaphore;
  readonly neighbours: Neighbours;
  readonly waiting: Waiting[];
  /** Rejections that are held back. */
  held: number;
}

function shortPlaces(part: number): ShortPlaces {
  return { kind: 'short', part, taken: new Map(), all: 0, longSince: undefined };
}

function longPlaces(max: number, perAccountMax: number): LongPlaces {
  return { kind: 'long', max, perAccountMax, taken: new Map(), all: 0 };
}

function hasShort(places: ShortPlaces, account: string, now: number): boolean {
  const { part, all } = places;
  if (all >= STEADY * part) {
    places.longSince ??= now;
  }
  const isLong = places.longSince !== undefined && now - places.longSince > BURST_MS;
  const free = part * (isLong ? STEADY : BURST) - all;
  const own = places.taken.get(account) ?? 0;
  return (own < FEW && all < BURST * part) || own < SHARE * free;
}

/** Whether an account may take one more place. */
function hasPlace({ places, clock }: AdmissionState, work: WorkClass, account: string): boolean {
  const wanted = places[work];
  if (wanted.kind === 'short') {
    return hasShort(wanted, account, clock());
  }
  return wanted.all < wanted.max && (wanted.taken.get(account) ?? 0) < wanted.perAccountMax;
}

function reject({ rejected }: AdmissionState, work: WorkClass): VaultError {
  rejected[work] += 1;
  return new VaultError('overloaded');
}

function take(state: AdmissionState, work: WorkClass, account: string): void {
  if (!hasPlace(state, work, account)) {
    throw reject(state, work);
  }
  const places = state.places[work];
  places.all += 1;
  places.taken.set(account, (places.taken.get(account) ?? 0) + 1);
}

function release(state: AdmissionState, work: WorkClass, account: string): void {
  const places = state.places[work];
  places.all -= 1;
  const left = (places.taken.get(account) ?? 1) - 1;
  if (left === 0) {
    places.taken.delete(account);
  } else {
    places.taken.set(account, left);
  }
  // Half of it, so that a queue which is kept at its length by rejections does not count as a new burst.
  if (places.kind === 'short' && places.all < (STEADY * places.part) / 2) {
    places.longSince = undefined;
  }
  if (work === 'open') {
    startWaiting(state);
  }
}

/**
 * Takes a place for work of an account, or of a source where no account is known; rejects at once with `overloaded` when
 * there is none. Returns the function that releases the place; a second call has no effect.
 */
function start(state: AdmissionState, work: WorkClass, account: string): () => void {
  take(state, work, account);
  let isOver = false;
  return () => {
    if (!isOver) {
      isOver = true;
      release(state, work, account);
    }
  };
}

function startWaiting(state: AdmissionState): void {
  const next = state.waiting.findIndex(({ account }) => hasPlace(state, 'open', account));
  state.waiting.splice(next, next < 0 ? 0 : 1)[0]?.resume();
}

function waitToOpen(state: AdmissionState, account: string): Promise<() => void> {
  const { waiting } = state;
  const own = waiting.filter((other) => other.account === account).length;
  if (waiting.length >= OPENS_WAITING_MAX || own >= OPENS_WAITING_PER_ACCOUNT_MAX) {
    throw reject(state, 'open');
  }
  return new Promise((resolve, fail) => {
    const entry: Waiting = {
      account,
      resume: () => {
        clearTimeout(timer);
        resolve(start(state, 'open', account));
      },
    };
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(entry), 1);
      fail(reject(state, 'open'));
    }, state.openWaitMs);
    waiting.push(entry);
  });
}

/** `start` for reading a whole key, after a wait of a few seconds at the most where all places are taken. */
async function open(state: AdmissionState, account: string): Promise<() => void> {
  return hasPlace(state, 'open', account) ? start(state, 'open', account) : waitToOpen(state, account);
}

/**
 * Takes the one place of a request for short work, and waits while too much is running: accounts are served fairly, and
 * so are the classes of one account. `leave` releases it.
 */
function enter(
  state: AdmissionState,
  ctx: RequestContext,
  work: 'write' | 'read',
  account: string,
): Promise<void> | undefined {
  const { short } = state;
  take(state, work, account);
  // What needs no credentials, such as the probe of a load balancer, is nobody's neighbour.
  if (ctx.account !== undefined || ctx.source !== 'vault') {
    ask(state, account);
    short.queueMax = isAlone(state, account) ? RUNNING_MAX : RUNNING_EACH_MAX;
  }
  const slot = { work, account, queue: `${work} ${account}` };
  const started = startTask(short, slot.queue);
  if (started === undefined) {
    ctx.slot = slot;
    return undefined;
  }
  return started.then(() => {
    ctx.slot = slot;
  });
}

/** Records that an account, or a source, has sent a request: from now on it is a neighbour of the others for a second. */
function ask({ neighbours, clock }: AdmissionState, account: string): void {
  record(neighbours, account, clock());
}

/** Releases the place of a request, if it has one. */
function leave(state: AdmissionState, ctx: RequestContext): void {
  const { slot } = ctx;
  if (slot !== undefined) {
    ctx.slot = undefined;
    endTask(state.short, slot.queue);
    release(state, slot.work, slot.account);
  }
}

/** Waits before a request is told that there is no place for it, unless many wait already. */
async function holdBack(state: AdmissionState): Promise<void> {
  if (state.held < HELD_MAX) {
    state.held += 1;
    await pause(HELD_MS);
    state.held -= 1;
  }
}

/** Runs the planning and the start of a listing: few at once, accounts served fairly. */
async function plan<T>({ plans }: AdmissionState, account: string, work: () => Promise<T>): Promise<T> {
  await startTask(plans, account);
  try {
    return await work();
  } finally {
    endTask(plans, account);
  }
}

/** Whether nobody but this account has sent requests within the last second. */
function isAlone({ neighbours, clock }: AdmissionState, account: string): boolean {
  return !hasNeighbours(neighbours, account, clock());
}

/** Runs what Redis does for a piece of a page; accounts are queued fairly, and leave room for each other's single items. */
async function piece<T>(state: AdmissionState, account: string, work: () => Promise<T>): Promise<T> {
  const { pieces } = state;
  pieces.queueMax = isAlone(state, account) ? PIECES_MAX : PIECES_EACH_MAX;
  const started = startTask(pieces, account);
  if (started !== undefined) {
    await started;
  }
  try {
    return await work();
  } finally {
    endTask(pieces, account);
  }
}

function stats({ short, places, rejected }: AdmissionState): AdmissionStats {
  const { write, read, list, open } = places;
  return {
    running: short.running,
    inFlight: { write: write.all, read: read.all, list: list.all, open: open.all },
    rejected: { ...rejected },
  };
}

/**
 * Bounds the work in flight before it is started. Each class has places of its own, so that none fills those of another,
 * and in each the account with the most is rejected before accounts with few.
 */
export function createAdmission(clock: () => number, openWaitMs: number = OPEN_WAIT_MS) {
  const state: AdmissionState = {
    clock,
    openWaitMs,
    places: {
      write: shortPlaces(1),
      read: shortPlaces(READS_PART),
      list: longPlaces(LISTS_MAX, LISTS_PER_ACCOUNT_MAX),
      open: longPlaces(OPENS_MAX, OPENS_PER_ACCOUNT_MAX),
    },
    rejected: { write: 0, read: 0, list: 0, open: 0 },
    short: createFairSemaphore(RUNNING_MAX),
    plans: createFairSemaphore(PLANNED_MAX),
    pieces: createFairSemaphore(PIECES_MAX),
    neighbours: createNeighbours(),
    waiting: [],
    held: 0,
  };
  return {
    ...bindParts(state, { start, open, ask, enter, leave, holdBack, isAlone, stats }),
    piece: <T>(account: string, work: () => Promise<T>) => piece(state, account, work),
    plan: <T>(account: string, work: () => Promise<T>) => plan(state, account, work),
  };
}

/** Bounds the work in flight of this process. */
export type Admission = ReturnType<typeof createAdmission>;
