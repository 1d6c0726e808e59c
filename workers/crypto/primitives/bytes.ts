/**
 * Byte strings: the operations of all record formats. Integers are big-endian. Readers check that the bytes are there and
 * throw an `IntegrityError` if not; callers of writers provide enough room.
 */
import { timingSafeEqual } from 'node:crypto';

/**
 * A stored record is damaged, forged, moved or cut: it was not used. Callers answer `integrity_failed`.
 * `place` is a constant that names the kind of record, never a part of one.
 */
export class IntegrityError extends Error {
  constructor(place = 'record') {
    super(`A stored ${place} failed its integrity check.`);
    this.name = 'IntegrityError';
  }
}

/** The result of `open`; undefined if it throws an `IntegrityError`. */
export function openedOrNot<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof IntegrityError) {
      return undefined;
    }
    throw error;
  }
}

/** The passphrase given does not open the vault key. Callers answer `passphrase_wrong`. */
export class PassphraseError extends Error {
  constructor() {
    super('The passphrase does not open this key.');
    this.name = 'PassphraseError';
  }
}

/** No bytes: a missing part. */
export const EMPTY = new Uint8Array(0);

const encoder = new TextEncoder();
/** Fatal: a damaged text must not be read as another one. A byte order mark is part of the text. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD, as everywhere on the wire. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of UTF-8 bytes. Rejects anything that is not well-formed with `IntegrityError`. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new IntegrityError();
  }
}

/** The bytes of a base64 text; undefined for a text that the options do not allow. */
export function fromBase64(
  text: string,
  options: Parameters<typeof Uint8Array.fromBase64>[1],
): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text, options);
  } catch {
    return undefined;
  }
}

/** One new byte string that holds the parts in order. A part that is secret is now in two places: wipe both. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) {
    length += part.length;
  }
  const out = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Writes an unsigned 32-bit integer at `at`. Rejects a number that does not fit. */
export function writeU32(out: Uint8Array, at: number, value: number): void {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw new RangeError('not a 32-bit integer');
  }
  out[at] = value >>> 24;
  out[at + 1] = value >>> 16;
  out[at + 2] = value >>> 8;
  out[at + 3] = value;
}

/** Writes an unsigned 64-bit integer at `at`. Rejects anything but a safe integer of 0 or more. */
export function writeU64(out: Uint8Array, at: number, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError('not a safe unsigned integer');
  }
  writeU32(out, at, Math.floor(value / 0x1_0000_0000));
  writeU32(out, at + 4, value % 0x1_0000_0000);
}

/** The two bytes of an unsigned 16-bit integer, which the caller has checked. */
export function u16(value: number): Uint8Array {
  return Uint8Array.of(value >> 8, value & 0xff);
}

export function u32(value: number): Uint8Array {
  const out = new Uint8Array(4);
  writeU32(out, 0, value);
  return out;
}

export function u64(value: number): Uint8Array {
  const out = new Uint8Array(8);
  writeU64(out, 0, value);
  return out;
}

/** One byte; `IntegrityError` past the end. */
export function readU8(bytes: Uint8Array, at: number): number {
  const value = bytes[at];
  if (value === undefined) {
    throw new IntegrityError();
  }
  return value;
}

/** An unsigned 16-bit integer; `IntegrityError` past the end. */
export function readU16(bytes: Uint8Array, at: number): number {
  return (readU8(bytes, at) << 8) | readU8(bytes, at + 1);
}

/** An unsigned 32-bit integer; `IntegrityError` past the end. */
export function readU32(bytes: Uint8Array, at: number): number {
  if (at + 4 > bytes.length) {
    throw new IntegrityError();
  }
  const high = ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16);
  return (high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
}

/** An unsigned 64-bit integer; `IntegrityError` past the end and for more than 2^53 - 1. */
export function readU64(bytes: Uint8Array, at: number): number {
  const value = readU32(bytes, at) * 0x1_0000_0000 + readU32(bytes, at + 4);
  if (!Number.isSafeInteger(value)) {
    throw new IntegrityError();
  }
  return value;
}

