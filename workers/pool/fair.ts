import type { PendingJob } from './job.ts';

/** A fair queue: accounts take turns, so that the many jobs of one do not delay the few of another. */
export class FairQueue {
  size = 0;
  /** The jobs of each account, never empty; the order of the map is the order of turns. */
  private readonly lines = new Map<string, PendingJob[]>();

  /** Appends a job to its account's jobs, or puts it before them. */
  add(job: PendingJob, isFirst = false): void {
    this.size += 1;
    const line = this.lines.get(job.account);
    if (line === undefined) {
      this.lines.set(job.account, [job]);
    } else if (isFirst) {
      line.unshift(job);
    } else {
      line.push(job);
    }
  }

  /** Removes the next job of the first account that may run one now; that account then goes to the end. */
  take(mayRun?: (account: string) => boolean): PendingJob | undefined {
    const { lines } = this;
    for (const [account, line] of lines) {
      if (mayRun?.(account) === false) {
        continue;
      }
      const job = line.shift();
      this.size -= 1;
      lines.delete(account);
      if (line.length > 0) {
        lines.set(account, line);
      }
      return job;
    }
    return undefined;
  }

  /** Removes the next jobs, up to `countMax`. */
  takeMany(countMax: number): PendingJob[] {
    const [only] = this.lines.size === 1 ? this.lines.values() : [];
    if (only !== undefined && only.length > countMax) {
      this.size -= countMax;
      return only.splice(0, countMax);
    }
    const taken: PendingJob[] = [];
    for (let job = this.take(); job !== undefined; job = taken.length < countMax ? this.take() : undefined) {
      taken.push(job);
    }
    return taken;
  }

  /** Removes the newest job of the account with the most jobs. */
  drop(): PendingJob | undefined {
    let longest: PendingJob[] = [];
    for (const line of this.lines.values()) {
      longest = line.length >= longest.length ? line : longest;
    }
    const job = longest.pop();
    if (job !== undefined) {
      this.size -= 1;
      if (longest.length === 0) {
        this.lines.delete(job.account);
      }
    }
    return job;
  }

  /** Removes the jobs that are due at `now`. */
  expire(now: number): PendingJob[] {
    const expired: PendingJob[] = [];
    for (const [account, line] of this.lines) {
      expired.push(...line.filter((job) => job.dueAt <= now));
      const left = line.filter((job) => job.dueAt > now);
      if (left.length > 0) {
        this.lines.set(account, left);
      } else {
        this.lines.delete(account);
      }
    }
    this.size -= expired.length;
    return expired;
  }

  /** Milliseconds that the oldest job has waited; 0 without jobs. */
  longestWaitMs(now: number): number {
    let waitedMs = 0;
    for (const [job] of this.lines.values()) {
      waitedMs = job ? Math.max(waitedMs, now - (job.dueAt - job.deadlineMs)) : waitedMs;
    }
    return waitedMs;
  }

  /** Time at which the first job is due; Infinity without jobs. */
  nextDueAt(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const line of this.lines.values()) {
      for (const job of line) {
        first = Math.min(first, job.dueAt);
      }
    }
    return first;
  }
}
