/** Which waiting job goes to which thread, and when. */
import * as fair from './fair.ts';
import { isStretching, type Lane, type PendingJob } from './job.ts';
import type { Thread } from './worker-thread.ts';

/** How long bulk jobs give way to hot ones; after that the two alternate while both wait. */
const BULK_GIVES_WAY_MS = 100;

/** Most hot jobs in one frame: few enough that a job waits for little, enough to spread a message's cost. */
const FRAME_JOBS_MAX = 16;

/** The load of a thread, as far as scheduling needs it. */
export type ThreadLoad = Pick<Thread, 'jobs' | 'held'>;

/** Limits of a lane whose jobs each take the memory of an Argon2id run and a core. */
export interface ColdLimits {
  /** Jobs in threads at once, over all threads. */
  readonly concurrency: number;
  /** Jobs that wait beyond those. */
  readonly queueMax: number;
  /** Jobs in threads at once for one account. */
  readonly perAccountMax: number;
  /** Whether the lane rests after each job for as long as that has run, and leaves the core to others meanwhile. */
  readonly rests?: boolean;
}

/** A lane of such jobs. At most `perAccountMax` of one account, or of one source, run. */
interface ColdLane {
  readonly limits: ColdLimits;
  readonly queue: fair.FairQueue;
  readonly runningOf: Map<string, number>;
  running: number;
  /** When its rest is over, on `performance.now()`. */
  restsUntil: number;
}

/** The settings of the lanes, and how a frame gets into a thread. */
export interface LaneOptions<T extends ThreadLoad> {
  readonly threads: number;
  /** Hot jobs that may wait, and as many bulk jobs. */
  readonly queueMax: number;
  readonly cold: ColdLimits;
  /** Those of the guess lane: its places are taken from the cold lane's, of which at least one is left. */
  readonly guess: ColdLimits;
  readonly send: (thread: T, jobs: readonly PendingJob[]) => void;
}

/**
 * Cold jobs first (they hold a thread for microseconds, and have limits of their own), then hot, then bulk; but a
 * bulk job that has given way for long goes before hot ones, one for each frame of theirs. In each lane accounts
 * take turns. A thread gets its next frame when it has answered the last one: what arrives meanwhile gathers, so
 * batches form under load and a single caller never waits. Idle threads share what has gathered. Bulk jobs travel
 * alone, and one thread is kept free of them, so that a hot job seldom waits for a page to end.
 */
export interface Lanes<T extends ThreadLoad = Thread> {
  readonly options: LaneOptions<T>;
  readonly hot: fair.FairQueue;
  /**
   * Hot jobs that came back from a dead thread and did not cause its end. They go first, and never share a frame with new
   * ones, so that further jobs that crash a thread cannot affect them again.
   */
  cleared: PendingJob[];
  readonly bulk: fair.FairQueue;
  bulkRunning: number;
  hotHasTurn: boolean;
  /** One account alone may fill the whole queue; when others come, the newest job of the longest line loses its place first. */
  readonly cold: ColdLane;
  /** The same for callers who may be anybody: however many come, they leave the places of the cold lane to others. */
  readonly guess: ColdLane;
}

function createColdLane(limits: ColdLimits): ColdLane {
  return { limits, queue: fair.createFairQueue(), runningOf: new Map(), running: 0, restsUntil: 0 };
}

/** Empty lanes. */
export function createLanes<T extends ThreadLoad>(options: LaneOptions<T>): Lanes<T> {
  return {
    options,
    hot: fair.createFairQueue(),
    cleared: [],
    bulk: fair.createFairQueue(),
    bulkRunning: 0,
    hotHasTurn: false,
    cold: createColdLane(options.cold),
    guess: createColdLane(options.guess),
  };
}

function queueOf<T extends ThreadLoad>(lanes: Lanes<T>, lane: Lane): fair.FairQueue {
  return isStretching(lane) ? lanes[lane].queue : lanes[lane];
}

/**
 * Queues a job; gives the job that then has no place, which in a full queue is the newest of the account that has
 * most in it. A cold job, or a guess, is accepted here and may be dropped by `dispatch`.
 */
export function accept<T extends ThreadLoad>(lanes: Lanes<T>, job: PendingJob): PendingJob | undefined {
  const queue = queueOf(lanes, job.lane);
  fair.add(queue, job);
  return !isStretching(job.lane) && waitingOf(lanes, job.lane) > lanes.options.queueMax
    ? fair.drop(queue)
    : undefined;
}

/** Puts a job that came back untouched before all others of its lane. */
export function restoreJob<T extends ThreadLoad>(lanes: Lanes<T>, job: PendingJob): void {
  if (job.lane === 'hot') {
    lanes.cleared.unshift(job);
  } else {
    fair.restore(queueOf(lanes, job.lane), job);
  }
}

/** Releases the place of a job that has left its thread. */
export function release<T extends ThreadLoad>(lanes: Lanes<T>, job: PendingJob): void {
  const { lane, account } = job;
  if (lane === 'bulk') {
    lanes.bulkRunning -= 1;
  } else if (isStretching(lane)) {
    const { runningOf, limits } = lanes[lane];
    lanes[lane].running -= 1;
    if (limits.rests === true) {
      const sentAt = job.dueAt - job.deadlineMs;
      const now = performance.now();
      lanes[lane].restsUntil = now + (now - sentAt);
    }
    const left = (runningOf.get(account) ?? 1) - 1;
    if (left === 0) {
      runningOf.delete(account);
    } else {
      runningOf.set(account, left);
    }
  }
}

