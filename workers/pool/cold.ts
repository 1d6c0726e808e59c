/** Admission to the cold lane: each of its jobs takes an Argon2id run's worth of memory and a core. */
import type { PendingJob } from './job.ts';

export interface ColdLimits {
  /** Jobs in threads at once, over all threads. */
  readonly concurrency: number;
  /** Jobs waiting beyond those. */
  readonly queueMax: number;
  /** Jobs in threads at once for one account. */
  readonly perAccountMax: number;
}

export interface ColdLane {
  add(job: PendingJob): void;
  /** Puts a job back to the front of its account's line. */
  restore(job: PendingJob): void;
  /** Takes the next job that may run now and counts it as running until `release`. */
  take(): PendingJob | undefined;
  release(job: PendingJob): void;
  /** Removes the jobs over `queueMax`, to be called once all that may run have been taken. */
  trim(): PendingJob[];
  /** Removes the waiting jobs that are due. */
  expire(now: number): PendingJob[];
  /** When the first waiting job is due; Infinity when none waits. */
  nextDue(): number;
  waiting(): number;
  running(): number;
}

/**
 * A line per account, served in turn, with at most `perAccountMax` of one account running. One account
 * alone may fill the whole queue; when others come, the newest of the longest line loses its place first, so
 * that no flood of one account keeps another out.
 */
export const createColdLane = (limits: ColdLimits): ColdLane => {
  const lines = new Map<string, PendingJob[]>();
  const runningOf = new Map<string, number>();
  let waiting = 0;
  let running = 0;

  const lineOf = (account: string): PendingJob[] => {
    const line = lines.get(account) ?? [];
    lines.set(account, line);
    return line;
  };

  const longestLine = (): PendingJob[] => {
    let longest: PendingJob[] = [];
    for (const line of lines.values()) {
      if (line.length >= longest.length) {
        longest = line;
      }
    }
    return longest;
  };

  const keepLine = (account: string, line: PendingJob[]): void => {
    if (line.length === 0) {
      lines.delete(account);
    } else {
      lines.set(account, line);
    }
  };

  const take = (): PendingJob | undefined => {
    if (running >= limits.concurrency) {
      return undefined;
    }
    for (const [account, line] of lines) {
      const ofAccount = runningOf.get(account) ?? 0;
      if (ofAccount >= limits.perAccountMax) {
        continue;
      }
      const job = line.shift();
      lines.delete(account);
      keepLine(account, line);
      runningOf.set(account, ofAccount + 1);
      waiting -= 1;
      running += 1;
      return job;
    }
    return undefined;
  };

  const release = (job: PendingJob): void => {
    running -= 1;
    const left = (runningOf.get(job.account) ?? 1) - 1;
    if (left === 0) {
      runningOf.delete(job.account);
    } else {
      runningOf.set(job.account, left);
    }
  };

  const trim = (): PendingJob[] => {
    const dropped: PendingJob[] = [];
    for (; waiting > limits.queueMax; waiting -= 1) {
      const line = longestLine();
      const job = line.pop();
      if (job === undefined) {
        break;
      }
      keepLine(job.account, line);
      dropped.push(job);
    }
    return dropped;
  };

  const expire = (now: number): PendingJob[] => {
    const expired: PendingJob[] = [];
    for (const [account, line] of lines) {
      expired.push(...line.filter((job) => job.dueAt <= now));
      keepLine(
        account,
        line.filter((job) => job.dueAt > now),
      );
    }
    waiting -= expired.length;
    return expired;
  };

  return {
    take,
    release,
    trim,
    expire,
    add(job) {
      lineOf(job.account).push(job);
      waiting += 1;
    },
    restore(job) {
      lineOf(job.account).unshift(job);
      waiting += 1;
    },
    nextDue: () => Math.min(...[...lines.values()].flat().map((job) => job.dueAt)),
    waiting: () => waiting,
    running: () => running,
  };
};