/** A view of `length` bytes at `at`, which must exist: half the cost of `subarray`, and no Buffer of a Buffer. */
export function viewOf(bytes: Uint8Array, at: number, length: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + at, length);
}

/** The same; `IntegrityError` past the end. */
export function readBytes(bytes: Uint8Array, at: number, length: number): Uint8Array {
  if (at + length > bytes.length) {
    throw new IntegrityError();
  }
  return viewOf(bytes, at, length);
}

/**
 * Constant-time comparison of equally long byte strings; strings of different lengths are unequal, at once. For tags,
 * commitments and hashes, against attackers who try one after the other.
 */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Overwrites key material with zeros, except for undefined. Copies that the runtime made are out of reach. Views share their
 * bytes: wiping one wipes its source.
 */
export function wipe(...buffers: readonly (Uint8Array | undefined)[]): void {
  for (const buffer of buffers) {
    buffer?.fill(0);
  }
}

/** The first byte of every record; readers accept no other. */
const VERSION = 0x01;
/** AES-256-GCM, HMAC- and HKDF-SHA-256, and for public keys X25519. */
export const X25519_SUITE = 0x01;
/** The same with X-Wing in place of X25519. */
export const X_WING_SUITE = 0x02;
/** The algorithms of a record, and of a generation of a vault key. */
export type Suite = typeof X25519_SUITE | typeof X_WING_SUITE;
/** Reserved: a reader rejects any other value. */
const FLAGS = 0x00;

const SUITE_AT = 2;

/** Length of the header that every record begins with: version, type, suite, flags, a byte each. */
export const HEADER_BYTES = 4;

/** Type bytes of the records; `docs/crypto.md` has a table for each. */
export const TYPE = {
  vaultKey: 0x10,
  ownedEnvelope: 0x11,
  sealedEnvelope: 0x12,
  content: 0x13,
  captureWrap: 0x14,
  retrieveWrap: 0x15,
  derivedEnvelope: 0x16,
  patchedItem: 0x17,
  summaryVaultKey: 0x18,
  recoverableKey: 0x19,
  recoverableSummaryKey: 0x1a,
  recovery: 0x1b,
  inboundWrap: 0x1c,
  service: 0x20,
  renewedLog: 0x21,
  heads: 0x22,
  warm: 0x30,
} as const;

export type RecordType = (typeof TYPE)[keyof typeof TYPE];

/** Writes the header of a new record at its start, which is at `at`. */
export function writeHeader(out: Uint8Array, type: RecordType, at = 0, suite: Suite = X25519_SUITE): void {
  out[at] = VERSION;
  out[at + 1] = type;
  out[at + 2] = suite;
  out[at + 3] = FLAGS;
}

/** Rejects, with `IntegrityError` and before any cryptography, a record of another kind or suite, or too short. */
export function checkHeader(
  record: Uint8Array,
  type: RecordType,
  bytesMin: number,
  suite: Suite = X25519_SUITE,
): void {
  const known = record[0] === VERSION && record[1] === type && record[2] === suite && record[3] === FLAGS;
  if (!known || record.length < bytesMin) {
    throw new IntegrityError();
  }
}

/** The suite of a byte; `IntegrityError` for any other byte. */
export function suiteAt(bytes: Uint8Array, at: number): Suite {
  const suite = bytes[at];
  if (suite !== X25519_SUITE && suite !== X_WING_SUITE) {
    throw new IntegrityError();
  }
  return suite;
}

/** The same as `checkHeader` for a record of either suite, which it returns. */
export function headerSuite(record: Uint8Array, type: RecordType, bytesMin: number): Suite {
  const suite = suiteAt(record, SUITE_AT);
  checkHeader(record, type, bytesMin, suite);
  return suite;
}
