import { parentPort } from 'node:worker_threads';
import { ownThreadNumber } from './cpu-time.ts';
import { encodeFailure, type Failure, failureOf } from './failure.ts';
import {
  decodeFrame,
  encodeFrame,
  FIELDS_MAX,
  type FrameMessage,
  REPLY_ERROR,
  REPLY_OK,
  TRACE_BEGUN,
  TRACE_INSIDE,
  TRACE_THREAD,
  TRACE_WORDS,
} from './frame.ts';

/**
 * Does one kind of job. Handlers that never wait return their fields directly (no promise is made for them);
 * one that returns a promise lets the thread serve other jobs meanwhile. The given fields are views into the
 * received frame and are overwritten with zeros once the job is answered: copy bytes that have to live on.
 */
export type FieldHandler = (
  fields: readonly Uint8Array[],
) => readonly Uint8Array[] | Promise<readonly Uint8Array[]>;

interface Reply extends FrameMessage {
  /** The fields of the job, to be wiped. */
  readonly spent: readonly Uint8Array[];
}

/**
 * Serves the pool until the thread ends; to be called once, by the thread's entry file, after everything it
 * needs has been loaded: the call signals to the pool that this thread is ready. A handler that throws or rejects
 * costs its own job only, which is answered with `toFailure(error)`; a kind without a handler, a result that is not
 * a list of fields and a `toFailure` that throws are answered with `internal`.
 * The id of the job begun last, and whether its handler is still on the stack, are kept in shared memory, which
 * outlives the thread: they show the pool the job that a dead thread died of.
 * `endFrame` is called when all jobs of a frame have been begun, before their fields are wiped: it ends all that handlers
 * share within a frame. A handler that waits shares nothing.
 */
export function serveThread(
  handlers: ReadonlyMap<number, FieldHandler>,
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
  private replies: Reply[] = [];
  private isFlushQueued = false;

  constructor(
    private readonly handlers: ReadonlyMap<number, FieldHandler>,
    private readonly toFailure: (error: unknown) => Failure,
    private readonly trace: Int32Array,
    private readonly post: (frame: ArrayBuffer) => void,
  ) {}

  serveFrame(frame: ArrayBuffer, endFrame: () => void): void {
    const { trace } = this;
    try {
      for (const job of decodeFrame(frame)) {
        Atomics.store(trace, TRACE_BEGUN, job.id);
        Atomics.store(trace, TRACE_INSIDE, 1);
        this.serve(job);
        Atomics.store(trace, TRACE_INSIDE, 0);
      }
    } finally {
      endFrame();
    }
    this.flush();
  }

  private serve(job: FrameMessage): void {
    try {
      const handler = this.handlers.get(job.kind);
      if (handler === undefined) {
        throw new TypeError('no handler for this kind');
      }
      const result = handler(job.fields);
      if (result instanceof Promise) {
        void result
          .then((fields) => this.succeed(job, fields))
          .catch((error: unknown) => this.fail(job, error))
          .then(() => this.flushSoon());
      } else {
        this.succeed(job, result);
      }
    } catch (error) {
      this.fail(job, error);
    }
  }

  private succeed({ id, fields: spent }: FrameMessage, fields: readonly Uint8Array[]): void {
    if (!Array.isArray(fields) || fields.length > FIELDS_MAX) {
      throw new TypeError('no list of fields');
    }
    this.replies.push({ id, kind: REPLY_OK, fields, spent });
  }

  private fail({ id, fields: spent }: FrameMessage, error: unknown): void {
    let failure: Failure;
    try {
      failure = this.toFailure(error);
    } catch (broken) {
      // A broken translation must not cost the thread.
      failure = failureOf(broken);
    }
    this.replies.push({ id, kind: REPLY_ERROR, fields: [encodeFailure(failure)], spent });
  }

  /** Posts all replies in one message, then wipes the fields of their jobs (passphrases, card data). */
  private flush(): void {
    this.isFlushQueued = false;
    if (this.replies.length === 0) {
      return;
    }
    const sent = this.replies;
    this.replies = [];
    this.post(encodeFrame(sent));
    for (const { spent } of sent) {
      for (const field of spent) {
        field.fill(0);
      }
    }
  }

  /** For replies outside a frame: those of one turn of the event loop still leave together. */
  private flushSoon(): void {
    if (!this.isFlushQueued) {
      this.isFlushQueued = true;
      queueMicrotask(() => this.flush());
    }
  }
}
