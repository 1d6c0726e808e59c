import { HEADER_NAME, type HeaderEntries, joinedValues } from '../core/headers.ts';

export interface ReplyHead {
  readonly status: number;
  /** In the received order and spelling, including duplicates. */
  readonly headers: HeaderEntries;
}

export interface ReplyLimits {
  readonly replyHeaderBytes: number;
  readonly replyBodyBytes: number;
}

/** Receives the parts of one reply, in this order. */
export interface ReplySink {
  onHead(head: ReplyHead): void;
  /** A part of the body; a view, valid until it returns. */
  onPiece(piece: Uint8Array): void;
  /** The reply is complete. `isReusable`: its connection can serve another request. */
  onEnd(isReusable: boolean): void;
}

export type ReplyFault = 'reply_too_large' | 'target_unreachable';

type State =
  | 'head'
  | 'size'
  | 'after size'
  | 'extension'
  | 'data'
  | 'after data'
  | 'trailer'
  | 'rest'
  | 'ended';

const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: [\t\u0020-\u007e\u0080-\u00ff]*)?$/;
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;
const KEPT_SECONDS = /timeout=(\d+)/;
const LENGTH = /^\d{1,15}$/;
const FINAL_MIN = 200;
const FINAL_MAX = 599;
const SWITCHING = 101;
const BODILESS: ReadonlySet<number> = new Set([204, 304]);
/** Maximum number of interim replies (1xx) before the final one. */
const INTERIM_MAX = 8;
/** No chunk has more bytes than this. */
const CHUNK_MAX = 2 ** 40;
/** Maximum bytes of extensions and trailers, and of a size beyond 16 digits. */
const FRAMING_BYTES_MAX = 16_384;
const SIZE_DIGITS_MAX = 16;
const [CR, LF, SEMICOLON] = [0x0d, 0x0a, 0x3b];
const NO_BYTES: Buffer = Buffer.alloc(0);

interface ParsedHead extends ReplyHead {
  readonly minor: string;
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09;
}

/** The value in a line from `at` on, trimmed. A pattern would take quadratic time for a run of blanks. */
function valueIn(line: string, at: number): string {
  let from = at;
  let to = line.length;
  while (from < to && isBlank(line.charCodeAt(from))) {
    from += 1;
  }
  while (from < to && isBlank(line.charCodeAt(to - 1))) {
    to -= 1;
  }
  return line.slice(from, to);
}

/** Parses the first part of a reply; undefined if it is invalid, or has folded lines (RFC 9112, section 5.2). */
function parseHead(text: string): ParsedHead | undefined {
  const lines = text.split('\r\n');
  const [, minor, status] = STATUS_LINE.exec(lines[0] ?? '') ?? [];
  if (minor === undefined || status === undefined) {
    return undefined;
  }
  const headers: [string, string][] = [];
  for (let at = 1; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    const value = valueIn(line, colon + 1);
    if (!HEADER_NAME.test(name) || !VALUE.test(value)) {
      return undefined;
    }
    headers.push([name, value]);
  }
  return { minor, status: Number(status), headers };
}

/** Tells whether the target keeps the connection for longer than the pool does. */
function keepsConnection({ minor, headers }: ParsedHead): boolean {
  const options = joinedValues(headers, 'connection')?.split(',') ?? [];
  const [, seconds] = KEPT_SECONDS.exec(joinedValues(headers, 'keep-alive') ?? '') ?? [];
  return minor === '1' && !options.some((option) => option.trim() === 'close') && !(Number(seconds) < 2);
}

/** The hexadecimal digit of a byte; NaN for any other byte. */
function hexDigit(byte: number): number {
  return Number.parseInt(String.fromCharCode(byte), 16);
}

/** Incremental parser of one HTTP/1.1 reply (RFC 9112). Ambiguous syntax is a fault, such as two lengths or a lone CR. */
export class ReplyParser {
  private state: State = 'head';
  private wireBytes = 0;
  /** The beginning of an incomplete head, in a buffer with room. */
  private held = NO_BYTES;
  private heldBytes = 0;
  private interim = 0;
  private isReusable = false;
  private isChunked = false;
  /** Remaining bytes of the body, or of its chunk. */
  private left = 0;
  /** Bytes of framing besides the sizes of chunks and the ends of lines. */
  private framingBytes = 0;
  /** Number of bytes of the current line of framing, and the last byte. */
  private lineBytes = 0;
  private last = 0;

  /** `isHead`: the reply is one to HEAD, and has no body. */
  constructor(
    private readonly limits: ReplyLimits,
    private readonly isHead: boolean,
    private readonly sink: ReplySink,
  ) {}

  /** Reads received bytes. After a fault, or the end of the reply, no more is read. */
  push(chunk: Buffer): ReplyFault | undefined {
    this.wireBytes += chunk.length;
    // Body and headers, and the same again for the framing of chunks.
    if (this.wireBytes > 2 * (this.limits.replyBodyBytes + this.limits.replyHeaderBytes)) {
      return 'reply_too_large';
    }
    let rest = chunk;
    while (rest.length > 0 && this.state !== 'ended') {
      const next = this.step(rest);
      if (typeof next === 'string') {
        return next;
      }
      rest = next;
    }
    return undefined;
  }

  /** Reports that the target has ended the connection properly, which ends some replies. */
  end(): ReplyFault | undefined {
    if (this.state !== 'rest') {
      return 'target_unreachable';
    }
    this.isReusable = false;
    this.finish(NO_BYTES);
    return undefined;
  }

