import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { VaultError } from '../core/errors.ts';
import { headerIn, joinedValues } from '../core/headers.ts';
import type { ReplyFault, ReplyHead } from './reply-parser.ts';

/** The reply of a third party, with any status, including redirects. */
export interface OutboundReply extends ReplyHead {
  /** Decoded from gzip, deflate or br; where it is in another content coding, and only then, `headers` have Content-Encoding. */
  readonly body: Uint8Array;
}

/** A reply whose body is still to come. */
export interface StreamedReply extends ReplyHead {
  /**
   * Not decoded, and within the limits of a whole body. It fails with a `VaultError`: `reply_too_large`, `target_timeout` or
   * `outcome_unknown`. Cancelling it closes the connection.
   */
  readonly body: ReadableStream<Uint8Array>;
}

export interface BodySink {
  readonly add: (piece: Uint8Array) => void;
  readonly end: () => void;
  readonly fail?: (error: VaultError) => void;
}

type Decode = (encoded: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

/** Decoders of content codings; undefined for those that change nothing. */
const DECODERS = new Map<string, Decode | undefined>([
  ['', undefined],
  ['identity', undefined],
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** A complete reply with its body decoded; a fault where it cannot be, or is too large. */
async function decodeReply(
  head: ReplyHead,
  coding: string,
  encoded: Uint8Array,
  bytesMax: number,
): Promise<OutboundReply | ReplyFault> {
  const headers = head.headers.filter(([name]) => name.toLowerCase() !== 'content-encoding');
  const decode = encoded.length === 0 ? undefined : DECODERS.get(coding);
  try {
    const body = (await decode?.(encoded, { maxOutputLength: bytesMax })) ?? encoded;
    return { ...head, headers, body };
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? 'reply_too_large' : 'target_unreachable';
  }
}

/** The announced length of a body; 0 without one. */
export function lengthOf({ headers }: ReplyHead): number {
  return Number(headerIn(headers, 'content-length') ?? 0);
}

/** Collects a body, and gives its reply. One growing buffer: views would keep the chunks that they are part of. */
export class WholeReply implements BodySink {
  private held = new Uint8Array(0);
  private bytes = 0;

  /** `bytesMax`: of the decoded body. */
  constructor(
    private readonly head: ReplyHead,
    private readonly bytesMax: number,
    private readonly give: (reply: OutboundReply | ReplyFault) => void,
  ) {}

  add(piece: Uint8Array): void {
    const needed = this.bytes + piece.length;
    if (needed > this.held.length) {
      // The exact size, for a body in one piece and for one of announced length.
      const told = this.bytes === 0 ? 0 : Math.min(lengthOf(this.head), this.bytesMax);
      const larger = new Uint8Array(Math.max(needed, 2 * this.held.length, told));
      larger.set(this.held.subarray(0, this.bytes));
      this.held = larger;
    }
    this.held.set(piece, this.bytes);
    this.bytes = needed;
  }

  end(): void {
    const body = Buffer.from(this.held.buffer, 0, this.bytes);
    const coding = joinedValues(this.head.headers, 'content-encoding');
    if (coding === undefined || !DECODERS.has(coding)) {
      this.give({ ...this.head, body });
    } else {
      decodeReply(this.head, coding, body, this.bytesMax).then(this.give);
    }
  }
}

/** Buffered bytes of a streamed body from which on reading pauses. */
const BUFFERED_BYTES = 65_536;

/** Starts a reply whose body is passed on as it comes, with backpressure. Nothing follows its end or a failure. */
export function streamReply(
  head: ReplyHead,
  source: { readonly pause: () => void; readonly resume: () => void; readonly cancel: () => void },
): BodySink & { readonly reply: StreamedReply } {
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
      pull: source.resume,
      cancel: () => finish(source.cancel),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES }),
  );
  return {
    reply: { ...head, body },
    add: (piece) => {
      // A copy, as where a body is collected.
      controller?.enqueue(Uint8Array.from(piece));
      if ((controller?.desiredSize ?? 0) <= 0) {
        source.pause();
      }
    },
    end: () => finish(() => controller?.close()),
    fail: (error) => finish(() => controller?.error(error)),
  };
}
