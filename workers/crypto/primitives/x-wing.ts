/**
 * X-Wing (draft-connolly-cfrg-xwing-kem-10): a KEM whose secret is safe while either X25519 or ML-KEM-768 (FIPS 203) is.
 * A private key is a seed of 32 bytes, from which the key pairs of both derive. ML-KEM is the runtime's, which returns
 * promises only.
 *
 * Also HPKE (RFC 9180) in Base mode with X-Wing (0x647a, draft-ietf-hpke-pq) and HKDF-SHA256, export-only as that of X25519.
 * Both sides wait for the runtime once for each set-up, not for each key that is exported from it.
 */
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { shake256 } from '@noble/hashes/sha3.js';
import { concat, IntegrityError, readBytes, utf8, wipe } from './bytes.ts';
import {
  agree,
  EXPORT_ONLY,
  exportSecret,
  generateKeyPair,
  type HpkeAead,
  type HpkeContext,
  importPrivate,
  type KeyPair,
  POINT_BYTES,
  publicOf,
  scheduleKeys,
} from './hpke.ts';
import { randomBytes } from './random.ts';

/** Bytes of a public key: that of ML-KEM-768, then that of X25519. */
export const X_WING_PUBLIC_BYTES = 1184 + POINT_BYTES;
/** Bytes of an encapsulation: the ciphertext of ML-KEM-768, then an X25519 public key. */
export const X_WING_ENC_BYTES = 1088 + POINT_BYTES;

const SEED_BYTES = 32;
/** `d` and `z` of FIPS 203. */
const ML_KEM_SEED_BYTES = 64;
const ML_KEM = { name: 'ML-KEM-768' } as const;
/** DER of a private key of ML-KEM-768 up to its seed (RFC 9935), and of a public key up to its raw bytes. */
const PKCS8_PREFIX = Uint8Array.fromHex('3054020100300b0609608648016503040402044280' + '40');
const SPKI_BYTES = 22;
const LABEL = utf8('\\.//^\\');

/** The runtime's methods of FIPS 203, which its types do not have yet. */
interface MlKem {
  importKey(
    format: 'raw-seed' | 'raw-public',
    key: Uint8Array,
    algorithm: typeof ML_KEM,
    extractable: boolean,
    usages: readonly ('decapsulateBits' | 'encapsulateBits')[],
  ): Promise<CryptoKey>;
  encapsulateBits(
    algorithm: typeof ML_KEM,
    key: CryptoKey,
  ): Promise<{ readonly sharedKey: ArrayBuffer; readonly ciphertext: ArrayBuffer }>;
  decapsulateBits(algorithm: typeof ML_KEM, key: CryptoKey, ciphertext: Uint8Array): Promise<ArrayBuffer>;
}

const mlKem = crypto.subtle as unknown as MlKem;

/** The seed of ML-KEM and the private key of X25519 of a seed. The caller wipes both. */
function expand(seed: Uint8Array): { readonly mlKemSeed: Uint8Array; readonly privateKey: Uint8Array } {
  if (seed.length !== SEED_BYTES) {
    throw new IntegrityError();
  }
  const all = shake256(seed, { dkLen: ML_KEM_SEED_BYTES + POINT_BYTES });
  return { mlKemSeed: all.subarray(0, ML_KEM_SEED_BYTES), privateKey: all.subarray(ML_KEM_SEED_BYTES) };
}

/** The X25519 half of the public key of a seed, 32 bytes, in 40 us: it identifies the seed, and so the other half too. */
export function xWingPointOf(seed: Uint8Array): Uint8Array {
  const { mlKemSeed, privateKey } = expand(seed);
  try {
    return publicOf(privateKey);
  } finally {
    wipe(mlKemSeed, privateKey);
  }
}

/** The whole public key of a seed, in 100 us. */
export function xWingPublicOf(seed: Uint8Array): Uint8Array {
  const { mlKemSeed, privateKey } = expand(seed);
  const der = concat([PKCS8_PREFIX, mlKemSeed]);
  try {
    const key = createPublicKey(
      createPrivateKey({ key: Buffer.from(der.buffer), format: 'der', type: 'pkcs8' }),
    );
    return concat([key.export({ format: 'der', type: 'spki' }).subarray(SPKI_BYTES), publicOf(privateKey)]);
  } finally {
    wipe(mlKemSeed, privateKey, der);
  }
}

/** A new random seed and the X25519 half of its public key. */
export function generateXWingPair(): KeyPair {
  const privateKey = randomBytes(SEED_BYTES);
  return { privateKey, publicKey: xWingPointOf(privateKey) };
}