  /** Reads a part of the bytes and returns the rest. */
  private step(bytes: Buffer): Buffer | ReplyFault {
    switch (this.state) {
      case 'head':
        return this.readHead(bytes);
      case 'data':
        return this.readData(bytes);
      case 'rest':
        this.sink.onPiece(bytes);
        return NO_BYTES;
      default:
        return this.readFraming(bytes);
    }
  }

  private finish(rest: Buffer): Buffer {
    this.state = 'ended';
    this.sink.onEnd(this.isReusable && rest.length === 0);
    return NO_BYTES;
  }

  private readHead(bytes: Buffer): Buffer | ReplyFault {
    const before = this.heldBytes;
    const all = before === 0 ? bytes : this.hold(bytes);
    const at = all.indexOf('\r\n\r\n', Math.max(0, before - 3));
    if (Math.max(at, at < 0 ? all.length : 0) > this.limits.replyHeaderBytes) {
      return 'target_unreachable';
    }
    if (at < 0) {
      if (before === 0) {
        this.hold(bytes);
      }
      return NO_BYTES;
    }
    const head = parseHead(all.toString('latin1', 0, at));
    const rest = bytes.subarray(at + 4 - before);
    this.heldBytes = 0;
    return head === undefined ? 'target_unreachable' : this.begin(head, rest);
  }

  /** Appends to the bytes of the head and returns all of them. */
  private hold(bytes: Buffer): Buffer {
    const needed = this.heldBytes + bytes.length;
    if (needed > this.held.length) {
      const larger = Buffer.allocUnsafe(2 * needed);
      this.held.copy(larger, 0, 0, this.heldBytes);
      this.held = larger;
    }
    bytes.copy(this.held, this.heldBytes);
    this.heldBytes = needed;
    return this.held.subarray(0, needed);
  }

  private begin(head: ParsedHead, rest: Buffer): Buffer | ReplyFault {
    const { status, headers } = head;
    if (status >= 100 && status < FINAL_MIN && status !== SWITCHING && this.interim < INTERIM_MAX) {
      this.interim += 1;
      return rest;
    }
    const [length, coding] = [
      joinedValues(headers, 'content-length'),
      joinedValues(headers, 'transfer-encoding'),
    ];
    const isFramed =
      coding === undefined ? LENGTH.test(length ?? '0') : coding === 'chunked' && length === undefined;
    if (status < FINAL_MIN || status > FINAL_MAX || !isFramed) {
      return 'target_unreachable';
    }
    const isEmpty = coding === undefined && length !== undefined && Number(length) === 0;
    const isBodiless = this.isHead || BODILESS.has(status);
    // Some targets send a body where none belongs, which would be read as the next reply.
    this.isReusable = keepsConnection(head) && !(isBodiless && !isEmpty && (coding ?? length) !== undefined);
    this.sink.onHead({ status, headers });
    if (isBodiless || isEmpty) {
      return this.finish(rest);
    }
    this.isChunked = coding !== undefined;
    this.left = Number(length ?? 0);
    this.state = this.isChunked ? 'size' : length === undefined ? 'rest' : 'data';
    return rest;
  }

  private readData(bytes: Buffer): Buffer {
    const count = Math.min(this.left, bytes.length);
    this.sink.onPiece(bytes.subarray(0, count));
    this.left -= count;
    const rest = bytes.subarray(count);
    if (this.left > 0) {
      return rest;
    }
    if (this.isChunked) {
      this.state = 'after data';
      return rest;
    }
    return this.finish(rest);
  }

  /** Reads the framing between the data of chunks, byte by byte. */
  private readFraming(bytes: Buffer): Buffer | ReplyFault {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      const isLineEnd = byte === LF;
      if (isLineEnd !== (this.last === CR) || !(isLineEnd || this.readByte(byte))) {
        return 'target_unreachable';
      }
      if (this.isExtra() && ++this.framingBytes > FRAMING_BYTES_MAX) {
        return 'reply_too_large';
      }
      this.last = byte;
      if (isLineEnd) {
        this.endLine();
        if (this.state === 'data') {
          return bytes.subarray(at + 1);
        }
        if (this.state === 'ended') {
          return this.finish(bytes.subarray(at + 1));
        }
      } else if (byte !== CR) {
        this.lineBytes += 1;
      }
    }
    return this.left > CHUNK_MAX ? 'reply_too_large' : NO_BYTES;
  }

  /** Tells whether a byte of framing is one that no reply needs. */
  private isExtra(): boolean {
    return this.state === 'size' ? this.lineBytes >= SIZE_DIGITS_MAX : this.state !== 'after data';
  }

  /** Reads a byte of a line of framing, which may be a digit of the size of a chunk; false if it is invalid there. */
  private readByte(byte: number): boolean {
    if (byte === CR) {
      return this.state === 'after data' || this.state === 'trailer' || this.lineBytes > 0;
    }
    const digit = this.state === 'size' ? hexDigit(byte) : Number.NaN;
    if (!Number.isNaN(digit)) {
      // Larger sizes lose their last digits, and are too large in any case.
      this.left = this.left * 16 + digit;
      return true;
    }
    if (this.state === 'size' || this.state === 'after size') {
      this.state = byte === SEMICOLON ? 'extension' : 'after size';
      return this.lineBytes > 0 && (byte === SEMICOLON || isBlank(byte));
    }
    return this.state !== 'after data' && (byte >= 0x20 || byte === 0x09) && byte !== 0x7f;
  }

  private endLine(): void {
    const isEmpty = this.lineBytes === 0;
    this.lineBytes = 0;
    switch (this.state) {
      case 'after data':
        this.state = 'size';
        return;
      case 'trailer':
        this.state = isEmpty ? 'ended' : 'trailer';
        return;
      default:
        this.state = this.left > 0 ? 'data' : 'trailer';
    }
  }
}
