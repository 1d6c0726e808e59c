/** Random bytes and the names made of them, all from the operating system's generator. */
import { randomFillSync } from 'node:crypto';

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
  const end = used + length;
  target.set(pool.subarray(used, end), at);
  pool.fill(0, used, end);
  used = end;
}

/** `length` fresh random bytes that nobody else holds. */
export function randomBytes(length: number): Uint8Array {
  const out = new Uint8Array(length);
  fillRandom(out, 0, length);
  return out;
}

function base64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');
}

/** An identifier of 128 random bits, 22 characters of base64url. */
export function randomId(): string {
  return base64Url(randomBytes(16));
}

/** A version 4 UUID (RFC 9562): 122 random bits. */
export function randomUuid(): string {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes.buffer).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * A passphrase of exactly `length` characters, each drawn evenly from the 64 symbols `A-Z a-z 0-9 - _`:
 * six bits a character, all of them unreserved in a URL (RFC 3986, section 2.3).
 */
export function randomPassphrase(length: number): string {
  return base64Url(randomBytes(Math.ceil((length * 6) / 8))).slice(0, length);
}
