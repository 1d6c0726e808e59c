/** A fair queue: accounts take turns, so that the many jobs of one do not delay the few of another. */
import type { PendingJob } from './job.ts';

/** A line of jobs per account, never empty; the order of the map is the order of turns. */
export interface FairQueue {
  readonly lines: Map<string, PendingJob[]>;
  size: number;
}

/** An empty queue. */
export function createFairQueue(): FairQueue {
  return { lines: new Map(), size: 0 };
}

/** Appends a job to its account's line. */
export function add(queue: FairQueue, job: PendingJob): void {
  queue.size += 1;
  const line = queue.lines.get(job.account);
  if (line) {
    line.push(job);
  } else {
    queue.lines.set(job.account, [job]);
  }
}

/** Puts a job back to the front of its account's line. */
export function restore(queue: FairQueue, job: PendingJob): void {
  queue.size += 1;
  const line = queue.lines.get(job.account);
  if (line) {
    line.unshift(job);
  } else {
    queue.lines.set(job.account, [job]);
  }
}

/** The next job of the first account that may run one now; that account then goes to the end. */
export function take(queue: FairQueue, mayRun?: (account: string) => boolean): PendingJob | undefined {
  const { lines } = queue;
  for (const [account, line] of lines) {
    if (mayRun?.(account) === false) {
      continue;
    }
    const job = line.shift();
    queue.size -= 1;
    lines.delete(account);
    if (line.length > 0) {
      lines.set(account, line);
    }
    return job;
  }
  return undefined;
}

/** The next jobs, as many as there are up to `countMax`. */
export function takeMany(queue: FairQueue, countMax: number): PendingJob[] {
  const [only] = queue.lines.size === 1 ? queue.lines.values() : [];
  if (only !== undefined && only.length > countMax) {
    queue.size -= countMax;
    return only.splice(0, countMax);
  }
  const taken: PendingJob[] = [];
  for (let job = countMax > 0 ? take(queue) : undefined; job !== undefined; ) {
    taken.push(job);
    job = taken.length < countMax ? take(queue) : undefined;
  }
  return taken;
}

/** Removes the newest job of the longest line: the account with the most jobs loses one when there is no room. */
export function drop(queue: FairQueue): PendingJob | undefined {
  let longest: PendingJob[] = [];
  for (const line of queue.lines.values()) {
    longest = line.length >= longest.length ? line : longest;
  }
  const job = longest.pop();
  if (job !== undefined) {
    queue.size -= 1;
    if (longest.length === 0) {
      queue.lines.delete(job.account);
    }
  }
  return job;
}

/** Removes the jobs that are due at `now`. */
export function expire(queue: FairQueue, now: number): PendingJob[] {
  const expired: PendingJob[] = [];
  for (const [account, line] of queue.lines) {
    expired.push(...line.filter((job) => job.dueAt <= now));
    const left = line.filter((job) => job.dueAt > now);
    if (left.length > 0) {
      queue.lines.set(account, left);
    } else {
      queue.lines.delete(account);
    }
  }
  queue.size -= expired.length;
  return expired;
}

/** Milliseconds for which the oldest job has waited; 0 when there is none. */
export function longestWaitMs(queue: FairQueue, now: number): number {
  let waitedMs = 0;
  for (const [job] of queue.lines.values()) {
    waitedMs = job ? Math.max(waitedMs, now - (job.dueAt - job.deadlineMs)) : waitedMs;
  }
  return waitedMs;
}

/** When the first job is due; Infinity when none waits. */
export function nextDue(queue: FairQueue): number {
  let first = Number.POSITIVE_INFINITY;
  for (const line of queue.lines.values()) {
    for (const job of line) {
      first = Math.min(first, job.dueAt);
    }
  }
  return first;
}
