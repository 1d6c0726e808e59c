/** X25519 (RFC 7748) over raw 32-byte keys. */
import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import { concat, equalBytes, IntegrityError } from './bytes.ts';
import { randomBytes } from './random.ts';

export const POINT_BYTES = 32;

/** DER of RFC 8410 up to the raw key. */
const PKCS8_PREFIX = Uint8Array.fromHex('302e020100300506032b656e04220420');
const SPKI_PREFIX = Uint8Array.fromHex('302a300506032b656e032100');
const ZERO = new Uint8Array(POINT_BYTES);

export interface KeyPair {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

function checkLength(key: Uint8Array): void {
  if (key.length !== POINT_BYTES) {
    throw new IntegrityError();
  }
}

/** A private key as the runtime holds it, which takes 12 us to make: make one for many agreements. */
export function importPrivate(privateKey: Uint8Array): KeyObject {
  checkLength(privateKey);
  const der = concat([PKCS8_PREFIX, privateKey]);
  try {
    return createPrivateKey({ key: Buffer.from(der.buffer), format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}

/** The public half of a private key. */
export function publicOf(privateKey: Uint8Array): Uint8Array {
  const der = createPublicKey(importPrivate(privateKey)).export({ format: 'der', type: 'spki' });
  return new Uint8Array(der.subarray(SPKI_PREFIX.length));
}

/** A new random key pair. */
export function generateKeyPair(): KeyPair {
  const privateKey = randomBytes(POINT_BYTES);
  return { privateKey, publicKey: publicOf(privateKey) };
}

/**
 * The shared secret of a private and a public key. Refuses, with `IntegrityError`, a public key that is
 * not 32 bytes or of low order: an all-zero result is no secret (RFC 7748, section 6.1).
 */
export function agree(privateKey: KeyObject, publicKey: Uint8Array): Uint8Array {
  checkLength(publicKey);
  const key = Buffer.concat([SPKI_PREFIX, publicKey]);
  let shared: Uint8Array;
  try {
    shared = diffieHellman({ privateKey, publicKey: createPublicKey({ key, format: 'der', type: 'spki' }) });
  } catch {
    throw new IntegrityError();
  }
  if (equalBytes(shared, ZERO)) {
    throw new IntegrityError();
  }
  return shared;
}
