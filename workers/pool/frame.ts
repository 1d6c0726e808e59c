/**
 * The frame: many jobs, or many replies, in one ArrayBuffer that is transferred between threads.
 *
 * Layout, in 32-bit words of the machine's own byte order (a frame never leaves the process):
 * one word with the number of header words, itself included; then for each message its id, `kind | count << 8`
 * and one byte length per field; after the header the bytes of all fields, one after the other.
 * A reply is the same message with a status in place of the kind.
 */

/** The largest `kind`, and the largest number of fields, of one message. */
export const KIND_MAX = 255;
export const FIELDS_MAX = 65_535;

/** The status (`kind`) of a reply whose fields are the result. */
export const REPLY_OK = 0;

/** The status (`kind`) of a reply with one field: the failure (see `failure.ts`). */
export const REPLY_ERROR = 1;

/**
 * The shared words in which a thread leaves its trace: the id of the job begun last, 1 while that job's handler is
 * on the stack, and the system's number of the thread (see `cpu-time.ts`).
 */
export const TRACE_BEGUN = 0;
export const TRACE_INSIDE = 1;
export const TRACE_THREAD = 2;
export const TRACE_WORDS = 3;

/** One job or one reply; `id` is a u32 that is unique among the jobs inside one thread. */
export interface FrameMessage {
  readonly id: number;
  readonly kind: number;
  readonly fields: readonly Uint8Array[];
}

const WORD = 4;
const EMPTY_HEADER_WORDS = 1;
const MESSAGE_WORDS = 2;

/**
 * Copies the messages into one fresh buffer, to be transferred. Throws a RangeError for a kind or a number
 * of fields over its maximum, so that a wrong message is never sent cut short.
 */
export function encodeFrame(messages: readonly FrameMessage[]): ArrayBuffer {
  let headerWords = EMPTY_HEADER_WORDS;
  let byteCount = 0;
  for (const { kind, fields } of messages) {
    if (kind > KIND_MAX || fields.length > FIELDS_MAX) {
      throw new RangeError('message outside the frame format');
    }
    headerWords += MESSAGE_WORDS + fields.length;
    for (const field of fields) {
      byteCount += field.length;
    }
  }
  const buffer = new ArrayBuffer(headerWords * WORD + byteCount);
  const header = new Uint32Array(buffer, 0, headerWords);
  const bytes = new Uint8Array(buffer);
  let word = 0;
  let offset = headerWords * WORD;
  header[word++] = headerWords;
  for (const { id, kind, fields } of messages) {
    header[word++] = id;
    header[word++] = kind | (fields.length << 8);
    for (const field of fields) {
      header[word++] = field.length;
      bytes.set(field, offset);
      offset += field.length;
    }
  }
  return buffer;
}

function malformed(): never {
  throw new RangeError('malformed frame');
}

/**
 * Reads a frame without copying a byte: fields are views into its buffer. Every length is checked against the buffer and the buffer must end
 * exactly where the last field ends; anything else throws a RangeError and no message is handed out.
 */
export function decodeFrame(buffer: ArrayBuffer): FrameMessage[] {
  if (buffer.byteLength < WORD) {
    return malformed();
  }
  const headerWords = new Uint32Array(buffer, 0, 1)[0] ?? 0;
  if (headerWords < EMPTY_HEADER_WORDS || headerWords * WORD > buffer.byteLength) {
    return malformed();
  }
  const header = new Uint32Array(buffer, 0, headerWords);
  const messages: FrameMessage[] = [];
  let offset = headerWords * WORD;
  for (let word = EMPTY_HEADER_WORDS; word < headerWords; ) {
    const id = header[word++] ?? 0;
    const shape = header[word++] ?? malformed();
    const end = word + (shape >>> 8);
    if (end > headerWords || shape >>> 8 > FIELDS_MAX) {
      return malformed();
    }
    const fields: Uint8Array[] = [];
    for (; word < end; word++) {
      const length = header[word] ?? 0;
      if (length > buffer.byteLength - offset) {
        return malformed();
      }
      fields.push(new Uint8Array(buffer, offset, length));
      offset += length;
    }
    messages.push({ id, kind: shape & KIND_MAX, fields });
  }
  return offset === buffer.byteLength ? messages : malformed();
}
