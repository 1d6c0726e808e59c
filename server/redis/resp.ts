/** The protocol of Redis, RESP2: commands into bytes, and bytes into replies. */

/** A part of a command. Text goes as UTF-8. */
export type Argument = string | number | Uint8Array;

/** An error with which Redis has replied. Its message begins with a code such as `OOM`. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

const CR = 0x0d;
const BUFFER_BYTES = 65_536;
/** A buffer that has grown larger is not kept. */
const BUFFER_BYTES_KEPT_MAX = 4 * 1_024 * 1_024;
/** Most that the head of a part takes: its marker, its length in decimal, CR and LF, twice. */
const HEAD_BYTES_MAX = 32;
/** Up to here a loop over the characters is faster than calls into the runtime. */
const SHORT_TEXT = 128;

/** Writes commands one after the other into one buffer. */
export class CommandWriter {
  #bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #at = 0;

  /** Bytes that were not taken yet. */
  get size(): number {
    return this.#at;
  }

  add(command: readonly Argument[]): void {
    this.begin(command.length);
    this.parts(command);
  }

  /** Begins a command of `length` parts, which must follow. */
  begin(length: number): void {
    this.#reserve(HEAD_BYTES_MAX);
    this.#head(0x2a, length);
  }

  parts(parts: readonly Argument[]): void {
    for (let i = 0; i < parts.length; i++) {
      this.part(parts[i] ?? '');
    }
  }

  part(part: Argument): void {
    if (typeof part === 'object') {
      this.#addBytes(part);
    } else {
      this.#addText(typeof part === 'string' ? part : String(part));
    }
  }

  /** Returns a copy of the added bytes, and drops them. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#at);
    this.#bytes.copy(taken, 0, 0, this.#at);
    this.clear();
    return taken;
  }

  clear(): void {
    this.#at = 0;
    if (this.#bytes.length > BUFFER_BYTES_KEPT_MAX) {
      this.#bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    }
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, this.#at);
      this.#bytes = grown;
    }
  }

  #head(marker: number, length: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at++] = marker;
    let divisor = 1;
    while (length / divisor >= 10) {
      divisor *= 10;
    }
    for (; divisor >= 1; divisor = Math.trunc(divisor / 10)) {
      bytes[at++] = 0x30 + (Math.trunc(length / divisor) % 10);
    }
    bytes[at++] = CR;
    bytes[at++] = 0x0a;
    this.#at = at;
  }

  #addBytes(part: Uint8Array): void {
    this.#reserve(part.length + HEAD_BYTES_MAX);
    this.#head(0x24, part.length);
    this.#bytes.set(part, this.#at);
    this.#end(part.length);
  }

  #addText(text: string): void {
    const { length } = text;
    if (length > SHORT_TEXT) {
      this.#addBytes(Buffer.from(text));
      return;
    }
    this.#reserve(length + HEAD_BYTES_MAX);
    const start = this.#at;
    this.#head(0x24, length);
    const bytes = this.#bytes;
    const at = this.#at;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) {
        this.#at = start;
        this.#addBytes(Buffer.from(text));
        return;
      }
      bytes[at + i] = unit;
    }
    this.#end(length);
  }

  #end(length: number): void {
    this.#at += length;
    this.#bytes[this.#at++] = CR;
    this.#bytes[this.#at++] = 0x0a;
  }
}

/** The value of a reply that is incomplete. */
export const INCOMPLETE = Symbol('incomplete');

/** Replies that are not read here: their bytes are kept as they come, unless they are too many. Status replies are dropped. */
export class PassedReplies {
  /** Values that are still to come. */
  values: number;
  /** Bytes of the last byte string that are still to come, CR and LF included. */
  body = 0;
  /** The first error among the replies. */
  error: ReplyError | undefined;
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(replies: number, bytesMax: number) {
    this.values = replies;
    this.#bytesMax = bytesMax;
  }

  keep(chunk: Buffer, from: number, to: number): void {
    this.#bytes += to - from;
    if (this.#bytes > this.#bytesMax) {
      this.#pieces = [];
    } else if (to > from) {
      this.#pieces.push(chunk.subarray(from, to));
    }
  }

  /** All bytes in one piece; undefined when they were too many. */
  get bytes(): Buffer | undefined {
    if (this.#bytes > this.#bytesMax) {
      return undefined;
    }
    const [first] = this.#pieces;
    return first !== undefined && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces);
  }
}

/** The value of a list that is incomplete. */
const LIST_BEGUN = Symbol('list begun');
const NESTED_MAX = 16;
const LINE_BYTES_MAX = 65_536;
const NO_BYTES: Buffer = Buffer.alloc(0);

/** A list whose items are still coming. */
interface OpenList {
  readonly items: unknown[];
  readonly length: number;
}

/** Reads replies out of chunks that end anywhere. A byte is read once, however many chunks a reply comes in. */
export class ReplyReader {
  #buffer: Buffer = NO_BYTES;
  #at = 0;
  /** Chunks after the buffer, until the value at its end is complete. */
  #chunks: Buffer[] = [];
  /** Bytes that this value still needs; at least one. */
  #missing = 0;
  readonly #open: OpenList[] = [];

