import { pause } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { RequestContext } from '../request/context.ts';
import { createFairSemaphore, leave as endTask, enter as startTask } from './fair-queue.ts';
import { createNeighbours, hasNeighbours, record } from './neighbours.ts';

/** Classes of work, the most important first: storing, other short work, listings without data, listings with data. */
export type WorkClass = 'write' | 'read' | 'list' | 'open';

/** The numbers of requests in flight and of rejected ones. */
export interface AdmissionStats {
  /** Short work that is running, not waiting. */
  readonly running: number;
  readonly inFlight: Readonly<Record<WorkClass, number>>;
  readonly rejected: Readonly<Record<WorkClass, number>>;
}

/** Requests in flight during a burst: for one account, as many as fit into the threads' queue. */
const BURST = 2_400;
/** Requests in flight for longer: the work of a fraction of a second. */
const STEADY = 512;
/** The longest time with more than `STEADY`. */
const BURST_MS = 1_000;
/** An account is admitted below this multiple of the free slots: alone it gets 7/8, two equal ones 7/15 each. */
const SHARE = 7;
/** An account with fewer requests is admitted even while another account's burst is processed. */
const FEW = 16;
/** The slots of reads, as a part of those of writes. */
const READS_PART = 0.75;

/** Short work that runs at once: enough to keep Redis and the threads busy. The rest waits in the fair queue, not in Redis. */
const RUNNING_MAX = 96;
/** The limit of an account in a class while another is active: others wait for running work, in Redis and in threads. */
const RUNNING_EACH_MAX = 16;
/** Parts of pages that are read from Redis or logged at once. */
const PIECES_MAX = 128;
/** The limit of an account while another is active: about a millisecond of Redis. */
const PIECES_EACH_MAX = 4;
/** Listings that are planned and started at once: each reads thousands of positions. */
const PLANNED_MAX = 2;

const LISTS_MAX = 512;
const LISTS_PER_ACCOUNT_MAX = 256;
const OPENS_MAX = 16;
const OPENS_PER_ACCOUNT_MAX = 4;
/** Requests that wait for a slot to read a whole key. */
const OPENS_WAITING_MAX = 32;
const OPENS_WAITING_PER_ACCOUNT_MAX = 12;
const OPEN_WAIT_MS = 5_000;

/** The delay of a rejection, and the most delayed ones: an immediate retry would cost more than waiting. */
const HELD_MS = 250;
const HELD_MAX = 1_024;

/** The acquired slots, in total and by account. */
interface Places {
  readonly taken: Map<string, number>;
  all: number;
}

/** Slots for short work, `part` of those of writes. A burst is admitted; a queue that does not get shorter is not. */
interface ShortPlaces extends Places {
  readonly kind: 'short';
  readonly part: number;
  /** The time since which there is more than `STEADY`. */
  longSince: number | undefined;
}

interface LongPlaces extends Places {
  readonly kind: 'long';
  readonly max: number;
  readonly perAccountMax: number;
}

/** A request that waits for a slot to read a whole key. */
interface Waiting {
  readonly account: string;
  readonly resume: () => void;
}

/**
 * Bounds the work in flight of this process before it starts. Each class has separate slots, and in each the account with the
 * most requests is rejected before accounts with few.
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
  private held = 0;

  constructor(
    private readonly clock: () => number,
    private readonly openWaitMs: number = OPEN_WAIT_MS,
  ) {}

  /** Acquires the slot of a request for short work, in fair order of accounts and their classes. `leave` releases it. */
  enter(ctx: RequestContext, work: 'write' | 'read', account: string): Promise<void> | undefined {
    const { short } = this;
    this.take(work, account);
    // Requests without credentials, such as health checks, do not count as activity.
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

  /** Records a request of an account or a source, which is active for a second. */
  ask(account: string): void {
    record(this.neighbours, account, this.clock());
  }

  leave(ctx: RequestContext): void {
    const { slot } = ctx;
    if (slot !== undefined) {
      ctx.slot = undefined;
      endTask(this.short, slot.queue);
      this.release(slot.work, slot.account);
    }
  }

  /** Delays the rejection of a request with `overloaded`, unless many are delayed already. */
  async holdBack(): Promise<void> {
    if (this.held < HELD_MAX) {
      this.held += 1;
      await pause(HELD_MS);
      this.held -= 1;
    }
  }

  /**
   * Acquires a slot for work of an account, or of a source without one; throws `overloaded` if there is none. Returns the
   * function that releases it; a second call has no effect.
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

  /** Acquires a slot for reading a whole key, and waits a few seconds for it. */
  async open(account: string): Promise<() => void> {
    return this.hasPlace('open', account) ? this.start('open', account) : this.waitToOpen(account);
  }

  /** Runs the planning and the start of a listing: few at once, in fair order of accounts. */
  async plan<T>(account: string, work: () => Promise<T>): Promise<T> {
    await startTask(this.plans, account);
    try {
      return await work();
    } finally {
      endTask(this.plans, account);
    }
  }

  /** Runs the commands for a part of a page, in fair order of accounts and with room for single items of others. */
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

  /** True if no other account has sent requests within the last second. */
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
    // Half of it: a queue at constant length because of rejections is no new burst.
    if (places.kind === 'short' && places.all < (STEADY * places.part) / 2) {
      places.longSince = undefined;
    }
    if (work === 'open') {
      this.startWaiting();
    }
  }

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
