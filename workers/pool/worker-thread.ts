import { Worker } from 'node:worker_threads';
import { Alarm } from './alarm.ts';
import { FrameReader, FrameWriter, TRACE_BEGUN, TRACE_INSIDE, TRACE_WORDS } from './frame.ts';
import { isStretching, type PendingJob } from './job.ts';

/** Every way in which a thread is lost; an unhandled rejection shows as `error` or as an exit with code 0. */
export type DownCause = 'error' | 'exit' | 'messageerror' | 'hung';

/** Calls to the owner of a thread. */
export interface ThreadListener {
  readonly onReady: (thread: Thread) => void;
  /** A job was answered, by the current message of a frame, and is no longer in its thread. */
  readonly onReply: (job: PendingJob, reply: FrameReader) => void;
  /** All replies of one frame have been given. */
  readonly onFrameDone: () => void;
  /** Called once, unless the thread was closed on purpose. `error` was thrown outside of every handler. */
  readonly onDown: (thread: Thread, cause: DownCause, error: unknown) => void;
}

/** The host's side of one thread: its start, the jobs inside it, its end. */
export class Thread {
  /** The jobs inside, in the order in which they were sent. */
  readonly jobs = new Map<number, PendingJob>();
  /** The number of hot and bulk jobs among them: those that hold the thread itself. */
  held = 0;
  /** It has answered at least once: a thread that dies before is not replaced at once. */
  hasAnswered = false;
  /** Its CPU time at the first check of its hot or bulk jobs; undefined until then. See `overdue.ts`. */
  cpuMs: number | undefined;
  /** The job that it had begun last at that time. */
  cpuJobId = 0;
  /** Shared with the thread: see `frame.ts`. */
  trace: Int32Array = new Int32Array(new SharedArrayBuffer(TRACE_WORDS * Int32Array.BYTES_PER_ELEMENT));
  private readonly worker: Worker;
  private readonly writer = new FrameWriter();
  /** Resolved once the thread is ready or down. */
  private readonly settled = Promise.withResolvers<void>();
  private isReady = false;
  private isDown = false;
  private lastId = 0;

  /**
   * Starts a thread from `entry`, which must call `serveThread`. The thread is ready when its handshake has come, and
   * fails as `hung` without one for `loadMsMax`; error, exit (with any code), an unreadable message and `fail` are one
   * and the same end.
   */
  constructor(
    entry: URL | string,
    workerData: unknown,
    loadMsMax: number,
    private readonly listener: ThreadListener,
  ) {
    this.worker = new Worker(entry, { workerData });
    this.worker.on('message', (message: ArrayBuffer | SharedArrayBuffer) => this.onMessage(message));
    this.worker.on('error', (error) => this.goDown('error', error));
    this.worker.on('messageerror', () =>
      this.isReady ? this.fail('messageerror') : this.goDown('messageerror'),
    );
    this.worker.on('exit', () => this.goDown('exit'));
    const alarm = new Alarm(() => {
      this.fail('hung');
      return Number.POSITIVE_INFINITY;
    });
    alarm.arm(performance.now() + loadMsMax);
    void this.settled.promise.then(() => alarm.stop());
  }

  /** Writes a job under a new id into the next frame. Throws, with nothing written, when its input cannot be written. */
  add(job: PendingJob): void {
    this.lastId = (this.lastId + 1) >>> 0;
    job.id = this.lastId;
    // `Pool.run` has matched the input with the codec of its job.
    this.writer.message(job.id, job.job.kind, job.job.input, job.input as never);
    this.jobs.set(job.id, job);
    if (!isStretching(job.lane)) {
      this.held += 1;
      this.cpuMs = undefined;
    }
  }

  /** Sends the jobs that were added. */
  post(): void {
    const frame = this.writer.take();
    this.worker.postMessage(frame, [frame]);
  }

  /**
   * Tests whether the thread, now dead, can have died of this job. If a handler was on the stack it was that handler's job
   * and no other; if none was, it can have been any job begun and not answered.
   */
  isSuspect(job: PendingJob): boolean {
    const sinceBegun = (job.id - Atomics.load(this.trace, TRACE_BEGUN)) | 0;
    return Atomics.load(this.trace, TRACE_INSIDE) === 1 ? sinceBegun === 0 : sinceBegun <= 0;
  }

  /** Reports the thread as down and ends it; only for a thread that is ready, or that will not be. */
  fail(cause: DownCause): void {
    if (!this.isDown) {
      void this.worker.terminate();
      this.goDown(cause);
    }
  }

  /**
   * Ends the thread silently once it has loaded; before, ending it is not safe. A thread with a job inside may be stuck,
   * and is not waited for.
   */
  async close(): Promise<void> {
    await this.settled.promise;
    if (!this.isDown) {
      this.isDown = true;
      const terminated = this.worker.terminate();
      await (this.jobs.size === 0 ? terminated : undefined);
    }
  }

  private goDown(cause: DownCause, error?: unknown): void {
    if (!this.isDown) {
      this.isDown = true;
      this.settled.resolve();
      this.listener.onDown(this, cause, error);
    }
  }

  private onMessage(message: ArrayBuffer | SharedArrayBuffer): void {
    if (this.isDown) {
      return;
    }
    if (message instanceof SharedArrayBuffer) {
      this.trace = new Int32Array(message);
      this.isReady = true;
      this.settled.resolve();
      this.listener.onReady(this);
      return;
    }
    try {
      this.receive(message);
    } catch {
      this.fail('messageerror');
      return;
    }
    this.hasAnswered = true;
    this.listener.onFrameDone();
  }

  private receive(frame: ArrayBuffer): void {
    for (const reply = new FrameReader(frame); reply.next(); ) {
      const job = this.jobs.get(reply.id);
      if (job === undefined) {
        throw new RangeError('reply to an unknown job');
      }
      this.jobs.delete(reply.id);
      this.held -= isStretching(job.lane) ? 0 : 1;
      this.listener.onReply(job, reply);
    }
  }
}
