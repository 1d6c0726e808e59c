/** Which waiting job goes to which thread, and when. */
import * as cold from './cold.ts';
import * as fair from './fair.ts';
import * as hot from './hot.ts';
import type { PendingJob } from './job.ts';
import type { Thread } from './worker-thread.ts';

/** How long bulk jobs stand back for hot ones; after that the two take turns while both wait. */
const BULK_STANDS_BACK_MS = 100;

/** Most hot jobs in one frame: few enough that a job waits for little, enough to spread a message's cost. */
const FRAME_JOBS_MAX = 16;

/** The load of a thread, as far as scheduling needs it. */
export type ThreadLoad = Pick<Thread, 'jobs' | 'held'>;

/** The settings of the lanes, and how a frame gets into a thread. */
export interface LaneOptions<T extends ThreadLoad> {
  readonly threads: number;
  /** Hot jobs that may wait, and as many bulk jobs. */
  readonly queueMax: number;
  readonly cold: cold.ColdLimits;
  readonly send: (thread: T, jobs: readonly PendingJob[]) => void;
}

/**
 * Cold jobs first (they hold a thread for microseconds, and have limits of their own), then hot, then bulk; but a
 * bulk job that has stood back for long goes before hot ones, one for each frame of theirs. In each lane accounts
 * take turns. A thread gets its next frame when it has answered the last one: what arrives meanwhile gathers, so
 * batches form under load and a single caller never waits. Idle threads share what has gathered. Bulk jobs travel
 * alone, and one thread is kept free of them, so that a hot job seldom waits for a page to end.
 */
export interface Lanes<T extends ThreadLoad = Thread> {
  readonly options: LaneOptions<T>;
  readonly hot: hot.HotLane;
  readonly bulk: fair.FairQueue;
  readonly cold: cold.ColdLane;
  readonly bulkRunningMax: number;
  bulkRunning: number;
  hotHasTurn: boolean;
}

/** Empty lanes. */
export function createLanes<T extends ThreadLoad>(options: LaneOptions<T>): Lanes<T> {
  return {
    options,
    hot: hot.createHotLane(),
    bulk: fair.createFairQueue(),
    cold: cold.createColdLane(options.cold),
    bulkRunningMax: Math.max(1, options.threads - 1),
    bulkRunning: 0,
    hotHasTurn: false,
  };
}

/**
 * Queues a job; gives the job that then has no place, which in a full queue is the newest of the account that has
 * most in it. A cold job is accepted here and may be dropped by `dispatch`.
 */
export function accept<T extends ThreadLoad>(lanes: Lanes<T>, job: PendingJob): PendingJob | undefined {
  if (job.lane === 'cold') {
    fair.add(lanes.cold.waiting, job);
    return undefined;
  }
  const { queueMax } = lanes.options;
  if (job.lane === 'bulk') {
    fair.add(lanes.bulk, job);
    return lanes.bulk.size > queueMax ? fair.drop(lanes.bulk) : undefined;
  }
  fair.add(lanes.hot.fresh, job);
  return hot.size(lanes.hot) > queueMax ? fair.drop(lanes.hot.fresh) : undefined;
}

/** Puts a job that came back untouched before all others of its lane. */
export function restore<T extends ThreadLoad>(lanes: Lanes<T>, job: PendingJob): void {
  switch (job.lane) {
    case 'cold':
      fair.restore(lanes.cold.waiting, job);
      break;
    case 'bulk':
      fair.restore(lanes.bulk, job);
      break;
    case 'hot':
      hot.restore(lanes.hot, job);
      break;
  }
}

/** Gives back the place of a job that has left its thread. */
export function release<T extends ThreadLoad>(lanes: Lanes<T>, job: PendingJob): void {
  if (job.lane === 'cold') {
    cold.release(lanes.cold, job);
  } else if (job.lane === 'bulk') {
    lanes.bulkRunning -= 1;
  }
}

/** Sends what can run now; returns the cold jobs for which there is no place. */
export function dispatch<T extends ThreadLoad>(lanes: Lanes<T>, threads: readonly T[]): PendingJob[] {
  if (lanes.cold.waiting.size > 0) {
    sendCold(lanes, threads);
  }
  if (hot.size(lanes.hot) + lanes.bulk.size > 0) {
    const idle = threads.filter((thread) => thread.held === 0);
    if (!lanes.hotHasTurn && fair.longestWaitMs(lanes.bulk, performance.now()) > BULK_STANDS_BACK_MS) {
      sendBulk(lanes, idle);
    }
    sendHot(lanes, idle);
    sendBulk(lanes, idle);
  }
  return cold.trim(lanes.cold);
}

/** Removes and returns the waiting jobs that are due. */
export function expire<T extends ThreadLoad>(lanes: Lanes<T>, now: number): PendingJob[] {
  return [
    ...hot.expire(lanes.hot, now),
    ...fair.expire(lanes.bulk, now),
    ...fair.expire(lanes.cold.waiting, now),
  ];
}

/** When the first waiting job is due; Infinity when none waits. */
export function nextDue<T extends ThreadLoad>(lanes: Lanes<T>): number {
  return Math.min(hot.nextDue(lanes.hot), fair.nextDue(lanes.bulk), fair.nextDue(lanes.cold.waiting));
}

/** The number of waiting jobs of each lane. */
export function waiting<T extends ThreadLoad>(lanes: Lanes<T>) {
  return { hot: hot.size(lanes.hot), bulk: lanes.bulk.size, cold: lanes.cold.waiting.size };
}

function sendCold<T extends ThreadLoad>(lanes: Lanes<T>, threads: readonly T[]): void {
  for (;;) {
    const thread = leastLoaded(threads);
    const job = thread && cold.take(lanes.cold);
    if (thread === undefined || job === undefined) {
      return;
    }
    lanes.options.send(thread, [job]);
  }
}

function sendHot<T extends ThreadLoad>(lanes: Lanes<T>, idle: T[]): void {
  for (let count = hot.size(lanes.hot); count > 0; count = hot.size(lanes.hot)) {
    const share = Math.min(Math.ceil(count / idle.length), FRAME_JOBS_MAX);
    const thread = idle.pop();
    if (thread === undefined) {
      return;
    }
    lanes.hotHasTurn = false;
    lanes.options.send(thread, hot.take(lanes.hot, share));
  }
}

function sendBulk<T extends ThreadLoad>(lanes: Lanes<T>, idle: T[]): void {
  while (lanes.bulkRunning < lanes.bulkRunningMax && idle.length > 0) {
    const job = fair.take(lanes.bulk);
    const thread = job && idle.pop();
    if (job === undefined || thread === undefined) {
      return;
    }
    lanes.bulkRunning += 1;
    lanes.hotHasTurn = true;
    lanes.options.send(thread, [job]);
  }
}

function leastLoaded<T extends ThreadLoad>(threads: readonly T[]): T | undefined {
  return threads.reduce<T | undefined>(
    (best, thread) => (best === undefined || thread.jobs.size < best.jobs.size ? thread : best),
    undefined,
  );
}
