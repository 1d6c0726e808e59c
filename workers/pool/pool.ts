/** A pool of worker threads: lanes, batches, deadlines, and no job lost to another job's crash. */
import type { ErrorCode, VaultError } from '../../server/core/errors.ts';
import { type Alarm, arm, createAlarm, stop } from './alarm.ts';
import { cpuMsOf } from './cpu-time.ts';
import { type Crew, closeCrew, lossError, startCrew } from './crew.ts';
import { decodeFailure, errorOf, failureOf, poolError } from './failure.ts';
import { type DecodedMessage, FIELDS_MAX, KIND_MAX, REPLY_OK } from './frame.ts';
import type { JobRequest, Lane, PendingJob } from './job.ts';
import * as lanes from './lanes.ts';
import { firstLookAt, look, nextLookAt } from './overdue.ts';
import { type DownCause, fail, isSuspect, send, type Thread } from './worker-thread.ts';

/** Something an operator may want counted or logged; never holds anything of a job. */
export type PoolEvent =
  | { readonly type: 'thread_ready'; readonly threads: number }
  | {
      readonly type: 'thread_down';
      readonly cause: DownCause;
      readonly lost: number;
      readonly requeued: number;
    };

/** What the threads run, how many there are, and how many jobs may wait for them. */
export interface PoolOptions {
  /** The module that a thread runs; it must call `serveThread`. */
  readonly entry: URL | string;
  readonly threads: number;
  /** Given to every thread, replacements included. */
  readonly workerData: unknown;
  /** Hot jobs that may wait, and as many bulk jobs. */
  readonly queueMax: number;
  /** Cold jobs that run at once over all threads, that wait beyond these, and that run for one account. */
  readonly coldConcurrency: number;
  readonly coldQueueMax?: number;
  readonly coldPerAccountMax?: number;
  /** How long a thread may load before it counts as hung; tests give their own. */
  readonly loadMsMax?: number;
  /** How the CPU time of a thread is read; tests give their own. */
  readonly readCpuMs?: typeof cpuMsOf;
  readonly onEvent?: (event: PoolEvent) => void;
  /** Called for each job that ends, with milliseconds; `code` is undefined for one that has a result. */
  readonly onJob?: (lane: Lane, waitedMs: number, ranMs: number, code: ErrorCode | undefined) => void;
}

