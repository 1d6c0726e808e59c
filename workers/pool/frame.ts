/**
 * The frame: many jobs, or many replies, in one ArrayBuffer that is transferred between threads.
 *
 * Layout: messages, one after another. Each is three 32-bit words, little-endian (its id, its kind, the number of bytes of
 * its body), and its body, as its codec writes it. A reply is the same message with a status in place of the kind.
 */

/** The status (`kind`) of a reply whose body is the result. */
export const REPLY_OK = 0;

/** The status (`kind`) of a reply whose body is the text of a failure (see `failure.ts`). */
export const REPLY_ERROR = 1;

/**
 * The shared words in which a thread leaves its trace: the id of the job begun last, 1 while that job's handler is
 * on the stack, and the system's number of the thread (see `cpu-time.ts`).
 */
export const TRACE_BEGUN = 0;
export const TRACE_INSIDE = 1;
export const TRACE_THREAD = 2;
export const TRACE_WORDS = 3;

const WORD = 4;
const LENGTH_AT = 2 * WORD;
const HEAD_BYTES = 3 * WORD;
/** Bytes of a new buffer, and those of the largest that is kept for further messages. */
const FIRST_BYTES = 1 << 16;
const KEPT_BYTES_MAX = 1 << 20;
const UTF8_BYTES_PER_UNIT_MAX = 3;
const EMPTY = new Uint8Array(0);

/** Writes a value into a message. */
export interface Encoder<Given> {
  readonly write: (value: Given, out: FrameWriter) => void;
}

/** Reads a value from a message. Its bytes are views into the frame. */
export interface Decoder<Taken> {
  readonly read: (reader: FrameReader) => Taken;
}

/** Writes a value on one side of the thread, and reads it on the other. */
export interface Codec<Given, Taken = Given> extends Encoder<Given>, Decoder<Taken> {}

/** Writes messages into one buffer, which is used again and wiped each time. */
export class FrameWriter {
  private buffer = new ArrayBuffer(FIRST_BYTES);
  private bytes = Buffer.from(this.buffer);
  private view = new DataView(this.buffer);
  private at = 0;
  /** End of the last whole message. */
  private end = 0;

  /** Writes a value as one message. If its codec throws, the message is wiped and left out. */
  message<Given>(id: number, kind: number, codec: Encoder<Given>, value: Given): void {
    const { end } = this;
    try {
      this.number(id);
      this.number(kind);
      this.number(0);
      codec.write(value, this);
      this.view.setUint32(end + LENGTH_AT, this.at - end - HEAD_BYTES, true);
      this.end = this.at;
    } catch (error) {
      this.bytes.fill(0, end, this.at);
      this.at = end;
      throw error;
    }
  }

  /** Writes an unsigned 32-bit integer. */
  number(value: number): void {
    this.reserve(WORD);
    this.view.setUint32(this.at, value, true);
    this.at += WORD;
  }

  /** Copies bytes, after their length. */
  string(value: Uint8Array): void {
    this.number(value.length);
    this.reserve(value.length);
    this.bytes.set(value, this.at);
    this.at += value.length;
  }

  /** Writes a text in UTF-8, after its length. */
  text(value: string): void {
    this.reserve(WORD + UTF8_BYTES_PER_UNIT_MAX * value.length);
    const length = this.bytes.write(value, this.at + WORD);
    this.number(length);
    this.at += length;
  }

  /** Returns the messages as a frame, to be transferred, and wipes them here. */
  take(): ArrayBuffer {
    const { bytes, end } = this;
    const frame = this.buffer.slice(0, end);
    bytes.fill(0, 0, end);
    this.at = 0;
    this.end = 0;
    if (bytes.length > KEPT_BYTES_MAX) {
      this.grow(FIRST_BYTES);
    }
    return frame;
  }

  private reserve(extra: number): void {
    if (this.at + extra > this.bytes.length) {
      this.grow(2 * (this.at + extra));
    }
  }

  private grow(size: number): void {
    const { bytes, at } = this;
    this.buffer = new ArrayBuffer(size);
    this.bytes = Buffer.from(this.buffer);
    this.view = new DataView(this.buffer);
    this.bytes.set(bytes.subarray(0, at));
    bytes.fill(0, 0, at);
  }
}

function malformed(): never {
  throw new RangeError('malformed frame');
}

/** Reads the messages of a frame, one after another, without copying a byte. */
export class FrameReader {
  /** Of the current message. */
  id = 0;
  kind = 0;
  private readonly bytes: Buffer;
  private readonly view: DataView;
  private start = 0;
  private at = 0;
  private end = 0;

  constructor(private readonly frame: ArrayBuffer) {
    this.bytes = Buffer.from(frame);
    this.view = new DataView(frame);
  }

  /** Goes to the next message; false at the end of the frame. A message that does not fit into the frame: RangeError. */
  next(): boolean {
    const { view, end } = this;
    const size = view.byteLength;
    if (end === size) {
      return false;
    }
    const start = end + HEAD_BYTES;
    const length = start > size ? malformed() : view.getUint32(end + LENGTH_AT, true);
    if (length > size - start) {
      malformed();
    }
    this.id = view.getUint32(end, true);
    this.kind = view.getUint32(end + WORD, true);
    this.start = start;
    this.at = start;
    this.end = start + length;
    return true;
  }

  /** The whole value of the current message. A message of another length: RangeError. */
  value<Taken>(codec: Decoder<Taken>): Taken {
    this.at = this.start;
    const value = codec.read(this);
    if (this.at !== this.end) {
      malformed();
    }
    return value;
  }

  /** The bytes of the current message, to be wiped. */
  body(): Uint8Array {
    return new Uint8Array(this.frame, this.start, this.end - this.start);
  }

  number(): number {
    return this.view.getUint32(this.skip(WORD), true);
  }

  string(): Uint8Array {
    const length = this.number();
    return length === 0 ? EMPTY : new Uint8Array(this.frame, this.skip(length), length);
  }

  text(): string {
    const length = this.number();
    const at = this.skip(length);
    return this.bytes.toString('utf8', at, at + length);
  }

  private skip(length: number): number {
    const { at } = this;
    if (length > this.end - at) {
      malformed();
    }
    this.at = at + length;
    return at;
  }
}
