/**
 * X25519 (RFC 7748) over raw 32-byte keys, and HPKE (RFC 9180) on it: Base mode with DHKEM(X25519, HKDF-SHA256) and
 * HKDF-SHA256. HPKE gives both sides a secret from which any number of keys can be exported. The vault uses the
 * export-only suite; the AEAD suite is here for the vectors of the RFC.
 */
import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import { concat, EMPTY, equalBytes, IntegrityError, u16, utf8, wipe } from './bytes.ts';
import { randomBytes } from './random.ts';
import { expandKey, HASH_BYTES, hmac } from './symmetric.ts';

/** Bytes of a private key, of a public key and of the secret that two of them agree on. */
export const POINT_BYTES = 32;

/** DER of RFC 8410 up to the raw key. */
const PKCS8_PREFIX = Uint8Array.fromHex('302e020100300506032b656e04220420');
const SPKI_PREFIX = Uint8Array.fromHex('302a300506032b656e032100');
const ZERO = new Uint8Array(POINT_BYTES);

/** Both halves of a pair, 32 bytes each. */
export interface KeyPair {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** Checks a length before any arithmetic: a key of another length is a damaged record. */
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

/** The public half of a private key: about 30 us. `IntegrityError` for a private key that is not 32 bytes. */
export function publicOf(privateKey: Uint8Array): Uint8Array {
  const der = createPublicKey(importPrivate(privateKey)).export({ format: 'der', type: 'spki' });
  return new Uint8Array(der.subarray(SPKI_PREFIX.length));
}

/** A new random key pair. Any 32 bytes are a private key: the runtime clamps them (RFC 7748, section 5). */
export function generateKeyPair(): KeyPair {
  const privateKey = randomBytes(POINT_BYTES);
  return { privateKey, publicKey: publicOf(privateKey) };
}

/**
 * The shared secret of a private and a public key. Rejects, with `IntegrityError`, a public key that is
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

/** An AEAD of the suite: its registered id (RFC 9180, section 7.3) and the lengths of its key and nonce in bytes. */
export interface HpkeAead {
  readonly id: number;
  readonly keyBytes: number;
  readonly nonceBytes: number;
}

/** The suite without an AEAD (RFC 9180, section 7.3). */
export const EXPORT_ONLY: HpkeAead = { id: 0xffff, keyBytes: 0, nonceBytes: 0 };
export const AES_256_GCM: HpkeAead = { id: 0x0002, keyBytes: 32, nonceBytes: 12 };

/** The context of both sides after set-up. `key` and `baseNonce` are empty in the export-only suite. */
export interface HpkeContext {
  readonly exporterSecret: Uint8Array;
  readonly key: Uint8Array;
  readonly baseNonce: Uint8Array;
}

/** RFC 9180, sections 4 and 5.1: the mode, the version label and the suite ids that enter every derivation. */
const BASE_MODE = Uint8Array.of(0);
const VERSION = utf8('HPKE-v1');
/** HKDF-SHA256 (section 7.2). */
const KDF = 0x0001;
/** DHKEM(X25519, HKDF-SHA256) (section 7.1). */
const X25519_KEM = 0x20;

/** `suite_id` of section 4.1. */
function kemSuiteOf(kem: number): Uint8Array {
  return concat([utf8('KEM'), u16(kem)]);
}

const X25519_KEM_SUITE = kemSuiteOf(X25519_KEM);

const suites = new Map<number, Uint8Array>();

/** `suite_id` of section 5.1: the KEM, the KDF and the AEAD. Made once: every export of a key needs it. */
function suiteOf(aead: HpkeAead, kem: number): Uint8Array {
  const ids = (kem << 16) | aead.id;
  const found = suites.get(ids);
  if (found) {
    return found;
  }
  const made = concat([utf8('HPKE'), u16(kem), u16(KDF), u16(aead.id)]);
  suites.set(ids, made);
  return made;
}

/** LabeledExtract of section 4: HMAC of salt and labelled input, 32 bytes. */
function extract(suite: Uint8Array, salt: Uint8Array, label: string, ikm: Uint8Array): Uint8Array {
  return hmac(salt, concat([VERSION, suite, utf8(label), ikm]));
}

/** LabeledExpand of section 4: HKDF-Expand with the label. */
function expand(
  suite: Uint8Array,
  prk: Uint8Array,
  label: string,
  info: Uint8Array,
  length: number,
): Uint8Array {
  return expandKey(prk, concat([u16(length), VERSION, suite, utf8(label), info]), length);
}

/** ExtractAndExpand of section 4.1, over the agreed secret of the two keys, which is wiped. */
function sharedSecret(agreed: Uint8Array, enc: Uint8Array, publicKey: Uint8Array, kem: number): Uint8Array {
  const suite = kem === X25519_KEM ? X25519_KEM_SUITE : kemSuiteOf(kem);
  const prk = extract(suite, EMPTY, 'eae_prk', agreed);
  try {
    return expand(suite, prk, 'shared_secret', concat([enc, publicKey]), HASH_BYTES);
  } finally {
    wipe(agreed, prk);
  }
}

/** The context of the agreed secret of two keys of a DHKEM with HKDF-SHA256, which is wiped. `kem`: its registered id. */
export function contextOf(
  keys: { readonly agreed: Uint8Array; readonly enc: Uint8Array; readonly publicKey: Uint8Array },
  info: Uint8Array,
  aead: HpkeAead,
  kem = X25519_KEM,
): HpkeContext {
  return scheduleKeys(sharedSecret(keys.agreed, keys.enc, keys.publicKey, kem), info, aead, kem);
}

/** KeySchedule of section 5.1 in Base mode, without a PSK, over the shared secret of a KEM; that is wiped. */
export function scheduleKeys(shared: Uint8Array, info: Uint8Array, aead: HpkeAead, kem: number): HpkeContext {
  const suite = suiteOf(aead, kem);
  const pskIdHash = extract(suite, EMPTY, 'psk_id_hash', EMPTY);
  const context = concat([BASE_MODE, pskIdHash, extract(suite, EMPTY, 'info_hash', info)]);
  const secret = extract(suite, shared, 'secret', EMPTY);
  try {
    return {
      exporterSecret: expand(suite, secret, 'exp', context, HASH_BYTES),
      key: aead.keyBytes === 0 ? EMPTY : expand(suite, secret, 'key', context, aead.keyBytes),
      baseNonce:
        aead.nonceBytes === 0 ? EMPTY : expand(suite, secret, 'base_nonce', context, aead.nonceBytes),
    };
  } finally {
    wipe(shared, secret);
  }
}

/**
 * SetupBaseS (section 5.1.1): a context for the holder of `publicKey`, and the `enc` of 32 bytes from which the holder
 * derives it. Only tests of known answers pass `ephemeral`. The ephemeral private key is wiped. Rejects a bad point with
 * `IntegrityError`.
 */
export function setupSender(
  publicKey: Uint8Array,
  info: Uint8Array,
  aead: HpkeAead = EXPORT_ONLY,
  ephemeral: KeyPair = generateKeyPair(),
): { readonly enc: Uint8Array; readonly context: HpkeContext } {
  const enc = ephemeral.publicKey;
  try {
    const agreed = agree(importPrivate(ephemeral.privateKey), publicKey);
    return { enc, context: contextOf({ agreed, enc, publicKey }, info, aead) };
  } finally {
    wipe(ephemeral.privateKey);
  }
}

/**
 * SetupBaseR (section 5.1.1): the context that the sender of `enc` made. Another private key gives another context, and
 * no error: nothing sealed under it opens. Rejects a bad point with `IntegrityError`.
 */
export function setupReceiver(
  enc: Uint8Array,
  privateKey: KeyObject,
  publicKey: Uint8Array,
  info: Uint8Array,
  aead: HpkeAead = EXPORT_ONLY,
): HpkeContext {
  return contextOf({ agreed: agree(privateKey, enc), enc, publicKey }, info, aead);
}

/**
 * Context.Export (section 5.3): `length` bytes, at most 8,160, that only the two sides can compute, different for each
 * `label`. The exporter secret itself never leaves the thread.
 */
export function exportSecret(
  exporterSecret: Uint8Array,
  label: Uint8Array,
  length: number,
  aead: HpkeAead = EXPORT_ONLY,
  kem = X25519_KEM,
): Uint8Array {
  return expand(suiteOf(aead, kem), exporterSecret, 'sec', label, length);
}
