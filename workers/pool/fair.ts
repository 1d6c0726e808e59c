/** A queue in which accounts take turns, so that the many jobs of one do not hold up the few of another. */
import type { PendingJob } from './job.ts';

export interface FairQueue {
  add(job: PendingJob): void;
  /** Puts a job back to the front of its account's line. */
  restore(job: PendingJob): void;
  /** The next job of the account whose turn it is. */
  take(): PendingJob | undefined;
  /** The next jobs, as many as there are up to `countMax`. */
  takeMany(countMax: number): PendingJob[];
  /** Takes the newest job of the longest line: who sends most gives way when there is no room. */
  drop(): PendingJob | undefined;
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
  let size = 0;
  const heads = (): PendingJob[] => [...lines.values()].flatMap((line) => line[0] ?? []);

  const put = (job: PendingJob, how: 'push' | 'unshift'): void => {
    size += 1;
    const line = lines.get(job.account);
    if (line) {
      line[how](job);
    } else {
      lines.set(job.account, [job]);
    }
  };

  const take = (): PendingJob | undefined => {
    for (const [account, line] of lines) {
      const job = line.shift();
      size -= 1;
      lines.delete(account);
      if (line.length > 0) {
        lines.set(account, line);
      }
      return job;
    }
    return undefined;
  };

  const takeMany = (countMax: number): PendingJob[] => {
    const [only] = lines.size === 1 ? lines.values() : [];
    if (only !== undefined && only.length > countMax) {
      size -= countMax;
      return only.splice(0, countMax);
    }
    const taken: PendingJob[] = [];
    for (let job = countMax > 0 ? take() : undefined; job !== undefined; ) {
      taken.push(job);
      job = taken.length < countMax ? take() : undefined;
    }
    return taken;
  };

  const drop = (): PendingJob | undefined => {
    let longest: PendingJob[] = [];
    for (const line of lines.values()) {
      longest = line.length > longest.length ? line : longest;
    }
    const job = longest.pop();
    if (job !== undefined) {
      size -= 1;
      if (longest.length === 0) {
        lines.delete(job.account);
      }
    }
    return job;
  };

  return {
    add: (job) => put(job, 'push'),
    restore: (job) => put(job, 'unshift'),
    take,
    takeMany,
    drop,
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
      size -= expired.length;
      return expired;
    },
    oldest: () =>
      heads().reduce<PendingJob | undefined>(
        (first, job) => (first === undefined || waitsSince(job) < waitsSince(first) ? job : first),
        undefined,
      ),
    nextDue: () => Math.min(...[...lines.values()].flat().map((job) => job.dueAt)),
    size: () => size,
  };
};