/** What metrics show of a pool. */
export interface PoolStats {
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

/** A running pool. */
export interface Pool {
  /**
   * Resolves with the reply's fields, views into one buffer that this job shares with its neighbours in
   * time, or rejects with a `VaultError`: that of the job's handler, `overloaded` when no thread has done the job in
   * time (a retry is safe), or `internal` when a thread died or hung with it. Never throws, never stays open for
   * longer than its deadlines.
   */
  run(job: JobRequest): Promise<Uint8Array[]>;
  /** Resolves when all threads serve; rejects when one was lost before. */
  ready(): Promise<void>;
  /** Rejects new jobs from now on, waits for those accepted, then ends the threads. */
  drain(): Promise<void>;
  stats(): PoolStats;
}

const COLD_QUEUE_MAX = 32;
const COLD_PER_ACCOUNT_MAX = 2;
/** Guesses run on one place of so many. */
const GUESS_PART = 4;
/** Guesses that wait: few, since those who guess do not mind to wait. */
const GUESS_QUEUE_MAX = 16;

/** How many other jobs' crashes a job may live through; a limit only so that it ends at some time. */
const REQUEUES_MAX = 3;

interface PoolState {
  readonly options: PoolOptions;
  readonly lanes: lanes.Lanes;
  readonly crew: Crew;
  readonly alarm: Alarm;
  /** Resolved once no job is left after `drain`. */
  readonly idle: PromiseWithResolvers<void>;
  draining: Promise<void> | undefined;
  /** Jobs whose callers have no answer. */
  accepted: number;
  isDispatchQueued: boolean;
  readonly dispatch: () => void;
}

/**
 * Starts the threads and takes jobs at once; they wait until the first thread is ready.
 *
 * A job that waits longer than its deadline fails with `overloaded`, and so does one that is in a thread for longer than
 * that: its thread goes on with it, and what it replies is dropped. A thread in an endless loop, or silent for several
 * deadlines of a job, is ended and replaced (see `overdue.ts`). When a thread is lost, the job that it died of fails with
 * `internal` and is never run again; so does every job that may have been the one. Its other jobs go back to the front
 * of their queues. So handlers must be free of effects outside their thread.
 */
export function createPool(options: PoolOptions): Pool {
  const pool: PoolState = {
    options,
    lanes: lanes.createLanes<Thread>({
      threads: options.threads,
      queueMax: options.queueMax,
      cold: {
        concurrency: options.coldConcurrency,
        queueMax: options.coldQueueMax ?? COLD_QUEUE_MAX,
        perAccountMax: options.coldPerAccountMax ?? COLD_PER_ACCOUNT_MAX,
      },
      guess: {
        concurrency: Math.max(1, Math.floor(options.coldConcurrency / GUESS_PART)),
        queueMax: GUESS_QUEUE_MAX,
        perAccountMax: 1,
        // On few cores a guess and an unlock would take all there are.
        rests: options.coldConcurrency === 1,
      },
      send: (thread, jobs) => sendJobs(pool, thread, jobs),
    }),
    crew: startCrew({
      entry: options.entry,
      workerData: options.workerData,
      size: options.threads,
      loadMsMax: options.loadMsMax,
      onReply: (_thread, job, reply) => onReply(pool, job, reply),
      onFrameDone: () => dispatchSoon(pool),
      onDown: (thread, cause, error) => onDown(pool, thread, cause, error),
      onReady: () => {
        options.onEvent?.({ type: 'thread_ready', threads: pool.crew.threads.length });
        dispatchSoon(pool);
      },
    }),
    alarm: createAlarm((now) => onAlarm(pool, now)),
    idle: Promise.withResolvers<void>(),
    draining: undefined,
    accepted: 0,
    isDispatchQueued: false,
    dispatch: () => dispatch(pool),
  };
  return {
    run: (request) => new Promise((resolve, reject) => acceptJob(pool, request, resolve, reject)),
    ready: () => pool.crew.complete.promise,
    drain: () => (pool.draining ??= end(pool)),
    stats: () => statsOf(pool),
  };
}

function acceptJob(
  pool: PoolState,
  { kind, fields, lane, account = '', deadlineMs }: JobRequest,
  resolve: PendingJob['resolve'],
  reject: PendingJob['reject'],
): void {
  if (pool.draining !== undefined) {
    reject(poolError('overloaded', 'PoolDraining'));
    return;
  }
  // A job outside the frame format would make the whole frame unreadable.
  if (!Number.isInteger(kind) || kind < 0 || kind > KIND_MAX || fields.length > FIELDS_MAX) {
    reject(poolError('internal', 'MessageInvalid'));
    return;
  }
  const queuedAt = performance.now();
  const dueAt = queuedAt + deadlineMs;
  const job: PendingJob = {
    id: 0,
    kind,
    fields,
    lane,
    account,
    deadlineMs,
    dueAt,
    queuedAt,
    requeues: 0,
    missed: 0,
    resolve,
    reject,
  };
  pool.accepted += 1;
  const dropped = lanes.accept(pool.lanes, job);
  if (dropped !== undefined) {
    rejectJobs(pool, [dropped], poolError('overloaded', 'QueueFull'));
  }
  arm(pool.alarm, dueAt);
  dispatchSoon(pool);
}

function finish(pool: PoolState, count: number): void {
  pool.accepted -= count;
  if (pool.accepted === 0 && pool.draining !== undefined) {
    pool.idle.resolve();
  }
}

/** Ends jobs without a reply. */
function rejectJobs(pool: PoolState, jobs: readonly PendingJob[], error: VaultError): void {
  for (const job of jobs) {
    job.reject(error);
    pool.options.onJob?.(job.lane, 0, 0, error.code);
  }
  finish(pool, jobs.length);
}

function sendJobs(pool: PoolState, thread: Thread, jobs: readonly PendingJob[]): void {
  const now = performance.now();
  for (const job of jobs) {
    job.dueAt = now + job.deadlineMs;
    arm(pool.alarm, firstLookAt(job, now));
  }
  try {
    send(thread, jobs);
  } catch (error) {
    // A field that cannot be copied (its buffer was transferred away) costs its own job only.
    if (jobs.length > 1) {
      for (const job of jobs) {
        sendJobs(pool, thread, [job]);
      }
      return;
    }
    for (const job of jobs) {
      lanes.release(pool.lanes, job);
    }
    rejectJobs(pool, jobs, errorOf(failureOf(error)));
    dispatchSoon(pool);
  }
}

function dispatch(pool: PoolState): void {
  pool.isDispatchQueued = false;
  const dropped = lanes.dispatch(pool.lanes, pool.crew.threads);
  if (dropped.length > 0) {
    rejectJobs(pool, dropped, poolError('overloaded', 'QueueFull'));
  }
  arm(pool.alarm, lanes.nextGuessAt(pool.lanes));
}

function dispatchSoon(pool: PoolState): void {
  if (!pool.isDispatchQueued) {
    pool.isDispatchQueued = true;
    queueMicrotask(pool.dispatch);
  }
}

function onReply(pool: PoolState, job: PendingJob, reply: DecodedMessage): void {
  lanes.release(pool.lanes, job);
  if (job.missed > 0) {
    return;
  }
  const code = settle(job, reply);
  const sentAt = job.dueAt - job.deadlineMs;
  pool.options.onJob?.(job.lane, sentAt - job.queuedAt, performance.now() - sentAt, code);
  finish(pool, 1);
}

/** Settles the caller's promise; returns the code of a failure. */
function settle(job: PendingJob, reply: DecodedMessage): ErrorCode | undefined {
  if (reply.kind === REPLY_OK) {
    job.resolve(reply.fields);
    return undefined;
  }
  const error = decodeFailure(reply.fields[0]);
  job.reject(error);
  return error.code;
}

function onDown(pool: PoolState, thread: Thread, cause: DownCause, error: unknown): void {
  const lost: PendingJob[] = [];
  const kept: PendingJob[] = [];
  for (const job of thread.jobs.values()) {
    lanes.release(pool.lanes, job);
    if (job.missed === 0) {
      (job.requeues >= REQUEUES_MAX || isSuspect(thread, job) ? lost : kept).push(job);
    }
  }
  const now = performance.now();
  for (const job of kept.reverse()) {
    job.requeues += 1;
    job.dueAt = now + job.deadlineMs;
    lanes.restoreJob(pool.lanes, job);
  }
  rejectJobs(pool, lost, lossError(cause, error));
  pool.options.onEvent?.({ type: 'thread_down', cause, lost: lost.length, requeued: kept.length });
  dispatchSoon(pool);
}

/** Ends the thread if it hangs; otherwise answers those whose jobs are due in it. */
function checkThread(pool: PoolState, thread: Thread, now: number): void {
  const { hangs, late } = look(thread, now, pool.options.readCpuMs ?? cpuMsOf);
  if (hangs) {
    fail(thread, 'hung');
  } else if (late.length > 0) {
    rejectJobs(pool, late, poolError('overloaded', 'JobTimeout'));
  }
}

/** Ends what is due; gives the time when the next job is. */
function onAlarm(pool: PoolState, now: number): number {
  const { threads } = pool.crew;
  const expired = lanes.expireJobs(pool.lanes, now);
  if (expired.length > 0) {
    rejectJobs(pool, expired, poolError('overloaded', 'QueueTimeout'));
  }
  dispatchSoon(pool);
  for (const thread of [...threads]) {
    checkThread(pool, thread, now);
  }
  let next = lanes.nextDueAt(pool.lanes);
  for (const thread of threads) {
    for (const job of thread.jobs.values()) {
      next = Math.min(next, nextLookAt(job, now));
    }
  }
  return next;
}

async function end(pool: PoolState): Promise<void> {
  if (pool.accepted === 0) {
    pool.idle.resolve();
  }
  await pool.idle.promise;
  stop(pool.alarm);
  await closeCrew(pool.crew);
}

function statsOf({ lanes: waiting, crew }: PoolState): PoolStats {
  return {
    queued: {
      hot: lanes.waitingOf(waiting, 'hot'),
      bulk: lanes.waitingOf(waiting, 'bulk'),
      cold: lanes.waitingOf(waiting, 'cold'),
      guess: lanes.waitingOf(waiting, 'guess'),
    },
    running: crew.threads.reduce((sum, thread) => sum + thread.jobs.size, 0),
    coldRunning: waiting.cold.running + waiting.guess.running,
    threadsAlive: crew.threads.length,
    threadsBusy: crew.threads.filter((thread) => thread.held > 0).length,
    restarts: crew.restarts,
  };
}
