import { parentPort } from 'node:worker_threads';
import { ownThreadNumber } from './cpu-time.ts';
import { FAILURE, type Failure, failureOf } from './failure.ts';
import {
  type Decoder,
  type Encoder,
  FrameReader,
  FrameWriter,
  REPLY_ERROR,
  REPLY_OK,
  TRACE_BEGUN,
  TRACE_INSIDE,
  TRACE_THREAD,
  TRACE_WORDS,
} from './frame.ts';

/**
 * Does one kind of job. Handlers that never wait return their result directly (no promise is made for them); one that
 * returns a promise lets the thread serve other jobs meanwhile. The bytes of the input are views into the received frame
 * and are overwritten with zeros once the job is answered: copy bytes that have to live on.
 */
export interface ServedJob {
  readonly input: Decoder<unknown>;
  readonly output: Encoder<never>;
  readonly handle: (input: never) => unknown;
}

/**
 * Serves the pool until the thread ends; to be called once, by the thread's entry file, after everything it
 * needs has been loaded: the call signals to the pool that this thread is ready. A handler that throws or rejects
 * costs its own job only, which is answered with `toFailure(error)`; a kind without a handler, a result that its codec
 * cannot write and a `toFailure` that throws are answered with `internal`.
 * The id of the job begun last, and whether its handler is still on the stack, are kept in shared memory, which
 * outlives the thread: they show the pool the job that a dead thread died of.
 * `endFrame` is called when all jobs of a frame have been begun, before they are wiped: it ends all that handlers
 * share within a frame. A handler that waits shares nothing.
 */
export function serveThread(
  handlers: ReadonlyMap<number, ServedJob>,
  toFailure: (error: unknown) => Failure,
  endFrame: () => void = () => undefined,
): void {
  const port = parentPort;
  if (port === null) {
    throw new Error('serveThread must be called in a worker thread');
  }
  const trace = new Int32Array(new SharedArrayBuffer(TRACE_WORDS * Int32Array.BYTES_PER_ELEMENT));
  Atomics.store(trace, TRACE_THREAD, ownThreadNumber());
  const thread = new ServedThread(handlers, toFailure, trace, (frame) => port.postMessage(frame, [frame]));
  port.on('message', (frame: ArrayBuffer) => thread.serveFrame(frame, endFrame));
  port.postMessage(trace.buffer);
}

/** Runs the handlers of a thread, and posts their replies. */
class ServedThread {
  private readonly replies = new FrameWriter();
  /** The bytes of the jobs that were answered since the last flush. */
  private spent: Uint8Array[] = [];
  private isFlushQueued = false;

  constructor(
    private readonly jobs: ReadonlyMap<number, ServedJob>,
    private readonly toFailure: (error: unknown) => Failure,
    private readonly trace: Int32Array,
    private readonly post: (frame: ArrayBuffer) => void,
  ) {}

  serveFrame(frame: ArrayBuffer, endFrame: () => void): void {
    const { trace } = this;
    try {
      for (const reader = new FrameReader(frame); reader.next(); ) {
        Atomics.store(trace, TRACE_BEGUN, reader.id);
        Atomics.store(trace, TRACE_INSIDE, 1);
        this.serve(reader);
        Atomics.store(trace, TRACE_INSIDE, 0);
      }
    } finally {
      endFrame();
    }
    this.flush();
  }

  private serve(reader: FrameReader): void {
    const { id } = reader;
    const body = reader.body();
    try {
      const job = this.jobs.get(reader.kind);
      if (job === undefined) {
        throw new TypeError('no handler for this kind');
      }
      const result = job.handle(reader.value(job.input) as never);
      if (result instanceof Promise) {
        void result
          .then((value) => this.succeed(id, body, job, value))
          .catch((error: unknown) => this.fail(id, body, error))
          .then(() => this.flushSoon());
      } else {
        this.succeed(id, body, job, result);
      }
    } catch (error) {
      this.fail(id, body, error);
    }
  }

  private succeed(id: number, body: Uint8Array, { output }: ServedJob, result: unknown): void {
    // The handler's result is of the type that the codec of its job writes.
    this.replies.message(id, REPLY_OK, output, result as never);
    this.spent.push(body);
  }

  private fail(id: number, body: Uint8Array, error: unknown): void {
    let failure: Failure;
    try {
      failure = this.toFailure(error);
    } catch (broken) {
      // A broken translation must not cost the thread.
      failure = failureOf(broken);
    }
    this.replies.message(id, REPLY_ERROR, FAILURE, failure);
    this.spent.push(body);
  }

  /** Posts all replies in one frame, and wipes their jobs (passphrases, card data). */
  private flush(): void {
    this.isFlushQueued = false;
    if (this.spent.length === 0) {
      return;
    }
    this.post(this.replies.take());
    for (const body of this.spent) {
      body.fill(0);
    }
    this.spent = [];
  }

  /** For replies outside a frame: those of one turn of the event loop still leave together. */
  private flushSoon(): void {
    if (!this.isFlushQueued) {
      this.isFlushQueued = true;
      queueMicrotask(() => this.flush());
    }
  }
}
