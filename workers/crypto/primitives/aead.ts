/**
 * AES-256-GCM: the only file that calls an AEAD. Nonces are 12 bytes, tags 16, and a key is used either
 * for one message or derived per message, so that random nonces never come near their birthday bound.
 */
import { type CipherGCMTypes, createCipheriv, createDecipheriv } from 'node:crypto';
import { IntegrityError, wipe } from './bytes.ts';
import { hmac } from './hash.ts';
import { fillRandom } from './random.ts';

export const KEY_BYTES = 32;
export const NONCE_BYTES = 12;
export const TAG_BYTES = 16;
export const SALT_BYTES = 16;

/** What a message of `sealMessage` has beside its header and plaintext: salt, nonce and tag. */
export const MESSAGE_EXTRA_BYTES = SALT_BYTES + NONCE_BYTES + TAG_BYTES;

const CIPHER: CipherGCMTypes = 'aes-256-gcm';
const OPTIONS = { authTagLength: TAG_BYTES } as const;

/** Encrypts `plaintext` and writes ciphertext and tag into `out` at `at`; `out` must have room for both. */
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

/** Decrypts ciphertext and tag. Refuses with `IntegrityError`, and then no plaintext is left behind. */
export function openSealed(
  key: Uint8Array,
  nonce: Uint8Array,
  sealed: Uint8Array,
  associated: Uint8Array,
): Uint8Array {
  const bodyBytes = sealed.length - TAG_BYTES;
  if (bodyBytes < 0) {
    throw new IntegrityError();
  }
  const decipher = createDecipheriv(CIPHER, key, nonce, OPTIONS);
  decipher.setAAD(associated);
  decipher.setAuthTag(sealed.subarray(bodyBytes));
  const plaintext = decipher.update(sealed.subarray(0, bodyBytes));
  try {
    decipher.final();
  } catch {
    wipe(plaintext);
    throw new IntegrityError();
  }
  return plaintext;
}

/**
 * Seals one message under a key that lives long: `header | salt 16 | nonce 12 | ciphertext | tag 16`. The
 * message key is HMAC-SHA-256(key, salt), so that 28 random bytes stand against a repetition.
 * `associated` must hold the header.
 */
export function sealMessage(
  key: Uint8Array,
  header: Uint8Array,
  plaintext: Uint8Array,
  associated: Uint8Array,
): Uint8Array {
  const saltAt = header.length;
  const nonceAt = saltAt + SALT_BYTES;
  const bodyAt = nonceAt + NONCE_BYTES;
  const out = new Uint8Array(bodyAt + plaintext.length + TAG_BYTES);
  out.set(header);
  fillRandom(out, saltAt, SALT_BYTES + NONCE_BYTES);
  const messageKey = hmac(key, out.subarray(saltAt, nonceAt));
  try {
    sealInto(out, bodyAt, messageKey, out.subarray(nonceAt, bodyAt), plaintext, associated);
  } finally {
    wipe(messageKey);
  }
  return out;
}

/** Opens a message of `sealMessage` whose header, of `headerBytes` bytes, the caller has checked. */
export function openMessage(
  key: Uint8Array,
  headerBytes: number,
  message: Uint8Array,
  associated: Uint8Array,
): Uint8Array {
  const nonceAt = headerBytes + SALT_BYTES;
  const bodyAt = nonceAt + NONCE_BYTES;
  if (message.length < bodyAt + TAG_BYTES) {
    throw new IntegrityError();
  }
  const messageKey = hmac(key, message.subarray(headerBytes, nonceAt));
  try {
    return openSealed(messageKey, message.subarray(nonceAt, bodyAt), message.subarray(bodyAt), associated);
  } finally {
    wipe(messageKey);
  }
}
