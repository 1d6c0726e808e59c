/** The hot lane: single items, for each of which somebody waits. */
import { createFairQueue } from './fair.ts';
import type { PendingJob } from './job.ts';

export interface HotLane {
  add(job: PendingJob): void;
  /** Puts a job, which came back untouched, before all others. */
  restore(job: PendingJob): void;
  /** The next frame's worth of jobs. */
  take(countMax: number): PendingJob[];
  /** Takes the newest job of whoever has most. */
  drop(): PendingJob | undefined;
  /** Removes the jobs that are due. */
  expire(now: number): PendingJob[];
  /** When the first job is due; Infinity when none waits. */
  nextDue(): number;
  size(): number;
}

/**
 * Accounts take turns, job by job. Jobs that came back from a dead thread are cleared of its death: they go first, and
 * never share a frame with new ones, so that a run of poisonous jobs cannot take them down again.
 */
export const createHotLane = (): HotLane => {
  const fresh = createFairQueue();
  let cleared: PendingJob[] = [];
  return {
    add: fresh.add,
    restore: (job) => void cleared.unshift(job),
    take: (countMax) => (cleared.length > 0 ? cleared.splice(0, countMax) : fresh.takeMany(countMax)),
    drop: fresh.drop,
    expire(now) {
      const due = cleared.filter((job) => job.dueAt <= now);
      cleared = cleared.filter((job) => job.dueAt > now);
      return [...due, ...fresh.expire(now)];
    },
    nextDue: () => cleared.reduce((first, job) => Math.min(first, job.dueAt), fresh.nextDue()),
    size: () => cleared.length + fresh.size(),
  };
};
