import { EMPTY, readU32, utf8, writeU32, writeU64 } from './bytes.ts';

const encoder = new TextEncoder();

/** One part of an AAD: text is encoded as UTF-8, a number as an unsigned integer up to 2^53 - 1. */
export type Field = string | Uint8Array | number;

/** Type bytes of the fields. */
const TEXT = 1;
const BYTES = 2;
const NUMBER = 3;
/** Type byte and 32-bit length. */
const FIELD_HEAD_BYTES = 5;
const NUMBER_FIELD_BYTES = 9;
const UTF8_BYTES_PER_UNIT_MAX = 3;
/** Most encodings fit; a separate buffer for each would cost as much as writing it. */
const scratch = new Uint8Array(8192);

/** Writes one field and returns its end. A text is mostly ASCII, where a loop is faster than a call into the runtime. */
function writeField(out: Uint8Array, at: number, field: Field): number {
  if (typeof field === 'number') {
    out[at] = NUMBER;
    writeU64(out, at + 1, field);
    return at + NUMBER_FIELD_BYTES;
  }
  const bodyAt = at + FIELD_HEAD_BYTES;
  let { length } = field;
  if (typeof field === 'string') {
    out[at] = TEXT;
    for (let i = 0; i < field.length; i++) {
      const unit = field.charCodeAt(i);
      if (unit > 0x7f) {
        length = encoder.encodeInto(field, out.subarray(bodyAt)).written;
        break;
      }
      out[bodyAt + i] = unit;
    }
  } else {
    out[at] = BYTES;
    out.set(field, bodyAt);
  }
  writeU32(out, at + 1, length);
  return bodyAt + length;
}

/**
 * Encodes a label and a list of fields so that no two different lists of well-formed texts, bytes and
 * numbers have the same bytes: every field has a type byte, and text and bytes have a 32-bit length.
 * It is the AAD of every AEAD call and the input of every keyed hash and derivation of this folder. Rejects, with
 * RangeError, a number that is not a safe integer of 0 or more.
 */
export function aad(label: string, fields: readonly Field[]): Uint8Array {
  let bound = FIELD_HEAD_BYTES + label.length * UTF8_BYTES_PER_UNIT_MAX;
  for (const field of fields) {
    const isText = typeof field === 'string';
    const size = typeof field === 'number' ? 0 : field.length * (isText ? UTF8_BYTES_PER_UNIT_MAX : 1);
    bound += NUMBER_FIELD_BYTES + size;
  }
  const out = bound <= scratch.length ? scratch : new Uint8Array(bound);
  let end = writeField(out, 0, label);
  for (const field of fields) {
    end = writeField(out, end, field);
  }
  const encoded = out.slice(0, end);
  // Passphrases pass through here too.
  out.fill(0, 0, end);
  return encoded;
}

const SOME_BYTES = new Uint8Array(0);

/** The last encoding under a label, with the offset of the content of each field. */
interface Encoding {
  readonly label: string;
  bytes: Uint8Array;
  /** `SOME_BYTES` for each byte field: those are always written. */
  fields: Field[];
  starts: number[];
}

/** Writes a text of ASCII characters; false, with some of it written, for any other. */
function writeAscii(out: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) {
      return false;
    }
    out[at + i] = unit;
  }
  return true;
}

/** Writes a field over the earlier one; false if it has another type or length. */
function overwriteField({ bytes, fields, starts }: Encoding, index: number, field: Field): boolean {
  const before = fields[index];
  if (field === before) {
    return true;
  }
  const at = starts[index] ?? 0;
  if (typeof field !== typeof before) {
    return false;
  }
  if (typeof field === 'number') {
    writeU64(bytes, at, field);
    fields[index] = field;
    return true;
  }
  if (readU32(bytes, at - 4) !== field.length) {
    return false;
  }
  if (typeof field === 'string') {
    fields[index] = field;
    return writeAscii(bytes, at, field);
  }
  bytes.set(field, at);
  return true;
}

/** Writes a list over the earlier one; false, with some of it written, if it has another shape. */
function overwrite(encoding: Encoding, fields: readonly Field[]): boolean {
  if (fields.length === 0 || fields.length !== encoding.fields.length) {
    return false;
  }
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i];
    if (field === undefined || !overwriteField(encoding, i, field)) {
      return false;
    }
  }
  return true;
}

function encodeAnew(encoding: Encoding, fields: readonly Field[]): void {
  encoding.fields = [];
  const bytes = aad(encoding.label, fields);
  let end = FIELD_HEAD_BYTES + utf8(encoding.label).length;
  encoding.starts = fields.map((field) => {
    const isNumber = typeof field === 'number';
    const start = end + (isNumber ? 1 : FIELD_HEAD_BYTES);
    end = isNumber ? end + NUMBER_FIELD_BYTES : start + readU32(bytes, end + 1);
    return start;
  });
  encoding.bytes = bytes;
  encoding.fields = fields.map((field) => (typeof field === 'object' ? SOME_BYTES : field));
}

/**
 * `aad` for one label and many lists of one shape: fields that equal those of the list before are not written again. The
 * bytes are those of `aad`, and are overwritten by the next call. Not for secrets, which would stay in them.
 */
export function createAad(label: string): (fields: readonly Field[]) => Uint8Array {
  const encoding: Encoding = { label, bytes: EMPTY, fields: [], starts: [] };
  return (fields) => {
    if (!overwrite(encoding, fields)) {
      encodeAnew(encoding, fields);
    }
    return encoding.bytes;
  };
}
