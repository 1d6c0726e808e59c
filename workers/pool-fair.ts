/** A queue in which accounts take turns, so that the many jobs of one do not hold up the few of another. */
import type { PendingJob } from './pool-job.ts';

export interface FairQueue {
  add(job: PendingJob): void;
  /** Puts a job back to the front of its account's line. */
  restore(job: PendingJob): void;
  /** The next job of the account whose turn it is. */
  take(): PendingJob | undefined;
  /** Removes the jobs that are due. */
  expire(now: number): PendingJob[];
  /** The job that has waited longest. */
  oldest(): PendingJob | undefined;
  /** When the first job is due; Infinity when none waits. */
  nextDue(): number;
  size(): number;
}

const waitsSince = (job: PendingJob): number => job.dueAt - job.deadlineMs;

export const createFairQueue = (): FairQueue => {
  // A line per account, never empty; the order of the map is the order of turns.
  const lines = new Map<string, PendingJob[]>();
  const heads = (): PendingJob[] => [...lines.values()].flatMap((line) => line[0] ?? []);

  return {
    add(job) {
      const line = lines.get(job.account);
      if (line) {
        line.push(job);
      } else {
        lines.set(job.account, [job]);
      }
    },
    restore(job) {
      const line = lines.get(job.account);
      if (line) {
        line.unshift(job);
      } else {
        lines.set(job.account, [job]);
      }
    },
    take() {
      for (const [account, line] of lines) {
        const job = line.shift();
        lines.delete(account);
        if (line.length > 0) {
          lines.set(account, line);
        }
        return job;
      }
      return undefined;
    },
    expire(now) {
      const expired: PendingJob[] = [];
      for (const [account, line] of lines) {
        expired.push(...line.filter((job) => job.dueAt <= now));
        const left = line.filter((job) => job.dueAt > now);
        if (left.length > 0) {
          lines.set(account, left);
        } else {
          lines.delete(account);
        }
      }
      return expired;
    },
    oldest: () =>
      heads().reduce<PendingJob | undefined>(
        (first, job) => (first === undefined || waitsSince(job) < waitsSince(first) ? job : first),
        undefined,
      ),
    nextDue: () => Math.min(...[...lines.values()].flat().map((job) => job.dueAt)),
    size: () => [...lines.values()].reduce((sum, line) => sum + line.length, 0),
  };
};
