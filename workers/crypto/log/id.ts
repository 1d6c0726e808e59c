/**
 * Ids in log entries: `length 1 | text`. Ids that the vault makes are shorter: after the length 255 follow the 16 bytes of a
 * UUID in lower case; after 254, 22 characters of base64url in 17 bytes, the last four bits zero.
 */
import { IntegrityError, readBytes, readU8, textOf } from '../primitives/bytes.ts';

const TEXT_BYTES_MAX = 128;
/** Room for any id. */
export const ID_SPACE = 1 + TEXT_BYTES_MAX;

const UUID = 255;
const UUID_BYTES = 16;
const UUID_CHARACTERS = 36;
const DASH = 0x2d;
const RANDOM = 254;
const RANDOM_BYTES = 17;
const RANDOM_CHARACTERS = 22;
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const encoder = new TextEncoder();

/** The place in an alphabet of each character of ASCII; 0xff for none. */
function placesIn(alphabet: string): Uint8Array {
  const places = new Uint8Array(128).fill(0xff);
  for (let i = 0; i < alphabet.length; i++) {
    places[alphabet.charCodeAt(i)] = i;
  }
  return places;
}

const DIGITS = placesIn('0123456789abcdef');
const SIXTHS = placesIn(BASE64URL);

/** A member of variable length, and the offset of the next one. */
export interface Taken {
  readonly text: string;
  readonly end: number;
}

/** Writes the bytes of a UUID in lower case; false, with any bytes written, for any other text. */
function writeUuid(bytes: Uint8Array, at: number, text: string): boolean {
  if (text.length !== UUID_CHARACTERS) {
    return false;
  }
  let to = at;
  for (let i = 0; i < UUID_CHARACTERS; i += 2) {
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (text.charCodeAt(i) !== DASH) {
        return false;
      }
      i++;
    }
    const high = DIGITS[text.charCodeAt(i)] ?? 0xff;
    const low = DIGITS[text.charCodeAt(i + 1)] ?? 0xff;
    if (high > 15 || low > 15) {
      return false;
    }
    bytes[to] = (high << 4) | low;
    to++;
  }
  return true;
}

/** Writes the bytes of 22 characters of base64url; false, with any bytes written, for any other text. */
function writeRandom(bytes: Uint8Array, at: number, text: string): boolean {
  if (text.length !== RANDOM_CHARACTERS) {
    return false;
  }
  let to = at;
  let bits = 0;
  let count = 0;
  for (let i = 0; i < RANDOM_CHARACTERS; i++) {
    const sixth = SIXTHS[text.charCodeAt(i)] ?? 0xff;
    if (sixth > 63) {
      return false;
    }
    bits = (bits << 6) | sixth;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes[to] = bits >> count;
      to++;
      bits &= (1 << count) - 1;
    }
  }
  bytes[to] = bits << (8 - count);
  return true;
}

/** Writes an id, cut at 128 bytes, where `ID_SPACE` bytes are left; returns its end. */
export function writeId(bytes: Uint8Array, at: number, id: string): number {
  if (writeUuid(bytes, at + 1, id)) {
    bytes[at] = UUID;
    return at + 1 + UUID_BYTES;
  }
  if (writeRandom(bytes, at + 1, id)) {
    bytes[at] = RANDOM;
    return at + 1 + RANDOM_BYTES;
  }
  const { written } = encoder.encodeInto(id, bytes.subarray(at + 1, at + ID_SPACE));
  bytes[at] = written;
  return at + 1 + written;
}

export function bytesOfId(id: string): Uint8Array {
  const bytes = new Uint8Array(ID_SPACE);
  return bytes.slice(0, writeId(bytes, 0, id));
}

/** Reads the id at `at`. Rejects a text that is truncated or not UTF-8 with `IntegrityError`. */
export function takeId(bytes: Uint8Array, at: number): Taken {
  const form = readU8(bytes, at);
  if (form === UUID) {
    const hex = readBytes(bytes, at + 1, UUID_BYTES).toHex();
    const text = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    return { text, end: at + 1 + UUID_BYTES };
  }
  if (form === RANDOM) {
    const base64 = readBytes(bytes, at + 1, RANDOM_BYTES).toBase64({
      alphabet: 'base64url',
      omitPadding: true,
    });
    return { text: base64.slice(0, RANDOM_CHARACTERS), end: at + 1 + RANDOM_BYTES };
  }
  if (form > TEXT_BYTES_MAX) {
    throw new IntegrityError('log entry');
  }
  return { text: textOf(readBytes(bytes, at + 1, form)), end: at + 1 + form };
}
