/**
 * The symmetric primitives: SHA-256, HMAC-SHA-256 (RFC 2104), HKDF-SHA-256 (RFC 5869) and AES-256-GCM (NIST SP
 * 800-38D). It is the only file that calls an AEAD. A key is used either for one message or derived per message, so
 * that random nonces never come near their birthday bound.
 */
import { type CipherGCMTypes, createCipheriv, createDecipheriv } from 'node:crypto';
import { EMPTY, IntegrityError, viewOf, wipe } from './bytes.ts';
import { fillRandom } from './random.ts';

/** Bytes of an AES-256 key, of an HMAC key and of every derived key. */
export const KEY_BYTES = 32;
/** Bytes of a GCM nonce: 96 bits, the one length that needs no further hashing. */
export const NONCE_BYTES = 12;
/** Bytes of a GCM tag; shorter ones are never accepted. */
export const TAG_BYTES = 16;
/** Bytes of a salt, wherever a record has one. */
export const SALT_BYTES = 16;
/** Bytes of a SHA-256 or HMAC-SHA-256 result. */
export const HASH_BYTES = 32;
/** Bytes of salt, nonce and tag in a message of `sealMessage`. */
export const MESSAGE_EXTRA_BYTES = SALT_BYTES + NONCE_BYTES + TAG_BYTES;

const CIPHER: CipherGCMTypes = 'aes-256-gcm';
/** Without it the runtime would accept a tag of 4 bytes when it opens. */
const OPTIONS = { authTagLength: TAG_BYTES } as const;

/** SHA-256 of the bytes, 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(HASH_BYTES);
  Bun.SHA256.hash(bytes, out);
  return out;
}

/** HMAC-SHA-256, 32 bytes. The runtime's own hasher takes two thirds of the time of `createHmac`. */
export function hmac(key: Uint8Array, message: Uint8Array): Uint8Array {
  return new Bun.CryptoHasher('sha256', key).update(message).digest();
}

const HKDF_BLOCKS_MAX = 255;

/** HKDF-Expand (RFC 5869, section 2.3): up to 255 blocks of 32 bytes. */
export function expandKey(prk: Uint8Array, info: Uint8Array, length: number): Uint8Array {
  const blocks = Math.ceil(length / HASH_BYTES);
  if (blocks > HKDF_BLOCKS_MAX) {
    throw new RangeError('HKDF gives at most 255 blocks');
  }
  const out = new Uint8Array(blocks * HASH_BYTES);
  let previous: Uint8Array = EMPTY;
  for (let block = 1; block <= blocks; block++) {
    const hasher = new Bun.CryptoHasher('sha256', prk).update(previous).update(info);
    previous = hasher.update(Uint8Array.of(block)).digest();
    out.set(previous, (block - 1) * HASH_BYTES);
  }
  return length === out.length ? out : out.slice(0, length);
}

/** HKDF-SHA-256, extract and expand; without a salt it is 32 zero bytes (RFC 5869, section 2.2). */
export function hkdf(
  ikm: Uint8Array,
  info: Uint8Array,
  length: number,
  salt: Uint8Array = EMPTY,
): Uint8Array {
  const prk = hmac(salt, ikm);
  try {
    return expandKey(prk, info, length);
  } finally {
    wipe(prk);
  }
}

/**
 * Encrypts `plaintext` and writes ciphertext and tag into `out` at `at`, where both must have room. The caller guarantees
 * the nonce: never twice under one key. Records use `sealAt`, which draws it.
 */
export function sealInto(
  out: Uint8Array,
  at: number,
  key: Uint8Array,
  nonce: Uint8Array,
  plaintext: Uint8Array,
  associated: Uint8Array,
): void {
  const cipher = createCipheriv(CIPHER, key, nonce, OPTIONS);
  cipher.setAAD(associated);
  const body = cipher.update(plaintext);
  cipher.final();
  out.set(body, at);
  out.set(cipher.getAuthTag(), at + body.length);
}

