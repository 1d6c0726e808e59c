import { FairQueue } from './fair.ts';
import { isStretching, type Lane, type PendingJob } from './job.ts';
import type { Thread } from './worker-thread.ts';

/** Time for which bulk jobs give way to hot ones; after that the two alternate while both wait. */
const BULK_GIVES_WAY_MS = 100;

/** Most hot jobs in one frame: few enough that a job waits for little, enough to spread a message's cost. */
const FRAME_JOBS_MAX = 16;

/** The load of a thread, as far as scheduling needs it. */
export type ThreadLoad = Pick<Thread, 'jobs' | 'held'>;

/** Limits of a lane whose jobs each take the memory of an Argon2id run and a core. */
interface ColdLimits {
  /** Jobs in threads at once, over all threads. */
  readonly concurrency: number;
  /** Jobs that wait beyond those. */
  readonly queueMax: number;
  /** Jobs in threads at once for one account, or for one source. */
  readonly perAccountMax: number;
  /** The lane pauses after each job for as long as that has run, and leaves the core to others meanwhile. */
  readonly rests?: boolean;
}

/** A lane with such limits, and its jobs in threads. */
class ColdLane {
  running = 0;
  /** End of its pause, on `performance.now()`. */
  restsUntil = 0;
  private readonly runningOf = new Map<string, number>();

  constructor(
    readonly limits: ColdLimits,
    readonly queue: FairQueue,
  ) {}

  /** Removes the next job that may run, and counts it as running; undefined without one, or without one of `places`. */
  acquire(places: number): PendingJob | undefined {
    const { queue, runningOf, limits } = this;
    const mayRun = (account: string): boolean => (runningOf.get(account) ?? 0) < limits.perAccountMax;
    const job = this.running < places ? queue.take(mayRun) : undefined;
    if (job !== undefined) {
      runningOf.set(job.account, (runningOf.get(job.account) ?? 0) + 1);
      this.running += 1;
    }
    return job;
  }

  release({ account, dueAt, deadlineMs }: PendingJob): void {
    this.running -= 1;
    if (this.limits.rests === true) {
      const now = performance.now();
      this.restsUntil = now + (now - (dueAt - deadlineMs));
    }
    const left = (this.runningOf.get(account) ?? 1) - 1;
    if (left === 0) {
      this.runningOf.delete(account);
    } else {
      this.runningOf.set(account, left);
    }
  }
}

/** The settings of the lanes, and how a frame gets into a thread. */
interface LaneOptions<T extends ThreadLoad> {
  readonly threads: number;
  /** Hot jobs that may wait, and as many bulk jobs. */
  readonly queueMax: number;
  /**
   * One account alone may fill the whole queue; when others come, the newest job of the account with the most jobs loses
   * its place first.
   */
  readonly cold: ColdLimits;
  /** Limits for unauthenticated callers. Their places are taken from the cold lane's, of which at least one is left. */
  readonly guess: ColdLimits;
  readonly send: (thread: T, jobs: readonly PendingJob[]) => void;
}

/**
 * Decides which waiting job goes to which thread, and when. Cold jobs go first (they hold a thread for microseconds, and
 * have separate limits), then hot, then bulk; but a bulk job that has given way for long goes before hot ones, one
 * for each frame of theirs. In each lane accounts take turns. A thread gets its next frame when it has answered the last
 * one: jobs that arrive meanwhile gather, so batches form under load and a single caller never waits. Idle threads share
 * what has gathered. Bulk jobs travel alone, and one thread is kept free of them, so that a hot job seldom waits for a
 * page to end.
 */
export class Lanes<T extends ThreadLoad = Thread> {
  readonly cold: ColdLane;
  readonly guess: ColdLane;
  private readonly queues: Readonly<Record<Lane, FairQueue>> = {
    hot: new FairQueue(),
    bulk: new FairQueue(),
    cold: new FairQueue(),
    guess: new FairQueue(),
  };
  /**
   * Hot jobs that came back from a dead thread and did not cause its end. They go first, and never share a frame with new
   * ones, so that further jobs that crash a thread cannot affect them again.
   */
  private cleared: PendingJob[] = [];
  private bulkRunning = 0;
  private hotHasTurn = false;

  constructor(private readonly options: LaneOptions<T>) {
    this.cold = new ColdLane(options.cold, this.queues.cold);
    this.guess = new ColdLane(options.guess, this.queues.guess);
  }

  /**
   * Queues a job; returns the job that then has no place, which in a full queue is the newest of the account that has
   * most in it. A cold job, or a guess, is accepted here and may be dropped by `dispatch`.
   */
  accept(job: PendingJob): PendingJob | undefined {
    const queue = this.queues[job.lane];
    queue.add(job);
    return !isStretching(job.lane) && this.waitingOf(job.lane) > this.options.queueMax
      ? queue.drop()
      : undefined;
  }

