/** Random bytes and the names made of them, all from the operating system's generator. */
import { randomFillSync } from 'node:crypto';

/** One call of the system's generator costs as much as these bytes take to make. */
const POOL_BYTES = 8192;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Fills `length` bytes of `target` at `at` with random bytes. Small requests are served from a pool of
 * 8 KiB, whose bytes are given out once and zeroed as they leave; larger ones go to the system directly.
 */
export function fillRandom(target: Uint8Array, at: number, length: number): void {
  if (length > POOL_BYTES) {
    randomFillSync(target, at, length);
    return;
  }
  if (used + length > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  for (let to = at; to < at + length; to++) {
    target[to] = pool[used] ?? 0;
    pool[used++] = 0;
  }
}

export function randomBytes(length: number): Uint8Array {
  const out = new Uint8Array(length);
  fillRandom(out, 0, length);
  return out;
}

/** Bytes that a UUID is made of; six of their bits are not used. */
export const UUID_BYTES = 16;

/** A version 4 UUID (RFC 9562, section 5.4) in lower case, of bytes that are random to its readers, and are changed. */
export function formatUuid(bytes: Uint8Array): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toHex();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * A passphrase of exactly `length` characters, each drawn evenly from the 64 symbols `A-Z a-z 0-9 - _`:
 * six bits a character, all of them unreserved in a URL (RFC 3986, section 2.3).
 */
export function randomPassphrase(length: number): string {
  const bytes = randomBytes(Math.ceil((length * 6) / 8));
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true }).slice(0, length);
}
