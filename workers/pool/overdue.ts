/**
 * What a deadline that has passed in a thread says about the thread. A hot or bulk job whose thread has computed for long
 * is in an endless loop. Where the thread has hardly computed, the machine is too busy to run it: it is healthy, and only
 * its callers cannot wait.
 */
import type { cpuMsOf } from './cpu-time.ts';
import { TRACE_BEGUN, TRACE_THREAD } from './frame.ts';
import { isStretching, type PendingJob } from './job.ts';
import type { Thread } from './worker-thread.ts';

/** The deadlines of a job, one after another, after which its thread counts as hung even if it has not computed. */
const DEADLINES = 4;
/** When the CPU time of a thread is first read, as a part of the deadline. Few jobs are in a thread for so long. */
const FIRST_LOOK = 0.25;
/** The CPU time since then that shows a thread in an endless loop, as a part of the deadline. */
const LOOP_CPU = 0.5;

/** A thread, as far as its deadlines are concerned. */
type Watched = Pick<Thread, 'jobs' | 'trace' | 'cpuMs' | 'cpuJobId'>;

/** What is seen of a thread at one time. */
export interface Look {
  readonly hangs: boolean;
  /** The jobs whose first deadline has passed, in a thread that does not hang: to be answered. */
  readonly late: readonly PendingJob[];
}

/** When the CPU time is first read for a job that is sent at `now`. */
export function firstLookAt(job: PendingJob, now: number): number {
  return now + job.deadlineMs * FIRST_LOOK;
}

/** Looks at a thread, and counts the deadlines that its jobs miss. Its CPU time is read only where a hot or bulk job takes long. */
export function look(thread: Watched, now: number, readCpuMs: typeof cpuMsOf): Look {
  const jobs = [...thread.jobs.values()];
  const due = jobs.filter((job) => job.dueAt <= now);
  const isHeldLong = jobs.some((job) => !isStretching(job.lane) && firstLookOf(job) <= now);
  const computedMs = isHeldLong ? computedMsOf(thread, readCpuMs) : 0;
  const hangs = due.some(
    (job) =>
      job.missed + 1 >= DEADLINES || (!isStretching(job.lane) && computedMs >= job.deadlineMs * LOOP_CPU),
  );
  if (hangs) {
    return { hangs, late: [] };
  }
  const late = due.filter((job) => job.missed === 0);
  for (const job of due) {
    job.missed += 1;
    job.dueAt = now + job.deadlineMs;
  }
  return { hangs, late };
}

/** When to look at a job again that was looked at. */
export function nextLookAt(job: PendingJob, now: number): number {
  return firstLookOf(job) > now ? firstLookOf(job) : job.dueAt;
}

function firstLookOf(job: PendingJob): number {
  return firstLookAt(job, job.dueAt - job.deadlineMs);
}

/**
 * How long a thread has computed since it was first seen in the job that it began last; infinite where the system does not
 * say. A frame of long jobs uses much CPU without a loop, and its replies leave together.
 */
function computedMsOf(thread: Watched, readCpuMs: typeof cpuMsOf): number {
  const cpuMs = readCpuMs(Atomics.load(thread.trace, TRACE_THREAD));
  if (cpuMs === undefined) {
    return Number.POSITIVE_INFINITY;
  }
  const begunId = Atomics.load(thread.trace, TRACE_BEGUN);
  if (thread.cpuMs === undefined || thread.cpuJobId !== begunId) {
    thread.cpuMs = cpuMs;
    thread.cpuJobId = begunId;
  }
  return cpuMs - thread.cpuMs;
}
