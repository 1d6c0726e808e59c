import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { VaultError } from '../core/errors.ts';
import type { HeaderEntries } from './headers.ts';

/** The reply of a third party, with any status, including redirects. */
export interface OutboundReply {
  readonly status: number;
  /** In the received order and spelling, including duplicates. */
  readonly headers: HeaderEntries;
  /** Decoded from gzip, deflate or br; another content coding is left unchanged. */
  readonly body: Uint8Array;
}

/** A reply whose body is still to come. */
export interface StreamedReply extends Omit<OutboundReply, 'body'> {
  /**
   * Not decoded, and within the limits of a whole body. It fails with a `VaultError`: `reply_too_large`, `target_timeout` or
   * `outcome_unknown`. Cancelling it closes the connection.
   */
  readonly body: ReadableStream<Uint8Array>;
}

/** The range of final statuses; the parser of the runtime accepts any three digits. */
const STATUS_MIN = 200;
const STATUS_MAX = 599;

type FailureCode = 'reply_too_large' | 'target_unreachable';

/** The result of reading a reply. */
export type ReadReply =
  | ({ readonly kind: 'reply' } & OutboundReply)
  | { readonly kind: 'failed'; readonly code: FailureCode };

/** A reply whose body is being read. */
export interface OpenReply {
  readonly reply: StreamedReply;
  /** Ends the body with an error, unless it has ended. */
  readonly fail: (error: VaultError) => void;
}

type Decode = (encoded: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

function pairsOf(raw: readonly string[]): HeaderEntries {
  return Array.from({ length: raw.length >> 1 }, (_, index) => [
    raw[2 * index] ?? '',
    raw[2 * index + 1] ?? '',
  ]);
}

function valuesOf(headers: HeaderEntries, wanted: string): string {
  return headers
    .filter(([name]) => name.toLowerCase() === wanted)
    .map(([, value]) => value.trim().toLowerCase())
    .join(',');
}

/** The most chunks of a body: with more, 1 MB would have chunks of less than 16 bytes, which only wastes CPU time. */
const PIECES_MAX = 65_536;
const FIRST_BYTES = 16_384;

/** Whether a body of so many bytes in so many chunks is within its limits. */
function isWithin(bytes: number, pieces: number, bytesMax: number): boolean {
  return bytes <= bytesMax && pieces <= PIECES_MAX;
}

/** Copies chunks into one growing buffer, so that a chunk does not keep the complete read buffer in memory. */
function createCollector(bytesMax: number) {
  let held = new Uint8Array(0);
  let bytes = 0;
  let pieces = 0;
  const add = (piece: Uint8Array): boolean => {
    const needed = bytes + piece.length;
    pieces += 1;
    if (!isWithin(needed, pieces, bytesMax)) {
      return false;
    }
    if (needed > held.length) {
      const larger = new Uint8Array(Math.min(bytesMax, Math.max(needed, 2 * held.length, FIRST_BYTES)));
      larger.set(held.subarray(0, bytes));
      held = larger;
    }
    held.set(piece, bytes);
    bytes = needed;
    return true;
  };
  return { add, whole: (): Uint8Array => Buffer.from(held.buffer, 0, bytes) };
}

/** The encoded body; undefined, with the response destroyed, as soon as it exceeds the limit. */
function collect(response: IncomingMessage, bytesMax: number): Promise<Uint8Array | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
  const { add, whole } = createCollector(bytesMax);
  response.on('data', (piece: Uint8Array) => {
    if (!add(piece)) {
      resolve(undefined);
      response.destroy();
    }
  });
  response.on('end', () => resolve(whole()));
  response.on('error', reject);
  response.on('close', () => reject(new Error('broken off')));
  return promise;
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function failed(code: FailureCode): ReadReply {
  return { kind: 'failed', code };
}

function headOf(response: IncomingMessage): Pick<OutboundReply, 'status' | 'headers'> | undefined {
  const status = response.statusCode ?? 0;
  return status < STATUS_MIN || status > STATUS_MAX
    ? undefined
    : { status, headers: pairsOf(response.rawHeaders) };
}

/**
 * Reads a complete reply; its body has at most `bytesMax` bytes, both encoded and decoded. A reply that is incomplete, cannot be
 * decoded or has an invalid status is `target_unreachable`. Never rejects, and does not close the connection.
 */
export async function readReply(response: IncomingMessage, bytesMax: number): Promise<ReadReply> {
  const head = headOf(response);
  if (head === undefined) {
    return failed('target_unreachable');
  }
  const { status, headers } = head;
  try {
    const encoded = await collect(response, bytesMax);
    if (encoded === undefined) {
      return failed('reply_too_large');
    }
    if (!response.complete) {
      return failed('target_unreachable');
    }
    const decode = DECODERS.get(valuesOf(headers, 'content-encoding'));
    const body =
      decode === undefined || encoded.length === 0
        ? encoded
        : await decode(encoded, { maxOutputLength: bytesMax });
    return { kind: 'reply', status, headers, body };
  } catch (error) {
    return failed(isTooLarge(error) ? 'reply_too_large' : 'target_unreachable');
  }
}

/** The bytes of a streamed body that wait to be taken, before no more are read. */
const WAITING_BYTES = 65_536;

/**
 * Gives the head of a reply, and its body as it comes and no faster than it is taken; undefined for an invalid status. `onEnd`
 * is called without a code when the body is complete, and with one when the connection is of no more use.
 */
export function openReply(
  response: IncomingMessage,
  bytesMax: number,
  onEnd: (code?: FailureCode) => void,
): OpenReply | undefined {
  const head = headOf(response);
  if (head === undefined) {
    return undefined;
  }
  let isOpen = true;
  let fail: OpenReply['fail'] = () => undefined;
  const give = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    let bytes = 0;
    let pieces = 0;
    fail = (error) => {
      if (isOpen) {
        isOpen = false;
        controller.error(error);
      }
    };
    response.on('data', (piece: Uint8Array) => {
      bytes += piece.length;
      pieces += 1;
      if (!isOpen) {
        return;
      }
      if (!isWithin(bytes, pieces, bytesMax)) {
        onEnd('reply_too_large');
        return;
      }
      // A copy, as where a body is collected.
      controller.enqueue(Uint8Array.from(piece));
      if ((controller.desiredSize ?? 0) <= 0) {
        response.pause();
      }
    });
    response.on('end', () => {
      if (isOpen && response.complete) {
        isOpen = false;
        controller.close();
        onEnd();
      }
    });
    response.on('close', () => isOpen && onEnd('target_unreachable'));
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: give,
      pull: () => void response.resume(),
      cancel: () => onEnd('target_unreachable'),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES }),
  );
  return { reply: { ...head, body }, fail: (error) => fail(error) };
}
