import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { VaultError } from '../core/errors.ts';
import { type ReplyFault, type ReplyHead, valuesOf } from './reply-parser.ts';

/** The reply of a third party, with any status, including redirects. */
export interface OutboundReply extends ReplyHead {
  /** Decoded from gzip, deflate or br; where it is in another content coding, and only then, `headers` have Content-Encoding. */
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

/** A reply whose body is being read. */
export interface OpenReply {
  readonly reply: StreamedReply;
  /** Adds a piece of the body; whether it is within the limits. */
  readonly add: (piece: Uint8Array) => boolean;
  /** Ends the body, unless it has ended. */
  readonly end: () => void;
  /** The same, with an error. */
  readonly fail: (error: VaultError) => void;
}

type Decode = (encoded: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

/** How a content coding is undone; undefined where that is nothing. */
const DECODERS: ReadonlyMap<string, Decode | undefined> = new Map<string, Decode | undefined>([
  ['', undefined],
  ['identity', undefined],
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** The most chunks of a body: with more, 1 MB would have chunks of less than 16 bytes, which only wastes CPU time. */
const PIECES_MAX = 65_536;

/** Whether a body of so many bytes in so many chunks is within its limits. */
function isWithin(bytes: number, pieces: number, bytesMax: number): boolean {
  return bytes <= bytesMax && pieces <= PIECES_MAX;
}

/** Copies pieces into one growing buffer, so that none keeps the complete read buffer in memory. */
export class Collector {
  readonly #bytesMax: number;
  #held = new Uint8Array(0);
  #bytes = 0;
  #pieces = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether it is within the limits. */
  add(piece: Uint8Array): boolean {
    const needed = this.#bytes + piece.length;
    this.#pieces += 1;
    if (!isWithin(needed, this.#pieces, this.#bytesMax)) {
      return false;
    }
    if (needed > this.#held.length) {
      const larger = new Uint8Array(Math.min(this.#bytesMax, Math.max(needed, 2 * this.#held.length)));
      larger.set(this.#held.subarray(0, this.#bytes));
      this.#held = larger;
    }
    this.#held.set(piece, this.#bytes);
    this.#bytes = needed;
    return true;
  }

  whole(): Uint8Array {
    return Buffer.from(this.#held.buffer, 0, this.#bytes);
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

/** A complete reply with its body decoded, at once where nothing is to be done; a fault where it cannot be, or is too large. */
export function decodeReply(
  head: ReplyHead,
  encoded: Uint8Array,
  bytesMax: number,
): OutboundReply | Promise<OutboundReply | ReplyFault> {
  const coding = valuesOf(head.headers, 'content-encoding');
  if (coding === undefined || !DECODERS.has(coding)) {
    return { ...head, body: encoded };
  }
  const headers = head.headers.filter(([name]) => name.toLowerCase() !== 'content-encoding');
  const decode = DECODERS.get(coding);
  return decode === undefined || encoded.length === 0
    ? { ...head, headers, body: encoded }
    : decode(encoded, { maxOutputLength: bytesMax }).then(
        (body) => ({ ...head, headers, body }),
        (error) => (isTooLarge(error) ? 'reply_too_large' : 'target_unreachable'),
      );
}

/** The bytes of a streamed body that wait to be taken, before no more are read. */
const WAITING_BYTES = 65_536;

/** How a body that is read too slowly is held up, and who does not want it any more. */
export interface BodySource {
  readonly pause: () => void;
  readonly resume: () => void;
  readonly cancel: () => void;
}

/** Gives the head of a reply, and its body as it comes and no faster than it is taken. */
export function openReply(
  head: ReplyHead,
  bytesMax: number,
  { pause, resume, cancel }: BodySource,
): OpenReply {
  let bytes = 0;
  let pieces = 0;
  let isOpen = true;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const finish = (act: () => void): void => {
    if (isOpen) {
      isOpen = false;
      act();
    }
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
      },
      pull: resume,
      cancel: () => finish(cancel),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES }),
  );
  return {
    reply: { ...head, body },
    add: (piece) => {
      bytes += piece.length;
      pieces += 1;
      if (!isWithin(bytes, pieces, bytesMax)) {
        return false;
      }
      // A copy, as where a body is collected.
      controller?.enqueue(Uint8Array.from(piece));
      if ((controller?.desiredSize ?? 0) <= 0) {
        pause();
      }
      return true;
    },
    end: () => finish(() => controller?.close()),
    fail: (error) => finish(() => controller?.error(error)),
  };
}
