import { pause } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { RequestContext } from '../request/context.ts';
import { createFairSemaphore, leave as endTask, enter as startTask } from './fair-queue.ts';
import { createNeighbours, hasNeighbours, record } from './neighbours.ts';

/**
 * Classes of work, the most important first: storing, reading single items (and everything else that is short), listings
 * without data, listings with data.
 */
export type WorkClass = 'write' | 'read' | 'list' | 'open';

/** The numbers of requests in flight and of rejected ones. */
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
/** The longest time with more than that. */
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
/** Requests without a place to read a whole key wait a while for one, in a short queue. */
const OPENS_WAITING_MAX = 32;
const OPENS_WAITING_PER_ACCOUNT_MAX = 12;
const OPEN_WAIT_MS = 5_000;

/** The delay of a rejection, and the most delayed ones: otherwise an immediate retry would cost more than waiting. */
const HELD_MS = 250;
const HELD_MAX = 1_024;

/** The numbers of taken places, in all and by account. */
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

/**
 * Bounds the work in flight of this process before it is started. Each class has places of its own, so that none fills those
 * of another, and in each the account with the most is rejected before accounts with few.
 */
export class Admission {
  private readonly places: Readonly<Record<WorkClass, ShortPlaces | LongPlaces>> = {
    write: shortPlaces(1),
    read: shortPlaces(READS_PART),
    list: longPlaces(LISTS_MAX, LISTS_PER_ACCOUNT_MAX),
    open: longPlaces(OPENS_MAX, OPENS_PER_ACCOUNT_MAX),
  };
  private readonly rejected: Record<WorkClass, number> = { write: 0, read: 0, list: 0, open: 0 };
  private readonly short = createFairSemaphore(RUNNING_MAX);
  private readonly plans = createFairSemaphore(PLANNED_MAX);
  private readonly pieces = createFairSemaphore(PIECES_MAX);
  private readonly neighbours = createNeighbours();
  private readonly waiting: Waiting[] = [];
  /** Rejections that are held back. */
  private held = 0;

  constructor(
    private readonly clock: () => number,
    private readonly openWaitMs: number = OPEN_WAIT_MS,
  ) {}

  /**
   * Takes the one place of a request for short work, and waits while too much is running: accounts are served fairly, and
   * so are the classes of one account. `leave` releases it.
   */
  enter(ctx: RequestContext, work: 'write' | 'read', account: string): Promise<void> | undefined {
    const { short } = this;
    this.take(work, account);
    // Requests without credentials, such as the probe of a load balancer, are no neighbours.
    if (ctx.account !== undefined || ctx.source !== 'vault') {
      this.ask(account);
      short.queueMax = this.isAlone(account) ? RUNNING_MAX : RUNNING_EACH_MAX;
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

  /** Records that an account, or a source, has sent a request: it is a neighbour of the others for a second. */
  ask(account: string): void {
    record(this.neighbours, account, this.clock());
  }

  /** Releases the place of a request, if it has one. */
  leave(ctx: RequestContext): void {
    const { slot } = ctx;
    if (slot !== undefined) {
      ctx.slot = undefined;
      endTask(this.short, slot.queue);
      this.release(slot.work, slot.account);
    }
  }

  /** Waits before a request is rejected for lack of a place, unless many wait already. */
  async holdBack(): Promise<void> {
    if (this.held < HELD_MAX) {
      this.held += 1;
      await pause(HELD_MS);
      this.held -= 1;
    }
  }

  /**
   * Takes a place for work of an account, or of a source without one; throws `overloaded` if there is none. Returns the function
   * that releases the place; a second call has no effect.
   */
  start(work: WorkClass, account: string): () => void {
    this.take(work, account);
    let isOver = false;
    return () => {
      if (!isOver) {
        isOver = true;
        this.release(work, account);
      }
    };
  }

  /** Does the same for reading a whole key, and waits a few seconds for a place. */
  async open(account: string): Promise<() => void> {
    return this.hasPlace('open', account) ? this.start('open', account) : this.waitToOpen(account);
  }

  /** Runs the planning and the start of a listing: few at once, accounts served fairly. */
  async plan<T>(account: string, work: () => Promise<T>): Promise<T> {
    await startTask(this.plans, account);
    try {
      return await work();
    } finally {
      endTask(this.plans, account);
    }
  }

  /** Runs the commands for a piece of a page; accounts are queued fairly, and leave room for each other's single items. */
  async piece<T>(account: string, work: () => Promise<T>): Promise<T> {
    const { pieces } = this;
    pieces.queueMax = this.isAlone(account) ? PIECES_MAX : PIECES_EACH_MAX;
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

  /** Whether no other account has sent requests within the last second. */
  isAlone(account: string): boolean {
    return !hasNeighbours(this.neighbours, account, this.clock());
  }

  stats(): AdmissionStats {
    const { write, read, list, open } = this.places;
    return {
      running: this.short.running,
      inFlight: { write: write.all, read: read.all, list: list.all, open: open.all },
      rejected: { ...this.rejected },
    };
  }

  private take(work: WorkClass, account: string): void {
    if (!this.hasPlace(work, account)) {
      throw this.reject(work);
    }
    const places = this.places[work];
    places.all += 1;
    places.taken.set(account, (places.taken.get(account) ?? 0) + 1);
  }

  private release(work: WorkClass, account: string): void {
    const places = this.places[work];
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
      this.startWaiting();
    }
  }

  /** Whether an account may take one more place. */
  private hasPlace(work: WorkClass, account: string): boolean {
    const wanted = this.places[work];
    if (wanted.kind === 'short') {
      return hasShort(wanted, account, this.clock());
    }
    return wanted.all < wanted.max && (wanted.taken.get(account) ?? 0) < wanted.perAccountMax;
  }

  private reject(work: WorkClass): VaultError {
    this.rejected[work] += 1;
    return new VaultError('overloaded');
  }

  private waitToOpen(account: string): Promise<() => void> {
    const { waiting } = this;
    const own = waiting.filter((other) => other.account === account).length;
    if (waiting.length >= OPENS_WAITING_MAX || own >= OPENS_WAITING_PER_ACCOUNT_MAX) {
      throw this.reject('open');
    }
    return new Promise((resolve, fail) => {
      const entry: Waiting = {
        account,
        resume: () => {
          clearTimeout(timer);
          resolve(this.start('open', account));
        },
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(entry), 1);
        fail(this.reject('open'));
      }, this.openWaitMs);
      waiting.push(entry);
    });
  }

  private startWaiting(): void {
    const next = this.waiting.findIndex(({ account }) => this.hasPlace('open', account));
    this.waiting.splice(next, next < 0 ? 0 : 1)[0]?.resume();
  }
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
