/** The host's side of one thread: its start, the jobs inside it, its end. */
import { Worker } from 'node:worker_threads';
import { arm, createAlarm, stop } from './alarm.ts';
import type { PoolReason } from './failure.ts';
import {
  type DecodedMessage,
  decodeFrame,
  encodeFrame,
  TRACE_BEGUN,
  TRACE_INSIDE,
  TRACE_WORDS,
} from './frame.ts';
import { isStretching, type PendingJob } from './job.ts';

/** Every way in which a thread is lost; an unhandled rejection shows as `error` or as an exit with code 0. */
export type DownCause = 'error' | 'exit' | 'messageerror' | 'hung';

/** The name under which each is reported as the cause of a failed job. */
export const DOWN_REASON: Readonly<Record<DownCause, PoolReason>> = {
  error: 'ThreadError',
  exit: 'ThreadExit',
  messageerror: 'ThreadMessageError',
  hung: 'ThreadHung',
};

/** What the owner of a thread is called for. */
export interface ThreadListener {
  readonly onReady: (thread: Thread) => void;
  /** A job of this thread was answered; it is in the thread no longer. */
  readonly onReply: (thread: Thread, job: PendingJob, reply: DecodedMessage) => void;
  /** All replies of one frame have been given. */
  readonly onFrameDone: (thread: Thread) => void;
  /** Called once, unless the thread was closed on purpose. `error`: what was thrown outside of every handler. */
  readonly onDown: (thread: Thread, cause: DownCause, error: unknown) => void;
}

/** A thread with the jobs inside it. */
export interface Thread {
  readonly worker: Worker;
  readonly listener: ThreadListener;
  /** The jobs inside, in the order in which they were sent. */
  readonly jobs: Map<number, PendingJob>;
  /** The number of hot and bulk jobs among them: those that hold the thread itself. */
  held: number;
  /** Whether it has ever answered: one that dies without is not replaced at once. */
  hasAnswered: boolean;
  isReady: boolean;
  isDown: boolean;
  /** Resolved once the thread is ready or down. */
  readonly settled: PromiseWithResolvers<void>;
  /** Its CPU time when its hot or bulk jobs were first looked at; undefined until then. See `overdue.ts`. */
  cpuMs: number | undefined;
  /** The job that it had begun last at that time. */
  cpuJobId: number;
  /** Shared with the thread: see `frame.ts`. */
  trace: Int32Array;
  lastId: number;
}

/**
 * Starts a thread from `entry`, which must call `serveThread`. The thread is ready when its handshake has
 * come, and fails as `hung` without one for `loadMsMax`; error, exit (with any code), an unreadable message and `fail` are one
 * and the same end.
 */
export function startThread(
  entry: URL | string,
  workerData: unknown,
  loadMsMax: number,
  listener: ThreadListener,
): Thread {
  const worker = new Worker(entry, { workerData });
  const thread: Thread = {
    worker,
    listener,
    jobs: new Map(),
    held: 0,
    hasAnswered: false,
    isReady: false,
    isDown: false,
    settled: Promise.withResolvers<void>(),
    cpuMs: undefined,
    cpuJobId: 0,
    trace: new Int32Array(new SharedArrayBuffer(TRACE_WORDS * Int32Array.BYTES_PER_ELEMENT)),
    lastId: 0,
  };
  worker.on('message', (message: ArrayBuffer | SharedArrayBuffer) => onMessage(thread, message));
  worker.on('error', (error) => goDown(thread, 'error', error));
  worker.on('messageerror', () =>
    thread.isReady ? fail(thread, 'messageerror') : goDown(thread, 'messageerror'),
  );
  worker.on('exit', () => goDown(thread, 'exit'));
  const alarm = createAlarm(() => {
    fail(thread, 'hung');
    return Number.POSITIVE_INFINITY;
  });
  arm(alarm, performance.now() + loadMsMax);
  void thread.settled.promise.then(() => stop(alarm));
  return thread;
}

/** Sends jobs in one frame, each under a new id. Throws, with nothing sent, when a field cannot be copied. */
export function send(thread: Thread, jobs: readonly PendingJob[]): void {
  for (const job of jobs) {
    thread.lastId = (thread.lastId + 1) >>> 0;
    job.id = thread.lastId;
  }
  const frame = encodeFrame(jobs);
  thread.worker.postMessage(frame, [frame]);
  for (const job of jobs) {
    thread.jobs.set(job.id, job);
    if (!isStretching(job.lane)) {
      thread.held += 1;
      thread.cpuMs = undefined;
    }
  }
}

/**
 * Whether the thread, now dead, can have died of this job. If a handler was on the stack it was that handler's job
 * and no other; if none was, it can have been any job begun and not answered.
 */
export function isSuspect({ trace }: Thread, job: PendingJob): boolean {
  const sinceBegun = (job.id - Atomics.load(trace, TRACE_BEGUN)) | 0;
  return Atomics.load(trace, TRACE_INSIDE) === 1 ? sinceBegun === 0 : sinceBegun <= 0;
}

/** Reports the thread as down and ends it; only for a thread that is ready, or that will not be. */
export function fail(thread: Thread, cause: DownCause): void {
  if (!thread.isDown) {
    void thread.worker.terminate();
    goDown(thread, cause);
  }
}

/**
 * Ends the thread silently once it is out of the loading state, where ending it is not safe. One with a job inside may be
 * stuck, and is not waited for.
 */
export async function close(thread: Thread): Promise<void> {
  await thread.settled.promise;
  if (!thread.isDown) {
    thread.isDown = true;
    const terminated = thread.worker.terminate();
    await (thread.jobs.size === 0 ? terminated : undefined);
  }
}

function goDown(thread: Thread, cause: DownCause, error?: unknown): void {
  if (!thread.isDown) {
    thread.isDown = true;
    thread.settled.resolve();
    thread.listener.onDown(thread, cause, error);
  }
}

function onMessage(thread: Thread, message: ArrayBuffer | SharedArrayBuffer): void {
  if (thread.isDown) {
    return;
  }
  if (message instanceof SharedArrayBuffer) {
    thread.trace = new Int32Array(message);
    thread.isReady = true;
    thread.settled.resolve();
    thread.listener.onReady(thread);
    return;
  }
  try {
    receive(thread, message);
  } catch {
    fail(thread, 'messageerror');
    return;
  }
  thread.hasAnswered = true;
  thread.listener.onFrameDone(thread);
}

function receive(thread: Thread, frame: ArrayBuffer): void {
  for (const reply of decodeFrame(frame)) {
    const job = thread.jobs.get(reply.id);
    if (job === undefined) {
      throw new RangeError('reply to an unknown job');
    }
    thread.jobs.delete(reply.id);
    thread.held -= isStretching(job.lane) ? 0 : 1;
    thread.listener.onReply(thread, job, reply);
  }
}
