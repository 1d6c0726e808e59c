/** Admission to the cold lane: each of its jobs takes the memory of an Argon2id run and a core. */
import * as fair from './fair.ts';
import type { PendingJob } from './job.ts';

/** Limits of the cold lane. */
export interface ColdLimits {
  /** Jobs in threads at once, over all threads. */
  readonly concurrency: number;
  /** Jobs waiting beyond those. */
  readonly queueMax: number;
  /** Jobs in threads at once for one account. */
  readonly perAccountMax: number;
}

/**
 * Accounts take turns, with at most `perAccountMax` jobs of one account running. One account alone may fill the
 * whole queue; when others come, the newest job of the longest line loses its place first, so that no flood of one
 * account excludes another.
 */
export interface ColdLane {
  readonly limits: ColdLimits;
  readonly waiting: fair.FairQueue;
  readonly runningOf: Map<string, number>;
  running: number;
}

/** An empty lane. */
export function createColdLane(limits: ColdLimits): ColdLane {
  return { limits, waiting: fair.createFairQueue(), runningOf: new Map(), running: 0 };
}

/** Takes the next job that may run now and counts it as running until `release`. */
export function take(lane: ColdLane): PendingJob | undefined {
  const { limits, runningOf } = lane;
  if (lane.running >= limits.concurrency) {
    return undefined;
  }
  const job = fair.take(lane.waiting, (account) => (runningOf.get(account) ?? 0) < limits.perAccountMax);
  if (job !== undefined) {
    runningOf.set(job.account, (runningOf.get(job.account) ?? 0) + 1);
    lane.running += 1;
  }
  return job;
}

/** Gives back the place of a job that has left its thread. */
export function release(lane: ColdLane, { account }: PendingJob): void {
  lane.running -= 1;
  const left = (lane.runningOf.get(account) ?? 1) - 1;
  if (left === 0) {
    lane.runningOf.delete(account);
  } else {
    lane.runningOf.set(account, left);
  }
}

/** Removes the jobs over `queueMax`; to be called once all that may run have been taken. */
export function trim(lane: ColdLane): PendingJob[] {
  const dropped: PendingJob[] = [];
  while (lane.waiting.size > lane.limits.queueMax) {
    const job = fair.drop(lane.waiting);
    if (job === undefined) {
      break;
    }
    dropped.push(job);
  }
  return dropped;
}
