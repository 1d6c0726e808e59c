/** SHA-256, HMAC-SHA-256 (RFC 2104) and HKDF-SHA-256 (RFC 5869) over byte strings. */
import { createHmac, hash, hkdfSync } from 'node:crypto';
import { EMPTY } from './bytes.ts';

/** SHA-256 of the bytes, 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return hash('sha256', bytes, 'buffer');
}

/** HMAC-SHA-256, 32 bytes. */
export function hmac(key: Uint8Array, message: Uint8Array): Uint8Array {
  return createHmac('sha256', key).update(message).digest();
}

/** HKDF-SHA-256, extract and expand; without a salt it is 32 zero bytes, as the RFC says. */
export function hkdf(
  ikm: Uint8Array,
  info: Uint8Array,
  length: number,
  salt: Uint8Array = EMPTY,
): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', ikm, salt, info, length));
}
