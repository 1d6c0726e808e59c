import type { ErrorCode, VaultError } from '../../server/core/errors.ts';
import { Alarm } from './alarm.ts';
import { cpuMsOf } from './cpu-time.ts';
import { Crew, lossError } from './crew.ts';
import { errorOf, FAILURE, failureOf, poolError } from './failure.ts';
import { type FrameReader, REPLY_OK } from './frame.ts';
import type { AnyRequest, JobRequest, Lane, PendingJob } from './job.ts';
import { Lanes } from './lanes.ts';
import { checkDeadlines, firstCheckAt, nextCheckAt } from './overdue.ts';
import type { DownCause, Thread } from './worker-thread.ts';

/** An event for logs and metrics; it never holds anything of a job. */
export type PoolEvent =
  | { readonly type: 'thread_ready'; readonly threads: number }
  | {
      readonly type: 'thread_down';
      readonly cause: DownCause;
      readonly lost: number;
      readonly requeued: number;
    };

/** The module that the threads run, their number, and the numbers of jobs that may wait for them. */
export interface PoolOptions {
  /** The module that a thread runs; it must call `serveThread`. */
  readonly entry: URL | string;
  readonly threads: number;
  /** Given to every thread, replacements included. */
  readonly workerData: unknown;
  /** Jobs of each lane that may wait. */
  readonly queueMax: number;
  /** Cold jobs, and guesses, that run at once over all threads. */
  readonly coldConcurrency: number;
  readonly guessConcurrency?: number;
  /** Time that a thread may take to load before it counts as hung; tests set their own. */
  readonly loadMsMax?: number;
  /** Reads the CPU time of a thread; tests set their own. */
  readonly readCpuMs?: typeof cpuMsOf;
  readonly onEvent?: (event: PoolEvent) => void;
  /** Called for each job that ends, with milliseconds; `code` is undefined for one that has a result. */
  readonly onJob?: (lane: Lane, waitedMs: number, ranMs: number, code: ErrorCode | undefined) => void;
}

interface PoolStats {
  readonly queued: Readonly<Record<Lane, number>>;
  /** Jobs inside threads, cold ones and guesses included. */
  readonly running: number;
  /** Argon2id runs: cold jobs and guesses. */
  readonly coldRunning: number;
  readonly threadsAlive: number;
  /** Threads with a job inside that holds them: hot or bulk. */
  readonly threadsBusy: number;
  readonly restarts: number;
}

/** A thread loads in less than a second on a machine that is not busy. */
const LOAD_MS_MAX = 30_000;

/** Crashes of other jobs that a job may live through; a limit only so that it ends at some time. */
const REQUEUES_MAX = 3;

/**
 * A pool of worker threads, which takes jobs at once; they wait until the first thread is ready.
 *
 * A job that waits longer than its deadline fails with `overloaded`, and so does one that is in a thread for longer than
 * that: its thread goes on with it, and its reply is dropped. A thread in an endless loop, or silent for several deadlines
 * of a job, is ended and replaced (see `overdue.ts`). When a thread is lost, the job that it died of fails with `internal`
 * and is never run again; so does every job that may have been the one. Its other jobs go back to the front of their
 * queues. So handlers must be free of effects outside their thread.
 */
export class Pool {
  private readonly lanes: Lanes;
  private readonly crew: Crew;
  private readonly alarm = new Alarm((now) => this.onAlarm(now));
  /** Resolved once no job is left after `drain`. */
  private readonly idle = Promise.withResolvers<void>();
  private draining: Promise<void> | undefined;
  /** Jobs whose callers have no answer. */
  private accepted = 0;
  private isDispatchQueued = false;

  constructor(private readonly options: PoolOptions) {
    const { threads, queueMax, coldConcurrency, guessConcurrency = 1, loadMsMax = LOAD_MS_MAX } = options;
    this.lanes = new Lanes({
      threads,
      queueMax,
      coldConcurrency,
      guessConcurrency,
      send: (thread, jobs) => this.send(thread, jobs),
    });
    this.crew = new Crew(
      { ...options, loadMsMax },
      {
        onReply: (job, reply) => this.onReply(job, reply),
        onFrameDone: () => this.dispatchSoon(),
        onDown: (thread, cause, error) => this.onDown(thread, cause, error),
        onReady: () => {
          options.onEvent?.({ type: 'thread_ready', threads: this.crew.threads.length });
          this.dispatchSoon();
        },
      },
    );
  }

  /**
   * Resolves with the result, whose bytes are views into one buffer that this job shares with its neighbours in time, or
   * rejects with a `VaultError`: that of the job's handler, `overloaded` when no thread has done the job in time (a retry is
   * safe), or `internal` when a thread died or hung with it. Never throws, never stays open for longer than its deadlines.
   */
  run<Given, Taken>(request: JobRequest<Given, Taken>): Promise<Taken> {
    return new Promise((resolve, reject) => this.accept(request, resolve, reject));
  }

  /** Resolves when all threads serve; rejects when one was lost before. */
  ready(): Promise<void> {
    return this.crew.complete.promise;
  }

  /** Rejects new jobs from now on, waits for those accepted, then ends the threads. */
  drain(): Promise<void> {
    this.draining ??= this.end();
    return this.draining;
  }

