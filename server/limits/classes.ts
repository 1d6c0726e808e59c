const MIB = 1_048_576;
/** Asynchronous jobs that run at once, and that wait in the limiter. */
export const JOBS_RUNNING = 64;
export const JOBS_WAITING = 16;
/** The same for deliveries of events, so that slow receivers take no room of requests. */
export const EVENTS_RUNNING = 32;
export const EVENTS_WAITING = 16;
/** Waiting is bounded by the classes that the work is a part of. */
const UNBOUNDED = Number.POSITIVE_INFINITY;

/** Limits of one class of work. A unit is a request, a job, or a byte. */
export interface ClassLimits {
  /** The most units at once. */
  readonly max: number;
  /** The most units of one owner: less than `max` where another owner's first request must not wait. */
  readonly each: number;
  /** The same while another owner is active; omitted: `each`. */
  readonly beside?: number;
  /** The most requests that wait; 0: one without room is rejected at once. */
  readonly waiting: number;
  /** The longest wait in ms. */
  readonly waitMs: number;
}

/** The capacity of this process that limits follow. */
export interface Capacity {
  readonly threads: number;
  /** Argon2id runs at once: for accounts, and for callers that have not succeeded lately. */
  readonly unlocks: number;
  readonly guesses: number;
}

/**
 * Short requests. 96 keep Redis and the threads busy; 16 of an owner delay others by a few ms only. A burst of 2,400 is
 * worked off in about a second. The wait is that of a passphrase, behind which an owner's requests may be.
 */
const SHORT = { max: 96, each: 84, beside: 16, waiting: 2_304, waitMs: 30_000 } as const;
/** Bodies that are rejected or cut, never queued. Half for one owner, so that two are needed to fill a class. */
const bodies = (max: number) => ({ max, each: max / 2, waiting: 0, waitMs: 0 });

/** The limits of all classes of work. */
export function limitsOf({ threads, unlocks, guesses }: Capacity) {
  const pages = Math.max(2, threads);
  return {
    /** Requests that store, update or capture. */
    write: SHORT,
    /** All other short requests: separate from writes, which neither wait for reads nor make them wait. */
    read: SHORT,
    /** Listings without data: each buffers two short pages while it is not read. */
    list: { max: 512, each: 256, waiting: 0, waitMs: 0 },
    /**
     * Listings with data, exports, long batches to decrypt: each buffers about 3 MB. Fewer wait than an owner has short requests,
     * of which each is one.
     */
    open: { max: 16, each: 4, waiting: 12, waitMs: 5_000 },
    /** Plans and starts of listings: each reads thousands of positions. */
    plan: { max: 2, each: 2, beside: 1, waiting: UNBOUNDED, waitMs: UNBOUNDED },
    /** Parts of pages in Redis: four take it about a millisecond. */
    piece: { max: 128, each: 112, beside: 4, waiting: UNBOUNDED, waitMs: UNBOUNDED },
    /** Long jobs in the pool: one more than can run there, so that the next owner's waits for one job. */
    page: { max: pages, each: pages, waiting: 2_000, waitMs: 20_000 },
    /** Argon2id for accounts: two of one owner, so that others have cores. The queue is some seconds of work. */
    unlock: { max: unlocks, each: 2, waiting: 32, waitMs: 30_000 },
    /** Argon2id for callers that have not succeeded lately: few wait, since a delay does them no harm. */
    guess: { max: guesses, each: 1, waiting: 16, waitMs: 10_000 },
    /** Bytes of calls to third parties: 1,024 short ones, a quarter for one owner. */
    call: { max: 128 * MIB, each: 32 * MIB, waiting: 0, waitMs: 0 },
    /** Long replies of third parties that are read: each takes about 4 MB. Their calls have deadlines of their own. */
    reply: { max: 32, each: 8, waiting: UNBOUNDED, waitMs: UNBOUNDED },
    /** Asynchronous jobs: each may hold long replies. Few wait, so that accounts take turns; the others are repeated by their queue. */
    job: { max: JOBS_RUNNING, each: JOBS_RUNNING / 2, waiting: JOBS_WAITING, waitMs: 5_000 },
    /** Deliveries of events: a quarter for one account, whose receivers may be slow. */
    event: { max: EVENTS_RUNNING, each: EVENTS_RUNNING / 4, waiting: EVENTS_WAITING, waitMs: 5_000 },
    /**
     * Sign-ins at a provider of OpenID Connect, which wait for it: a third of the short requests, so that a provider that hangs leaves
     * these room. An office behind one address is an owner.
     */
    signIn: { max: 32, each: 8, waiting: 32, waitMs: 5_000 },
    /** Bytes of bodies up to 64 KB of callers that are not signed in: 2,048 of the smallest. */
    shortBody: bodies(16 * MIB),
    /** Bytes of longer bodies of these callers, which must not take the room of short ones. */
    longBody: bodies(16 * MIB),
    /** Bytes of bodies of accounts that arrive later than their heads. */
    slowBody: bodies(128 * MIB),
  } as const satisfies Readonly<Record<string, ClassLimits>>;
}

export type WorkClass = keyof ReturnType<typeof limitsOf>;
