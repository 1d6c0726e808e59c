/** The host's side of one thread: its start, the jobs inside it, its end. */
import { Worker } from 'node:worker_threads';
import {
  type DecodedMessage,
  decodeFrame,
  encodeFrame,
  TRACE_BEGUN,
  TRACE_INSIDE,
  TRACE_WORDS,
} from './frame.ts';
import type { PendingJob } from './job.ts';

/** Every way in which a thread is lost; an unhandled rejection shows as `error` or as an exit with code 0. */
export type DownCause = 'error' | 'exit' | 'messageerror' | 'hung';

export interface ThreadListener {
  onReady(thread: Thread): void;
  /** A job of this thread was answered; it is in the thread no longer. */
  onReply(thread: Thread, job: PendingJob, reply: DecodedMessage): void;
  /** All answers of one frame have been given. */
  onFrameDone(thread: Thread): void;
  /** Called once, unless the thread was closed on purpose. */
  onDown(thread: Thread, cause: DownCause): void;
}

export interface Thread {
  /** The jobs inside, in the order in which they were sent. */
  readonly jobs: ReadonlyMap<number, PendingJob>;
  /** The hot and bulk jobs among them: those that hold the thread itself. */
  busy(): number;
  /** Whether it has ever answered: one that dies without is not replaced at once. */
  hasAnswered(): boolean;
  /**
   * Whether the thread, now dead, can have died of this job. If a handler was on the stack it was that
   * handler's job and no other; if none was, it can have been any job begun and not answered.
   */
  isSuspect(job: PendingJob): boolean;
  send(jobs: readonly PendingJob[]): void;
  /** Reports the thread as down and ends it; only for a thread that is ready. */
  fail(cause: DownCause): void;
  /** Ends the thread silently once it is out of the loading state, where ending it is not safe. */
  close(): Promise<void>;
}

/**
 * Starts a thread from `entry`, which must call `serveThread`. The thread is ready when its handshake has
 * come; error, exit (with any code), an unreadable message and `fail` are one and the same end.
 */
export const startThread = (entry: URL | string, workerData: unknown, listener: ThreadListener): Thread => {
  const worker = new Worker(entry, { workerData });
  const jobs = new Map<number, PendingJob>();
  const settled = Promise.withResolvers<void>();
  let trace = new Int32Array(new SharedArrayBuffer(TRACE_WORDS * Int32Array.BYTES_PER_ELEMENT));
  let ready = false;
  let down = false;
  let answered = false;
  let held = 0;
  let lastId = 0;

  const goDown = (cause: DownCause): void => {
    if (down) {
      return;
    }
    down = true;
    settled.resolve();
    listener.onDown(thread, cause);
  };

  const fail = (cause: DownCause): void => {
    if (down) {
      return;
    }
    void worker.terminate();
    goDown(cause);
  };

  const receive = (frame: ArrayBuffer): void => {
    for (const reply of decodeFrame(frame)) {
      const job = jobs.get(reply.id);
      if (job === undefined) {
        throw new RangeError('reply to an unknown job');
      }
      jobs.delete(reply.id);
      if (job.lane !== 'cold') {
        held -= 1;
      }
      listener.onReply(thread, job, reply);
    }
  };

  const onMessage = (message: ArrayBuffer | SharedArrayBuffer): void => {
    if (down) {
      return;
    }
    if (message instanceof SharedArrayBuffer) {
      trace = new Int32Array(message);
      ready = true;
      settled.resolve();
      listener.onReady(thread);
      return;
    }
    try {
      receive(message);
    } catch {
      fail('messageerror');
      return;
    }
    answered = true;
    listener.onFrameDone(thread);
  };

  const thread: Thread = {
    jobs,
    busy: () => held,
    hasAnswered: () => answered,
    isSuspect(job) {
      const sinceBegun = (job.id - Atomics.load(trace, TRACE_BEGUN)) | 0;
      return Atomics.load(trace, TRACE_INSIDE) === 1 ? sinceBegun === 0 : sinceBegun <= 0;
    },
    send(sent) {
      for (const job of sent) {
        lastId = (lastId + 1) >>> 0;
        job.id = lastId;
      }
      const frame = encodeFrame(sent);
      worker.postMessage(frame, [frame]);
      for (const job of sent) {
        jobs.set(job.id, job);
        if (job.lane !== 'cold') {
          held += 1;
        }
      }
    },
    fail,
    async close() {
      await settled.promise;
      if (down) {
        return;
      }
      down = true;
      await worker.terminate();
    },
  };

  worker.on('message', onMessage);
  worker.on('error', () => goDown('error'));
  worker.on('messageerror', () => (ready ? fail('messageerror') : goDown('messageerror')));
  worker.on('exit', () => goDown('exit'));
  return thread;
};