/** Combines both agreements, the X25519 halves and the label; both secrets are wiped. */
function combine(
  mlKemSecret: Uint8Array,
  agreed: Uint8Array,
  enc: Uint8Array,
  publicKey: Uint8Array,
): Uint8Array {
  try {
    const hash = createHash('sha3-256');
    for (const part of [mlKemSecret, agreed, enc, publicKey, LABEL]) {
      hash.update(part);
    }
    return new Uint8Array(hash.digest());
  } finally {
    wipe(mlKemSecret, agreed);
  }
}

/**
 * A new secret of 32 bytes for the holder of a public key, and the `enc` that brings it there. Rejects, with
 * `IntegrityError`, a public key of another length or order, and one that FIPS 203 does not allow.
 */
export async function encapsulate(
  publicKey: Uint8Array,
): Promise<{ readonly enc: Uint8Array; readonly shared: Uint8Array }> {
  const mlKemBytes = X_WING_PUBLIC_BYTES - POINT_BYTES;
  if (publicKey.length !== X_WING_PUBLIC_BYTES) {
    throw new IntegrityError();
  }
  const point = new Uint8Array(publicKey.subarray(mlKemBytes));
  const ephemeral = generateKeyPair();
  const agreed = agree(importPrivate(ephemeral.privateKey), point);
  wipe(ephemeral.privateKey);
  const mlKemPublic = publicKey.subarray(0, mlKemBytes);
  const { sharedKey, ciphertext } = await mlKem
    .importKey('raw-public', mlKemPublic, ML_KEM, false, ['encapsulateBits'])
    .then((key) => mlKem.encapsulateBits(ML_KEM, key))
    .catch(() => {
      throw new IntegrityError();
    });
  return {
    enc: concat([new Uint8Array(ciphertext), ephemeral.publicKey]),
    shared: combine(new Uint8Array(sharedKey), agreed, ephemeral.publicKey, point),
  };
}

/**
 * The secret that `enc` brings to the holder of a seed. An `enc` for another seed gives another secret, and no error.
 * Rejects, with `IntegrityError`, another length and a point of low order. The seed is read before the first wait.
 */
export async function decapsulate(seed: Uint8Array, enc: Uint8Array): Promise<Uint8Array> {
  if (enc.length !== X_WING_ENC_BYTES) {
    throw new IntegrityError();
  }
  const { mlKemSeed, privateKey } = expand(seed);
  try {
    const point = new Uint8Array(readBytes(enc, X_WING_ENC_BYTES - POINT_BYTES, POINT_BYTES));
    const ciphertext = new Uint8Array(readBytes(enc, 0, X_WING_ENC_BYTES - POINT_BYTES));
    const agreed = agree(importPrivate(privateKey), point);
    const publicKey = publicOf(privateKey);
    const key = await mlKem.importKey('raw-seed', mlKemSeed, ML_KEM, false, ['decapsulateBits']);
    const secret = new Uint8Array(await mlKem.decapsulateBits(ML_KEM, key, ciphertext));
    return combine(secret, agreed, point, publicKey);
  } finally {
    wipe(mlKemSeed, privateKey);
  }
}

/** The registered id of the KEM. */
const X_WING_KEM = 0x647a;

/** SetupBaseS (section 5.1.1) for the holder of `publicKey`. Errors as `encapsulate`. */
export async function setupXWingSender(
  publicKey: Uint8Array,
  info: Uint8Array,
): Promise<{ readonly enc: Uint8Array; readonly context: HpkeContext }> {
  const { enc, shared } = await encapsulate(publicKey);
  return { enc, context: scheduleKeys(shared, info, EXPORT_ONLY, X_WING_KEM) };
}

/** SetupBaseR (section 5.1.1) for the holder of `seed`, which is read before the first wait. Errors as `decapsulate`. */
export async function setupXWingReceiver(
  enc: Uint8Array,
  seed: Uint8Array,
  info: Uint8Array,
  aead: HpkeAead = EXPORT_ONLY,
): Promise<HpkeContext> {
  return scheduleKeys(await decapsulate(seed, enc), info, aead, X_WING_KEM);
}

/** Context.Export (section 5.3), as `exportSecret`. */
export function exportXWing(
  exporterSecret: Uint8Array,
  label: Uint8Array,
  length: number,
  aead: HpkeAead = EXPORT_ONLY,
): Uint8Array {
  return exportSecret(exporterSecret, label, length, aead, X_WING_KEM);
}
