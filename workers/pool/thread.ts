/** The thread's side of the pool: reads frames of jobs, runs handlers, answers in frames. */
import { parentPort } from 'node:worker_threads';
import { ownThreadNumber } from './cpu-time.ts';
import { encodeFailure, type Failure, failureOf } from './failure.ts';
import {
  type DecodedMessage,
  decodeFrame,
  encodeFrame,
  FIELDS_MAX,
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
 * received frame and are overwritten with zeros once the job is answered: copy what has to live on.
 */
export type FieldHandler = (fields: Uint8Array[]) => Uint8Array[] | Promise<Uint8Array[]>;

interface Reply {
  readonly id: number;
  readonly kind: number;
  readonly fields: readonly Uint8Array[];
  /** What the job has brought, to be wiped. */
  readonly spent: readonly Uint8Array[];
}

interface ThreadState {
  readonly handlers: ReadonlyMap<number, FieldHandler>;
  readonly toFailure: (error: unknown) => Failure;
  readonly endFrame: () => void;
  readonly post: (frame: ArrayBuffer) => void;
  readonly trace: Int32Array;
  replies: Reply[];
  isFlushQueued: boolean;
}

/**
 * Serves the pool until the thread ends; to be called once, by the thread's entry file, after everything it
 * needs has been loaded: the call signals to the pool that this thread is ready. A handler that throws or rejects
 * costs its own job only, which is answered with `toFailure(error)`; a kind without a handler, a result that is not
 * a list of fields and a `toFailure` that throws are answered with `internal`.
 * The id of the job begun last, and whether its handler is still on the stack, are kept in shared memory, which
 * outlives the thread: from these the pool learns which job a dead thread died of.
 * `endFrame` is called when all jobs of a frame have been begun, before what they brought is wiped: what handlers share
 * within a frame ends there. A handler that waits shares nothing.
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
  const thread: ThreadState = {
    handlers,
    toFailure,
    endFrame,
    post: (frame) => port.postMessage(frame, [frame]),
    trace: new Int32Array(new SharedArrayBuffer(TRACE_WORDS * Int32Array.BYTES_PER_ELEMENT)),
    replies: [],
    isFlushQueued: false,
  };
  Atomics.store(thread.trace, TRACE_THREAD, ownThreadNumber());
  port.on('message', (frame: ArrayBuffer) => serveFrame(thread, frame));
  port.postMessage(thread.trace.buffer);
}

function serveFrame(thread: ThreadState, frame: ArrayBuffer): void {
  const { trace } = thread;
  try {
    for (const job of decodeFrame(frame)) {
      Atomics.store(trace, TRACE_BEGUN, job.id);
      Atomics.store(trace, TRACE_INSIDE, 1);
      serve(thread, job);
      Atomics.store(trace, TRACE_INSIDE, 0);
    }
  } finally {
    thread.endFrame();
  }
  flush(thread);
}

function serve(thread: ThreadState, job: DecodedMessage): void {
  try {
    const handler = thread.handlers.get(job.kind);
    if (handler === undefined) {
      throw new TypeError('no handler for this kind');
    }
    const result = handler(job.fields);
    if (result instanceof Promise) {
      settleLater(thread, job, result);
    } else {
      succeed(thread, job, result);
    }
  } catch (error) {
    fail(thread, job, error);
  }
}

function settleLater(thread: ThreadState, job: DecodedMessage, result: Promise<Uint8Array[]>): void {
  void result
    .then((fields) => succeed(thread, job, fields))
    .catch((error: unknown) => fail(thread, job, error))
    .then(() => flushSoon(thread));
}

function succeed(thread: ThreadState, { id, fields: spent }: DecodedMessage, fields: Uint8Array[]): void {
  if (!Array.isArray(fields) || fields.length > FIELDS_MAX) {
    throw new TypeError('no list of fields');
  }
  thread.replies.push({ id, kind: REPLY_OK, fields, spent });
}

function fail(thread: ThreadState, { id, fields: spent }: DecodedMessage, error: unknown): void {
  let failure: Failure;
  try {
    failure = thread.toFailure(error);
  } catch (broken) {
    // A broken translation must not cost the thread.
    failure = failureOf(broken);
  }
  thread.replies.push({ id, kind: REPLY_ERROR, fields: [encodeFailure(failure)], spent });
}

/** Posts all replies in one message, then wipes what their jobs had brought (passphrases, card data). */
function flush(thread: ThreadState): void {
  thread.isFlushQueued = false;
  if (thread.replies.length === 0) {
    return;
  }
  const sent = thread.replies;
  thread.replies = [];
  thread.post(encodeFrame(sent));
  for (const { spent } of sent) {
    for (const field of spent) {
      field.fill(0);
    }
  }
}

/** For replies that come outside a frame: those of one turn still leave together. */
function flushSoon(thread: ThreadState): void {
  if (!thread.isFlushQueued) {
    thread.isFlushQueued = true;
    queueMicrotask(() => flush(thread));
  }
}