  /** Puts a job that came back untouched before all others of its lane. */
  restore(job: PendingJob): void {
    if (job.lane === 'hot') {
      this.cleared.unshift(job);
    } else {
      this.queues[job.lane].add(job, true);
    }
  }

  /** Releases the place of a job that has left its thread. */
  release(job: PendingJob): void {
    if (job.lane === 'bulk') {
      this.bulkRunning -= 1;
    } else if (isStretching(job.lane)) {
      this[job.lane].release(job);
    }
  }

  /** Sends the jobs that can run now; returns the cold jobs and the guesses for which there is no place. */
  dispatch(threads: readonly T[]): PendingJob[] {
    const { bulk, cold, guess } = this.queues;
    const dropped = cold.size + guess.size > 0 ? this.sendStretching(threads) : [];
    if (this.waitingOf('hot') + bulk.size > 0) {
      const idle = threads.filter((thread) => thread.held === 0);
      if (!this.hotHasTurn && bulk.longestWaitMs(performance.now()) > BULK_GIVES_WAY_MS) {
        this.sendBulk(idle);
      }
      this.sendHot(idle);
      this.sendBulk(idle);
    }
    return dropped;
  }

  /** Time at which waiting guesses may be sent, if they only wait for the end of a pause; otherwise Infinity. */
  nextGuessAt(): number {
    const { queue, restsUntil } = this.guess;
    return queue.size > 0 && restsUntil > performance.now() ? restsUntil : Number.POSITIVE_INFINITY;
  }

  /** Removes and returns the waiting jobs that are due. */
  expire(now: number): PendingJob[] {
    const due = this.cleared.filter((job) => job.dueAt <= now);
    this.cleared = this.cleared.filter((job) => job.dueAt > now);
    return [...due, ...Object.values(this.queues).flatMap((queue) => queue.expire(now))];
  }

  /** Time at which the first waiting job is due; Infinity when none waits. */
  nextDueAt(): number {
    const queues = Object.values(this.queues);
    return Math.min(...this.cleared.map((job) => job.dueAt), ...queues.map((queue) => queue.nextDueAt()));
  }

  waitingOf(lane: Lane): number {
    return this.queues[lane].size + (lane === 'hot' ? this.cleared.length : 0);
  }

  private sendStretching(threads: readonly T[]): PendingJob[] {
    const { guess, cold } = this;
    const dropped = this.sendCold(
      guess,
      guess.restsUntil > performance.now() ? 0 : guess.limits.concurrency,
      threads,
    );
    // Guesses that run or wait have their places, but one is always left.
    const { concurrency } = cold.limits;
    const isGuessing = guess.running + guess.queue.size > 0;
    const places = isGuessing ? Math.max(1, concurrency - guess.limits.concurrency) : concurrency;
    return [...dropped, ...this.sendCold(cold, places, threads)];
  }

  /** Sends the jobs of a lane that may run, and removes those over `queueMax` that may not. */
  private sendCold(lane: ColdLane, places: number, threads: readonly T[]): PendingJob[] {
    const [first, ...others] = threads.filter((thread) => !isStuck(thread));
    for (let job = first && lane.acquire(places); first && job; job = lane.acquire(places)) {
      const leastLoaded = others.reduce(
        (best, thread) => (thread.jobs.size < best.jobs.size ? thread : best),
        first,
      );
      this.options.send(leastLoaded, [job]);
    }
    const excess = Math.max(0, lane.queue.size - lane.limits.queueMax);
    return Array.from({ length: excess }, () => lane.queue.drop()).filter((job) => job !== undefined);
  }

  private sendHot(idle: T[]): void {
    const { hot } = this.queues;
    for (let count = this.waitingOf('hot'); count > 0; count = this.waitingOf('hot')) {
      const share = Math.min(Math.ceil(count / idle.length), FRAME_JOBS_MAX);
      const thread = idle.pop();
      if (thread === undefined) {
        return;
      }
      this.hotHasTurn = false;
      this.options.send(
        thread,
        this.cleared.length > 0 ? this.cleared.splice(0, share) : hot.takeMany(share),
      );
    }
  }

  private sendBulk(idle: T[]): void {
    const runningMax = Math.max(1, this.options.threads - 1);
    while (this.bulkRunning < runningMax && idle.length > 0) {
      const job = this.queues.bulk.take();
      const thread = job && idle.pop();
      if (job === undefined || thread === undefined) {
        return;
      }
      this.bulkRunning += 1;
      this.hotHasTurn = true;
      this.options.send(thread, [job]);
    }
  }
}

/** Tests whether a job that holds the thread has missed its deadline: until it ends, no other job begins. */
function isStuck({ jobs, held }: ThreadLoad): boolean {
  return held > 0 && jobs.values().some((job) => job.missed > 0 && !isStretching(job.lane));
}