  /** Adds a received chunk, which must not change any more: replies are views of it. */
  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#missing -= chunk.length;
    if (this.#missing > 0) {
      return;
    }
    const isRead = this.#at === this.#buffer.length;
    const rest = isRead ? [] : [this.#buffer.subarray(this.#at)];
    this.#buffer = isRead && this.#chunks.length === 1 ? chunk : Buffer.concat([...rest, ...this.#chunks]);
    this.#at = 0;
    this.#chunks = [];
    this.#missing = 0;
  }

  /** The next reply, or `INCOMPLETE`. Throws a TypeError for bytes that are no reply. */
  next(): unknown {
    for (;;) {
      const value = this.#chunks.length > 0 ? INCOMPLETE : this.#value();
      if (value === INCOMPLETE) {
        return INCOMPLETE;
      }
      if (value !== LIST_BEGUN) {
        const reply = this.#close(value);
        if (reply !== LIST_BEGUN) {
          return reply;
        }
      }
    }
  }

  /** Moves the received part of such replies on; true if that is all of them. Throws a TypeError for bytes that are no reply. */
  pass(replies: PassedReplies): boolean {
    if (this.#chunks.length > 0) {
      return false;
    }
    const buffer = this.#buffer;
    let from = this.#at;
    let at = from + replies.body;
    while (at < buffer.length && replies.values > 0) {
      const end = this.#lineEnd(at + 1);
      if (end < 0) {
        break;
      }
      replies.values -= 1;
      const marker = buffer[at];
      if (marker === 0x24 || marker === 0x2a) {
        const length = integer(buffer, at + 1, end);
        replies.values += marker === 0x2a && length > 0 ? length : 0;
        at = end + 2 + (marker === 0x24 && length >= 0 ? length + 2 : 0);
      } else if (marker === 0x2d) {
        replies.error ??= new ReplyError(buffer.toString('utf8', at + 1, end));
        at = end + 2;
      } else if (marker === 0x2b) {
        replies.keep(buffer, from, at);
        at = end + 2;
        from = at;
      } else {
        throw new TypeError('a reply of an unknown kind');
      }
    }
    replies.body = Math.max(0, at - buffer.length);
    this.#at = at - replies.body;
    replies.keep(buffer, from, this.#at);
    return replies.values === 0 && replies.body === 0;
  }

  /** The end of the line that begins at `from`; -1 if more bytes must come before. */
  #lineEnd(from: number): number {
    const buffer = this.#buffer;
    const end = buffer.indexOf(CR, from);
    if (end >= 0 && end + 1 < buffer.length) {
      return end;
    }
    if (buffer.length - from > LINE_BYTES_MAX) {
      throw new TypeError('a reply without an end of its line');
    }
    this.#missing = 1;
    return -1;
  }

  /** Puts a value into the list that waits for it; gives a reply that is complete with it. */
  #close(value: unknown): unknown {
    let complete = value;
    for (let list = this.#open.at(-1); list !== undefined; list = this.#open.at(-1)) {
      list.items.push(complete);
      if (list.items.length < list.length) {
        return LIST_BEGUN;
      }
      this.#open.pop();
      complete = list.items;
    }
    return complete;
  }

  #value(): unknown {
    const buffer = this.#buffer;
    const from = this.#at + 1;
    const end = this.#lineEnd(from);
    if (end < 0) {
      return INCOMPLETE;
    }
    const after = end + 2;
    switch (buffer[this.#at]) {
      case 0x24:
        return this.#bulk(after, integer(buffer, from, end));
      case 0x2a:
        return this.#list(after, integer(buffer, from, end));
      case 0x3a:
        this.#at = after;
        return integer(buffer, from, end);
      case 0x2b:
        this.#at = after;
        return buffer.toString('latin1', from, end);
      case 0x2d:
        this.#at = after;
        return new ReplyError(buffer.toString('utf8', from, end));
      default:
        throw new TypeError('a reply of an unknown kind');
    }
  }

  #bulk(from: number, length: number): unknown {
    const end = from + length;
    if (length >= 0 && end + 2 > this.#buffer.length) {
      this.#missing = end + 2 - this.#buffer.length;
      return INCOMPLETE;
    }
    this.#at = length < 0 ? from : end + 2;
    return length < 0 ? null : this.#buffer.subarray(from, end);
  }

  #list(from: number, length: number): unknown {
    this.#at = from;
    if (length <= 0) {
      return length < 0 ? null : [];
    }
    if (this.#open.length === NESTED_MAX) {
      throw new TypeError('a reply of too many levels');
    }
    this.#open.push({ items: [], length });
    return LIST_BEGUN;
  }
}

/** Reads one whole reply. Throws a TypeError for bytes that are none. */
export function parseReply(bytes: Buffer): unknown {
  const reader = new ReplyReader();
  reader.add(bytes);
  return reader.next();
}

/** A decimal integer. Throws a TypeError for anything else. */
function integer(buffer: Buffer, from: number, end: number): number {
  const isNegative = buffer[from] === 0x2d;
  let value = 0;
  for (let i = isNegative ? from + 1 : from; i < end; i++) {
    const digit = (buffer[i] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) {
      throw new TypeError('a reply with a malformed number');
    }
    value = value * 10 + digit;
  }
  if (end === from + (isNegative ? 1 : 0)) {
    throw new TypeError('a reply with a malformed number');
  }
  return isNegative ? -value : value;
}
