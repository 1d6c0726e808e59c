import { peek } from 'bun';
import { VaultError } from '../core/errors.ts';

function tooLarge(): VaultError {
  return new VaultError('body_too_large', { field: 'body' });
}

/** The Content-Length of a request; undefined when it has none, as with chunked bodies. */
function declaredLength(headers: Headers): number | undefined {
  const text = headers.get('content-length');
  return text === null ? undefined : Number(text);
}

/**
 * Rejects a body whose declared length is over the limit, before a byte of it is read. The length; undefined where none is
 * declared.
 */
export function rejectLargeBody(headers: Headers, bytesMax: number): number | undefined {
  const length = declaredLength(headers);
  if (length !== undefined && !(length <= bytesMax)) {
    throw tooLarge();
  }
  return length;
}

/** A longer body is only received from a caller who is authenticated, and never just to keep a connection. */
const LONG_BYTES = 65_536;

/** Whether a body of a declared length is long. */
export function isLong(length: number): boolean {
  return length > LONG_BYTES;
}

/**
 * Whether a body that is not read is long or endless, so that the connection should end with the reply instead of
 * receiving the rest of it.
 */
export function hasLongBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || isLong(declaredLength(headers) ?? 0);
}

/** Lets the runtime throw a body away as it comes. Left alone, it is kept in memory until its request is answered. */
export function dropBody({ body }: Request): void {
  body?.cancel().catch(() => undefined);
}

/** One buffer of its own for the pieces: these bytes may be handed to another thread. */
function joinChunks(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function broken(): VaultError {
  return new VaultError('invalid_request', { field: 'body', expected: 'has not arrived completely' });
}

/** A body that is being read, and the end of its time on `performance.now()`. */
interface Reading {
  readonly endMs: number;
  readonly reject: (error: VaultError) => void;
}

/** Module state: one timer serves all bodies. It is set for the end of the first one, and seldom set again. */
const readings = new Set<Reading>();
let timer: ReturnType<typeof setTimeout> | undefined;
let timerEndMs = Number.POSITIVE_INFINITY;

function setTimer(endMs: number): void {
  clearTimeout(timer);
  timerEndMs = endMs;
  timer = setTimeout(rejectOverdue, Math.max(0, Math.ceil(endMs - performance.now())));
  timer.unref();
}

/** Rejects the bodies whose time is over, and waits for the next one. */
function rejectOverdue(): void {
  const now = performance.now();
  let nextMs = Number.POSITIVE_INFINITY;
  for (const reading of readings) {
    if (reading.endMs <= now) {
      readings.delete(reading);
      reading.reject(broken());
    } else {
      nextMs = Math.min(nextMs, reading.endMs);
    }
  }
  timerEndMs = Number.POSITIVE_INFINITY;
  if (nextMs < timerEndMs) {
    setTimer(nextMs);
  }
}

/** Called when a body is not there yet: `cut` ends the waiting with an error. What it throws ends it too. */
type Wait = (cut: (error: VaultError) => void) => void;

/** Called with the number of bytes that have come so far; what it throws ends the reading. */
type Progress = (bytes: number) => void;

/** The outcome of `body`. One that is not there in time, or breaks off, is the client's error: `invalid_request`. */
function within<Value>(body: Promise<Value>, timeoutMs: number, wait: Wait): Promise<Value> {
  // What came together with the head of the request is there already.
  if (peek.status(body) === 'fulfilled') {
    return body;
  }
  return new Promise((resolve, reject) => {
    const reading = { endMs: performance.now() + timeoutMs, reject };
    body.then(
      (value) => {
        readings.delete(reading);
        resolve(value);
      },
      (error: unknown) => {
        readings.delete(reading);
        reject(error instanceof VaultError ? error : broken());
      },
    );
    wait(reject);
    readings.add(reading);
    if (reading.endMs < timerEndMs) {
      setTimer(reading.endMs);
    }
  });
}

/** The bytes of a stream; undefined as soon as there are more than `bytesMax`. */
async function readChunks(
  reader: { readonly read: () => Promise<{ readonly value?: Uint8Array | undefined }> },
  bytesMax: number,
  progress: Progress,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const step = await reader.read();
    if (step.value === undefined) {
      return joinChunks(chunks, length);
    }
    length += step.value.byteLength;
    if (length > bytesMax) {
      return undefined;
    }
    progress(length);
    chunks.push(step.value);
  }
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  bytesMax: number,
  timeoutMs: number,
  wait: Wait,
  progress: Progress,
): Promise<Uint8Array> {
  const reader = stream.getReader();
  try {
    const bytes = await within(readChunks(reader, bytesMax, progress), timeoutMs, wait);
    if (bytes === undefined) {
      throw tooLarge();
    }
    return bytes;
  } catch (error) {
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

/**
 * Reads a request's body: at most `bytesMax` bytes, within `timeoutMs`. A declared length comes from the check of the
 * caller (`rejectLargeBody`); without one the body is counted as it comes and cut off at the limit, so
 * that an endless body costs no memory. No body is an empty one. `progress` is only called for a
 * body without a length.
 */
export async function readBody(
  request: Request,
  length: number | undefined,
  bytesMax: number,
  timeoutMs: number,
  wait: Wait,
  progress: Progress = () => undefined,
): Promise<Uint8Array> {
  if (length === 0) {
    return new Uint8Array(0);
  }
  if (length !== undefined) {
    return within(request.bytes(), timeoutMs, wait);
  }
  return request.body === null
    ? new Uint8Array(0)
    : readStream(request.body, bytesMax, timeoutMs, wait, progress);
}
