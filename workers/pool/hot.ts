/** The hot lane: single items, each with a caller that waits. */
import * as fair from './fair.ts';
import type { PendingJob } from './job.ts';

/**
 * Accounts take turns, job by job. Jobs that came back from a dead thread are cleared of its death: they go first, and
 * never share a frame with new ones, so that a run of poisonous jobs cannot take them down again.
 */
export interface HotLane {
  readonly fresh: fair.FairQueue;
  cleared: PendingJob[];
}

/** An empty lane. */
export function createHotLane(): HotLane {
  return { fresh: fair.createFairQueue(), cleared: [] };
}

/** Puts a job that came back untouched before all others. */
export function restore(lane: HotLane, job: PendingJob): void {
  lane.cleared.unshift(job);
}

/** The jobs of the next frame. */
export function take(lane: HotLane, countMax: number): PendingJob[] {
  return lane.cleared.length > 0 ? lane.cleared.splice(0, countMax) : fair.takeMany(lane.fresh, countMax);
}

/** Removes the jobs that are due at `now`. */
export function expire(lane: HotLane, now: number): PendingJob[] {
  const due = lane.cleared.filter((job) => job.dueAt <= now);
  lane.cleared = lane.cleared.filter((job) => job.dueAt > now);
  return [...due, ...fair.expire(lane.fresh, now)];
}

/** When the first job is due; Infinity when none waits. */
export function nextDue(lane: HotLane): number {
  return lane.cleared.reduce((first, job) => Math.min(first, job.dueAt), fair.nextDue(lane.fresh));
}

/** The number of jobs that wait. */
export function size(lane: HotLane): number {
  return lane.cleared.length + lane.fresh.size;
}
