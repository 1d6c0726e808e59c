import { peek } from 'bun';
import { VaultError } from '../core/errors.ts';

function tooLarge(): VaultError {
  return new VaultError('body_too_large', { field: 'body' });
}

/** The Content-Length of a request; undefined without one, as for chunked bodies. */
function declaredLength(headers: Headers): number | undefined {
  const text = headers.get('content-length');
  return text === null ? undefined : Number(text);
}

/** Rejects a body whose declared length is over the limit. Returns the length; undefined if none is declared. */
export function rejectLargeBody(headers: Headers, bytesMax: number): number | undefined {
  const length = declaredLength(headers);
  if (length !== undefined && !(length <= bytesMax)) {
    throw tooLarge();
  }
  return length;
}

/** A longer body is only received from an authenticated caller, and never just to keep a connection open. */
const LONG_BYTES = 65_536;

export function isLong(length: number): boolean {
  return length > LONG_BYTES;
}

/** True if an unread body is long or endless: the connection then ends with the reply instead of receiving the rest. */
export function hasLongBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || isLong(declaredLength(headers) ?? 0);
}

/** Discards a body as it arrives; otherwise it stays in memory until the reply. */
export function dropBody({ body }: Request): void {
  body?.cancel().catch(() => undefined);
}

/** Copies the chunks to a new buffer, which can be transferred to another thread. */
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

/** Called when a body has not arrived yet: `cut` ends the wait with an error, and so does an exception. */
type Wait = (cut: (error: VaultError) => void) => void;

/** Called with the number of received bytes; an exception ends the reading. */
type Progress = (bytes: number) => void;

/** Awaits `body`. One that is late or incomplete is the client's error: `invalid_request`. */
function within<Value>(body: Promise<Value>, timeoutMs: number, wait: Wait): Promise<Value> {
  // Data that arrived together with the head of the request.
  if (peek.status(body) === 'fulfilled') {
    return body;
  }
  return new Promise((resolve, reject) => {
    wait(reject);
    const timer = setTimeout(() => reject(broken()), timeoutMs);
    timer.unref();
    body
      .then(resolve, (error: unknown) => reject(error instanceof VaultError ? error : broken()))
      .finally(() => clearTimeout(timer));
  });
}

/** Reads a stream; undefined as soon as it has more than `bytesMax` bytes. */
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
 * Reads a request's body within `timeoutMs`; empty if there is none. A declared `length` was checked by `rejectLargeBody`;
 * without one the body is cut off at `bytesMax`, so that an endless body costs no memory, and `progress` is called.
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
