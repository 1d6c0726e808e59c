/** Which waiting job goes to which thread, and when. */
import { type ColdLimits, createColdLane } from './cold.ts';
import { createFairQueue } from './fair.ts';
import { createHotLane } from './hot.ts';
import type { PendingJob } from './job.ts';
import type { Thread } from './worker-thread.ts';

/** How long bulk jobs stand back for hot ones; after that the two take turns while both wait. */
const BULK_STANDS_BACK_MS = 100;

/** Most hot jobs in one frame: few enough that a job waits for little, enough to spread a message's cost. */
const FRAME_JOBS_MAX = 16;

export interface LaneOptions {
  readonly threads: number;
  readonly queueMax: number;
  readonly cold: ColdLimits;
  send(thread: Thread, jobs: readonly PendingJob[]): void;
}

export interface Lanes {
  /**
   * Takes a job in; gives the job for which there is no place then, which in a full queue is the newest of the
   * account that has most in it. A cold job is accepted here and may be dropped by `dispatch`.
   */
  accept(job: PendingJob): PendingJob | undefined;
  /** Puts a job, which came back untouched, before all others of its lane. */
  restore(job: PendingJob): void;
  /** Sends what can run now; returns the cold jobs for which there is no place. */
  dispatch(threads: readonly Thread[]): PendingJob[];
  /** Gives back the place of a job that has left its thread. */
  release(job: PendingJob): void;
  /** Removes and returns the waiting jobs that are due. */
  expire(now: number): PendingJob[];
  /** When the first waiting job is due. */
  nextDue(): number;
  waiting(): { readonly hot: number; readonly bulk: number; readonly cold: number };
  coldRunning(): number;
}

const leastLoaded = (threads: readonly Thread[]): Thread | undefined =>
  threads.reduce<Thread | undefined>(
    (best, thread) => (best === undefined || thread.jobs.size < best.jobs.size ? thread : best),
    undefined,
  );

/**
 * Cold jobs first (they hold a thread for microseconds, and have limits of their own), then hot, then bulk; but a
 * bulk job that has stood back for long goes before hot ones, one for each frame of theirs. In each lane accounts take turns.
 * A thread gets its next frame when it has answered the last one: what arrives meanwhile gathers, so batches
 * form under load and a single caller never waits. Idle threads share what has gathered. Bulk jobs travel
 * alone, and one thread is kept free of them, so that a hot job seldom waits for a chunk to end.
 */
export const createLanes = (options: LaneOptions): Lanes => {
  const hot = createHotLane();
  const bulk = createFairQueue();
  const cold = createColdLane(options.cold);
  const bulkRunningMax = Math.max(1, options.threads - 1);
  let bulkRunning = 0;
  let hotHasTurn = false;

  const sendCold = (threads: readonly Thread[]): void => {
    for (;;) {
      const thread = leastLoaded(threads);
      const job = thread && cold.take();
      if (thread === undefined || job === undefined) {
        return;
      }
      options.send(thread, [job]);
    }
  };

  const sendHot = (idle: Thread[]): void => {
    while (hot.size() > 0) {
      const share = Math.min(Math.ceil(hot.size() / idle.length), FRAME_JOBS_MAX);
      const thread = idle.pop();
      if (thread === undefined) {
        return;
      }
      hotHasTurn = false;
      options.send(thread, hot.take(share));
    }
  };

  const sendBulk = (idle: Thread[]): void => {
    while (bulkRunning < bulkRunningMax && idle.length > 0) {
      const job = bulk.take();
      const thread = job && idle.pop();
      if (job === undefined || thread === undefined) {
        return;
      }
      bulkRunning += 1;
      hotHasTurn = true;
      options.send(thread, [job]);
    }
  };

  const hasWaited = (job: PendingJob | undefined): boolean =>
    job !== undefined && performance.now() - (job.dueAt - job.deadlineMs) > BULK_STANDS_BACK_MS;

  const dispatch = (threads: readonly Thread[]): PendingJob[] => {
    if (cold.waiting() > 0) {
      sendCold(threads);
    }
    if (hot.size() + bulk.size() > 0) {
      const idle = threads.filter((thread) => thread.busy() === 0);
      if (hasWaited(bulk.oldest()) && !hotHasTurn) {
        sendBulk(idle);
      }
      sendHot(idle);
      sendBulk(idle);
    }
    return cold.trim();
  };

  return {
    dispatch,
    accept(job) {
      if (job.lane === 'cold') {
        cold.add(job);
        return undefined;
      }
      const queue = job.lane === 'hot' ? hot : bulk;
      queue.add(job);
      return queue.size() > options.queueMax ? queue.drop() : undefined;
    },
    restore(job) {
      if (job.lane === 'cold') {
        cold.restore(job);
      } else if (job.lane === 'bulk') {
        bulk.restore(job);
      } else {
        hot.restore(job);
      }
    },
    release(job) {
      if (job.lane === 'cold') {
        cold.release(job);
      } else if (job.lane === 'bulk') {
        bulkRunning -= 1;
      }
    },
    expire: (now) => [...hot.expire(now), ...bulk.expire(now), ...cold.expire(now)],
    nextDue: () => Math.min(hot.nextDue(), bulk.nextDue(), cold.nextDue()),
    waiting: () => ({ hot: hot.size(), bulk: bulk.size(), cold: cold.waiting() }),
    coldRunning: cold.running,
  };
};
