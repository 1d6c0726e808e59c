/** The thread's side of the pool: reads frames of jobs, runs handlers, answers in frames. */
import { parentPort } from 'node:worker_threads';
import {
  type DecodedMessage,
  decodeFrame,
  encodeFrame,
  FIELDS_MAX,
  REPLY_ERROR,
  REPLY_OK,
  TRACE_BEGUN,
  TRACE_INSIDE,
  TRACE_WORDS,
} from './frame.ts';

/**
 * Does one kind of job. Handlers that never wait return their fields directly (no promise is made for them);
 * one that returns a promise lets the thread serve other jobs meanwhile. The given fields are views into the
 * received frame and are overwritten with zeros once the job is answered: copy what has to live on.
 */
export type Handler = (fields: Uint8Array[]) => Uint8Array[] | Promise<Uint8Array[]>;

interface Answer {
  readonly id: number;
  readonly kind: number;
  readonly fields: readonly Uint8Array[];
  readonly spent: readonly Uint8Array[];
}

const encoder = new TextEncoder();

const createOutbox = (post: (frame: ArrayBuffer) => void) => {
  let answers: Answer[] = [];
  let flushQueued = false;

  /** Posts all answers in one message, then wipes what their jobs had brought (passphrases, card data). */
  const flush = (): void => {
    flushQueued = false;
    if (answers.length === 0) {
      return;
    }
    const sent = answers;
    answers = [];
    post(encodeFrame(sent));
    for (const { spent } of sent) {
      for (const field of spent) {
        field.fill(0);
      }
    }
  };

  return {
    flush,
    add(answer: Answer): void {
      answers.push(answer);
    },
    /** For answers that come outside a frame: those of one turn still leave together. */
    flushSoon(): void {
      if (flushQueued) {
        return;
      }
      flushQueued = true;
      queueMicrotask(flush);
    },
  };
};

const noHandler: Handler = () => {
  throw new TypeError('no handler for this kind');
};

/**
 * Serves the pool until the thread ends; to be called once, by the thread's entry file, after everything it
 * needs has been loaded: the call tells the pool that this thread is ready. A handler that throws or rejects
 * costs its own job only, which is answered with `toCode(error)`, and so does a kind without a handler; a
 * result that is not a list of fields and a `toCode` that throws are answered with `internal`.
 * The id of the job begun last, and whether its handler is still on the stack, are kept in shared memory, which
 * outlives the thread: from these the pool learns which job a dead thread died of.
 */
export const serveThread = (
  handlers: ReadonlyMap<number, Handler>,
  toCode: (error: unknown) => string,
): void => {
  const port = parentPort;
  if (port === null) {
    throw new Error('serveThread must be called in a worker thread');
  }
  const trace = new Int32Array(new SharedArrayBuffer(TRACE_WORDS * Int32Array.BYTES_PER_ELEMENT));
  const outbox = createOutbox((frame) => port.postMessage(frame, [frame]));

  const refuse = (job: DecodedMessage, code: string): void =>
    outbox.add({ id: job.id, kind: REPLY_ERROR, fields: [encoder.encode(code)], spent: job.fields });

  const fail = (job: DecodedMessage, error: unknown): void => {
    let code = 'internal';
    try {
      code = toCode(error);
    } catch {
      // The code stays `internal`: a broken translation must not cost the thread.
    }
    refuse(job, code);
  };

  const succeed = (job: DecodedMessage, fields: Uint8Array[]): void => {
    if (!Array.isArray(fields) || fields.length > FIELDS_MAX) {
      refuse(job, 'internal');
    } else {
      outbox.add({ id: job.id, kind: REPLY_OK, fields, spent: job.fields });
    }
  };

  const settleLater = (job: DecodedMessage, result: Promise<Uint8Array[]>): void => {
    void result
      .then(
        (fields) => succeed(job, fields),
        (error) => fail(job, error),
      )
      .then(outbox.flushSoon);
  };

  const serve = (job: DecodedMessage): void => {
    try {
      const result = (handlers.get(job.kind) ?? noHandler)(job.fields);
      if (result instanceof Promise) {
        settleLater(job, result);
      } else {
        succeed(job, result);
      }
    } catch (error) {
      fail(job, error);
    }
  };

  port.on('message', (frame: ArrayBuffer) => {
    for (const job of decodeFrame(frame)) {
      Atomics.store(trace, TRACE_BEGUN, job.id);
      Atomics.store(trace, TRACE_INSIDE, 1);
      serve(job);
      Atomics.store(trace, TRACE_INSIDE, 0);
    }
    outbox.flush();
  });
  port.postMessage(trace.buffer);
};
