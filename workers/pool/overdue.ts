/**
 * Deadlines of jobs inside a thread. A hot or bulk job whose thread has computed for long is in an endless loop. If the
 * thread has hardly computed, the machine is too busy to run it: it is healthy, and only its callers cannot wait.
 */
import type { cpuMsOf } from './cpu-time.ts';
import { TRACE_BEGUN, TRACE_THREAD } from './frame.ts';
import { isStretching, type PendingJob } from './job.ts';
import type { Thread } from './worker-thread.ts';

/** Deadlines of a job, one after another, after which its thread counts as hung even if it has not computed. */
const DEADLINES = 4;
/** Part of the deadline after which the CPU time is first read. Few jobs are in a thread for so long. */
const FIRST_CHECK = 0.25;
/** CPU time since then, as a part of the deadline, that shows a thread in an endless loop. */
const LOOP_CPU = 0.5;

type Watched = Pick<Thread, 'jobs' | 'trace' | 'cpuMs' | 'cpuJobId'>;

/** Time at which the CPU time is first read for a job that is sent at `now`. */
export function firstCheckAt(job: PendingJob, now: number): number {
  return now + job.deadlineMs * FIRST_CHECK;
}

/**
 * Checks a thread, and counts the deadlines that its jobs miss. Its CPU time is read only where a hot or bulk job takes
 * long. `late`: jobs whose first deadline has passed, in a thread that does not hang; their callers are to be answered.
 */
export function checkDeadlines(
  thread: Watched,
  now: number,
  readCpuMs: typeof cpuMsOf,
): { readonly hangs: boolean; readonly late: readonly PendingJob[] } {
  const jobs = [...thread.jobs.values()];
  const due = jobs.filter((job) => job.dueAt <= now);
  const isHeldLong = jobs.some((job) => !isStretching(job.lane) && firstCheckOf(job) <= now);
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

/** Time of the next check of a job that was checked at `now`. */
export function nextCheckAt(job: PendingJob, now: number): number {
  return firstCheckOf(job) > now ? firstCheckOf(job) : job.dueAt;
}

function firstCheckOf(job: PendingJob): number {
  return firstCheckAt(job, job.dueAt - job.deadlineMs);
}

/**
 * CPU time of a thread since the first check that found it in the job that it began last; Infinity where the system has
 * no such counter. A frame of long jobs uses much CPU without a loop, and its replies leave together.
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