  stats(): PoolStats {
    const { lanes, crew } = this;
    return {
      queued: {
        hot: lanes.waitingOf('hot'),
        bulk: lanes.waitingOf('bulk'),
        cold: lanes.waitingOf('cold'),
        guess: lanes.waitingOf('guess'),
      },
      running: crew.threads.reduce((sum, thread) => sum + thread.jobs.size, 0),
      coldRunning: lanes.running.cold + lanes.running.guess,
      threadsAlive: crew.threads.length,
      threadsBusy: crew.threads.filter((thread) => thread.held > 0).length,
      restarts: crew.restarts,
    };
  }

  private accept(
    { job, input, lane, deadlineMs, queuedAt }: AnyRequest,
    resolve: PendingJob['resolve'],
    reject: PendingJob['reject'],
  ): void {
    if (this.draining !== undefined) {
      reject(poolError('overloaded', 'PoolDraining'));
      return;
    }
    const now = performance.now();
    const dueAt = now + deadlineMs;
    const pending: PendingJob = {
      id: 0,
      job,
      input,
      lane,
      deadlineMs,
      dueAt,
      queuedAt: queuedAt ?? now,
      requeues: 0,
      missed: 0,
      resolve,
      reject,
    };
    this.accepted += 1;
    if (!this.lanes.accept(pending)) {
      this.reject([pending], poolError('overloaded', 'QueueFull'));
      return;
    }
    this.alarm.arm(dueAt);
    this.dispatchSoon();
  }

  private finish(count: number): void {
    this.accepted -= count;
    if (this.accepted === 0 && this.draining !== undefined) {
      this.idle.resolve();
    }
  }

  /** Ends jobs without a reply. */
  private reject(jobs: readonly PendingJob[], error: VaultError): void {
    for (const job of jobs) {
      job.reject(error);
      this.options.onJob?.(job.lane, 0, 0, error.code);
    }
    this.finish(jobs.length);
  }

  private send(thread: Thread, jobs: readonly PendingJob[]): void {
    const now = performance.now();
    for (const job of jobs) {
      try {
        thread.add(job);
      } catch (error) {
        this.lanes.release(job);
        this.reject([job], errorOf(failureOf(error)));
        this.dispatchSoon();
        continue;
      }
      job.dueAt = now + job.deadlineMs;
      this.alarm.arm(firstCheckAt(job, now));
    }
    thread.post();
  }

  private readonly dispatch = (): void => {
    this.isDispatchQueued = false;
    this.lanes.dispatch(this.crew.threads);
    this.alarm.arm(this.lanes.nextGuessAt());
  };

  private dispatchSoon(): void {
    if (!this.isDispatchQueued) {
      this.isDispatchQueued = true;
      queueMicrotask(this.dispatch);
    }
  }

  /** Settles the caller's promise; a reply after a missed deadline is dropped. */
  private onReply(job: PendingJob, reply: FrameReader): void {
    this.lanes.release(job);
    if (job.missed > 0) {
      return;
    }
    const error = settle(job, reply);
    const sentAt = job.dueAt - job.deadlineMs;
    this.options.onJob?.(job.lane, sentAt - job.queuedAt, performance.now() - sentAt, error?.code);
    this.finish(1);
  }

  private onDown(thread: Thread, cause: DownCause, error: unknown): void {
    const lost: PendingJob[] = [];
    const kept: PendingJob[] = [];
    for (const job of thread.jobs.values()) {
      this.lanes.release(job);
      if (job.missed === 0) {
        (job.requeues >= REQUEUES_MAX || thread.isSuspect(job) ? lost : kept).push(job);
      }
    }
    const now = performance.now();
    for (const job of kept.reverse()) {
      job.requeues += 1;
      job.dueAt = now + job.deadlineMs;
      this.lanes.restore(job);
    }
    this.reject(lost, lossError(cause, error));
    this.options.onEvent?.({ type: 'thread_down', cause, lost: lost.length, requeued: kept.length });
    this.dispatchSoon();
  }

  /** Ends the jobs that are due, and threads that hang; returns the time of the next check. */
  private onAlarm(now: number): number {
    const { threads } = this.crew;
    const expired = this.lanes.expire(now);
    if (expired.length > 0) {
      this.reject(expired, poolError('overloaded', 'QueueTimeout'));
    }
    this.dispatchSoon();
    for (const thread of [...threads]) {
      const { hangs, late } = checkDeadlines(thread, now, this.options.readCpuMs ?? cpuMsOf);
      if (hangs) {
        thread.fail('hung');
      } else if (late.length > 0) {
        this.reject(late, poolError('overloaded', 'JobTimeout'));
      }
    }
    let next = this.lanes.nextDueAt();
    for (const thread of threads) {
      for (const job of thread.jobs.values()) {
        next = Math.min(next, nextCheckAt(job, now));
      }
    }
    return next;
  }

  private async end(): Promise<void> {
    if (this.accepted === 0) {
      this.idle.resolve();
    }
    await this.idle.promise;
    this.alarm.stop();
    await this.crew.close();
  }
}

/** Settles the promise of a job by the current message of a reply; returns the error of a job without a result. */
function settle(job: PendingJob, reply: FrameReader): VaultError | undefined {
  let error: VaultError;
  try {
    if (reply.kind === REPLY_OK) {
      // The output of a job is what its promise resolves with.
      job.resolve(reply.value(job.job.output) as never);
      return undefined;
    }
    error = reply.value(FAILURE);
  } catch (unreadable) {
    error = errorOf(failureOf(unreadable));
  }
  job.reject(error);
  return error;
}
