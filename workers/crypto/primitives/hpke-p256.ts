/**
 * HPKE (RFC 9180) in Base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM, which browsers can seal with
 * WebCrypto and open with it. Public keys and `enc` are uncompressed points.
 */
import { createECDH } from 'node:crypto';
import { IntegrityError, wipe } from './bytes.ts';
import { AES_256_GCM, contextOf, type HpkeAead, type HpkeContext, type KeyPair } from './hpke.ts';
import { openSealed, sealInto, TAG_BYTES } from './symmetric.ts';

/** Bytes of an uncompressed point: 04 and both coordinates. */
export const P256_POINT_BYTES = 65;
export const P256_SCALAR_BYTES = 32;

/** The id of the KEM (section 7.1). */
const P256_KEM = 0x10;
const CURVE = 'prime256v1';
/** The first byte of an uncompressed point (SEC 1, section 2.3.3), the only form that is accepted. */
const UNCOMPRESSED = 0x04;

export function generateP256Pair(): KeyPair {
  const ecdh = createECDH(CURVE);
  const publicKey = new Uint8Array(ecdh.generateKeys());
  const privateKey = new Uint8Array(P256_SCALAR_BYTES);
  const bytes = ecdh.getPrivateKey();
  // The runtime leaves out leading zeros.
  privateKey.set(bytes, P256_SCALAR_BYTES - bytes.length);
  wipe(bytes);
  return { privateKey, publicKey };
}

/** SetupBaseR (section 5.1.1). Rejects, with `IntegrityError`, an `enc` that is not an uncompressed point of the curve. */
export function setupP256Receiver(
  enc: Uint8Array,
  { privateKey, publicKey }: KeyPair,
  info: Uint8Array,
  aead: HpkeAead = AES_256_GCM,
): HpkeContext {
  return contextOf({ agreed: agreeP256(privateKey, enc), enc, publicKey }, info, aead, P256_KEM);
}

/** The secret of a private key and a point. Rejects, with `IntegrityError`, what is no uncompressed point of the curve. */
function agreeP256(privateKey: Uint8Array, point: Uint8Array): Uint8Array {
  if (point.length !== P256_POINT_BYTES || point[0] !== UNCOMPRESSED) {
    throw new IntegrityError();
  }
  const ecdh = createECDH(CURVE);
  ecdh.setPrivateKey(privateKey);
  try {
    return ecdh.computeSecret(point);
  } catch {
    throw new IntegrityError();
  }
}

/** Seal (section 6.1): a single message to a public key. Rejects a point that is none with `IntegrityError`. */
export function sealP256(
  publicKey: Uint8Array,
  info: Uint8Array,
  associated: Uint8Array,
  plaintext: Uint8Array,
  ephemeral: KeyPair = generateP256Pair(),
): { readonly enc: Uint8Array; readonly ciphertext: Uint8Array } {
  const enc = ephemeral.publicKey;
  let agreed: Uint8Array;
  try {
    agreed = agreeP256(ephemeral.privateKey, publicKey);
  } finally {
    wipe(ephemeral.privateKey);
  }
  const { key, baseNonce, exporterSecret } = contextOf(
    { agreed, enc, publicKey },
    info,
    AES_256_GCM,
    P256_KEM,
  );
  try {
    const ciphertext = new Uint8Array(plaintext.length + TAG_BYTES);
    // The key seals this message alone.
    sealInto(ciphertext, 0, key, baseNonce, plaintext, associated);
    return { enc, ciphertext };
  } finally {
    wipe(key, exporterSecret);
  }
}

/** Open (section 6.1): the plaintext of a single message. Rejects any other message with `IntegrityError`. */
export function openP256(
  { enc, ciphertext }: { readonly enc: Uint8Array; readonly ciphertext: Uint8Array },
  pair: KeyPair,
  info: Uint8Array,
  associated: Uint8Array,
): Uint8Array {
  const { key, baseNonce, exporterSecret } = setupP256Receiver(enc, pair, info);
  try {
    return openSealed(key, baseNonce, ciphertext, associated);
  } finally {
    wipe(key, exporterSecret);
  }
}