/** Nonces and tags on their way into the runtime: a view of each would cost more than its copy. */
const nonceOf = new Uint8Array(NONCE_BYTES);
const tagOf = new Uint8Array(TAG_BYTES);
const saltOf = new Uint8Array(SALT_BYTES);

/** Fills `out` with the bytes at `at`, which must exist. */
function copyFrom(bytes: Uint8Array, at: number, out: Uint8Array): Uint8Array {
  for (let i = 0; i < out.length; i++) {
    out[i] = bytes[at + i] ?? 0;
  }
  return out;
}

/** Decrypts ciphertext and tag, from `at` on. Rejects with `IntegrityError`, and then wipes the plaintext. */
export function openSealed(
  key: Uint8Array,
  nonce: Uint8Array,
  sealed: Uint8Array,
  associated: Uint8Array,
  at = 0,
): Uint8Array {
  const bodyBytes = sealed.length - at - TAG_BYTES;
  if (bodyBytes < 0) {
    throw new IntegrityError();
  }
  const decipher = createDecipheriv(CIPHER, key, nonce, OPTIONS);
  decipher.setAAD(associated);
  decipher.setAuthTag(copyFrom(sealed, at + bodyBytes, tagOf));
  // GCM returns plaintext before the tag is checked; it is not returned until `final` has succeeded.
  const plaintext = decipher.update(viewOf(sealed, at, bodyBytes));
  try {
    decipher.final();
  } catch {
    wipe(plaintext);
    throw new IntegrityError();
  }
  return plaintext;
}

/**
 * Seals the rest of a record: writes `nonce 12 | ciphertext | tag 16` into `out` at `at`, with a random nonce. `key`
 * must be one that seals this message only.
 */
export function sealAt(
  out: Uint8Array,
  at: number,
  key: Uint8Array,
  plaintext: Uint8Array,
  associated: Uint8Array,
): void {
  const bodyAt = at + NONCE_BYTES;
  fillRandom(out, at, NONCE_BYTES);
  sealInto(out, bodyAt, key, copyFrom(out, at, nonceOf), plaintext, associated);
}

/** Opens what `sealAt` has written at `at`, up to the record's end. Rejects all else with `IntegrityError`. */
export function openAt(record: Uint8Array, at: number, key: Uint8Array, associated: Uint8Array): Uint8Array {
  const bodyAt = at + NONCE_BYTES;
  if (record.length < bodyAt + TAG_BYTES) {
    throw new IntegrityError();
  }
  return openSealed(key, copyFrom(record, at, nonceOf), record, associated, bodyAt);
}

/**
 * Seals one message under a key that lives long: `header | salt 16 | nonce 12 | ciphertext | tag 16`. The
 * message key is HMAC-SHA-256(key, salt), so that 28 random bytes prevent a repetition.
 * `associated` must hold the header.
 */
export function sealMessage(
  key: Uint8Array,
  header: Uint8Array,
  plaintext: Uint8Array,
  associated: Uint8Array,
): Uint8Array {
  const nonceAt = header.length + SALT_BYTES;
  const out = new Uint8Array(header.length + plaintext.length + MESSAGE_EXTRA_BYTES);
  out.set(header);
  fillRandom(out, header.length, SALT_BYTES);
  const messageKey = hmac(key, copyFrom(out, header.length, saltOf));
  try {
    sealAt(out, nonceAt, messageKey, plaintext, associated);
  } finally {
    wipe(messageKey);
  }
  return out;
}

/**
 * Opens a message of `sealMessage` whose header, of `headerBytes` bytes, the caller has checked. Rejects one that is
 * too short, damaged, or sealed under another key or associated data with `IntegrityError`.
 */
export function openMessage(
  key: Uint8Array,
  headerBytes: number,
  message: Uint8Array,
  associated: Uint8Array,
): Uint8Array {
  const nonceAt = headerBytes + SALT_BYTES;
  if (message.length < nonceAt) {
    throw new IntegrityError();
  }
  const messageKey = hmac(key, copyFrom(message, headerBytes, saltOf));
  try {
    return openAt(message, nonceAt, messageKey, associated);
  } finally {
    wipe(messageKey);
  }
}