/** Sends what can run now; returns the cold jobs and the guesses for which there is no place. */
export function dispatch<T extends ThreadLoad>(lanes: Lanes<T>, threads: readonly T[]): PendingJob[] {
  const dropped = lanes.cold.queue.size + lanes.guess.queue.size > 0 ? sendStretching(lanes, threads) : [];
  if (waitingOf(lanes, 'hot') + lanes.bulk.size > 0) {
    const idle = threads.filter((thread) => thread.held === 0);
    if (!lanes.hotHasTurn && fair.longestWaitMs(lanes.bulk, performance.now()) > BULK_GIVES_WAY_MS) {
      sendBulk(lanes, idle);
    }
    sendHot(lanes, idle);
    sendBulk(lanes, idle);
  }
  return dropped;
}

/** When guesses that wait may be sent, if they only wait for the end of a rest; otherwise Infinity. */
export function nextGuessAt<T extends ThreadLoad>({ guess }: Lanes<T>): number {
  const isWaiting = guess.queue.size > 0 && guess.restsUntil > performance.now();
  return isWaiting ? guess.restsUntil : Number.POSITIVE_INFINITY;
}

/** Removes and returns the waiting jobs that are due. */
export function expireJobs<T extends ThreadLoad>(lanes: Lanes<T>, now: number): PendingJob[] {
  const due = lanes.cleared.filter((job) => job.dueAt <= now);
  lanes.cleared = lanes.cleared.filter((job) => job.dueAt > now);
  return [
    ...due,
    ...[lanes.hot, lanes.bulk, lanes.cold.queue, lanes.guess.queue].flatMap((queue) =>
      fair.expire(queue, now),
    ),
  ];
}

/** When the first waiting job is due; Infinity when none waits. */
export function nextDueAt<T extends ThreadLoad>({ cleared, hot, bulk, cold, guess }: Lanes<T>): number {
  const queues = [hot, bulk, cold.queue, guess.queue];
  return Math.min(...cleared.map((job) => job.dueAt), ...queues.map(fair.nextDue));
}

/** The number of waiting jobs of a lane. */
export function waitingOf<T extends ThreadLoad>(lanes: Lanes<T>, lane: Lane): number {
  return lane === 'hot' ? lanes.cleared.length + lanes.hot.size : queueOf(lanes, lane).size;
}

/** The places of cold jobs: what guesses that run or wait leave of them, and always one. */
function coldPlaces<T extends ThreadLoad>({ cold, guess }: Lanes<T>): number {
  const { concurrency } = cold.limits;
  const isGuessing = guess.running + guess.queue.size > 0;
  return isGuessing ? Math.max(1, concurrency - guess.limits.concurrency) : concurrency;
}

function sendStretching<T extends ThreadLoad>(lanes: Lanes<T>, threads: readonly T[]): PendingJob[] {
  const { guess, cold } = lanes;
  const places = guess.restsUntil > performance.now() ? 0 : guess.limits.concurrency;
  const dropped = sendCold(lanes, guess, places, threads);
  return [...dropped, ...sendCold(lanes, cold, coldPlaces(lanes), threads)];
}

/** Whether a job that holds the thread has missed its deadline: until it ends, no other job begins. */
function isStuck({ jobs, held }: ThreadLoad): boolean {
  return held > 0 && jobs.values().some((job) => job.missed > 0 && !isStretching(job.lane));
}

/** Sends the jobs of a lane that may run, and removes those over `queueMax` that may not. */
function sendCold<T extends ThreadLoad>(
  { options }: Lanes<T>,
  lane: ColdLane,
  places: number,
  threads: readonly T[],
): PendingJob[] {
  const { queue, runningOf, limits } = lane;
  const mayRun = (account: string): boolean => (runningOf.get(account) ?? 0) < limits.perAccountMax;
  const [first, ...others] = threads.filter((thread) => !isStuck(thread));
  while (first !== undefined && queue.size > 0 && lane.running < places) {
    const job = fair.take(queue, mayRun);
    if (job === undefined) {
      break;
    }
    runningOf.set(job.account, (runningOf.get(job.account) ?? 0) + 1);
    lane.running += 1;
    const leastLoaded = others.reduce(
      (best, thread) => (thread.jobs.size < best.jobs.size ? thread : best),
      first,
    );
    options.send(leastLoaded, [job]);
  }
  const dropped: PendingJob[] = [];
  for (let left = queue.size - limits.queueMax; left > 0; left--) {
    const job = fair.drop(queue);
    if (job !== undefined) {
      dropped.push(job);
    }
  }
  return dropped;
}

function sendHot<T extends ThreadLoad>(lanes: Lanes<T>, idle: T[]): void {
  for (let count = waitingOf(lanes, 'hot'); count > 0; count = waitingOf(lanes, 'hot')) {
    const share = Math.min(Math.ceil(count / idle.length), FRAME_JOBS_MAX);
    const thread = idle.pop();
    if (thread === undefined) {
      return;
    }
    lanes.hotHasTurn = false;
    lanes.options.send(
      thread,
      lanes.cleared.length > 0 ? lanes.cleared.splice(0, share) : fair.takeMany(lanes.hot, share),
    );
  }
}

function sendBulk<T extends ThreadLoad>(lanes: Lanes<T>, idle: T[]): void {
  const runningMax = Math.max(1, lanes.options.threads - 1);
  while (lanes.bulk.size > 0 && lanes.bulkRunning < runningMax && idle.length > 0) {
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
