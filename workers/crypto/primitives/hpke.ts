/**
 * HPKE (RFC 9180), Base mode with DHKEM(X25519, HKDF-SHA256) and HKDF-SHA256: what both sides agree on,
 * from which any number of keys can be exported. The vault uses the export-only suite.
 */
import type { KeyObject } from 'node:crypto';
import { concat, EMPTY, utf8, wipe } from './bytes.ts';
import { hmac } from './hash.ts';
import { agree, generateKeyPair, importPrivate, type KeyPair } from './x25519.ts';

/** An AEAD of the suite: its registered id and the lengths of its key and nonce. */
export interface HpkeAead {
  readonly id: number;
  readonly keyBytes: number;
  readonly nonceBytes: number;
}

export const EXPORT_ONLY: HpkeAead = { id: 0xffff, keyBytes: 0, nonceBytes: 0 };
export const AES_256_GCM: HpkeAead = { id: 0x0002, keyBytes: 32, nonceBytes: 12 };

/** What both sides hold after set-up. `key` and `baseNonce` are empty in the export-only suite. */
export interface HpkeContext {
  readonly exporterSecret: Uint8Array;
  readonly key: Uint8Array;
  readonly baseNonce: Uint8Array;
}

const HASH_BYTES = 32;
const BASE_MODE = Uint8Array.of(0);
const VERSION = utf8('HPKE-v1');
const KEM_SUITE = concat([utf8('KEM'), Uint8Array.of(0x00, 0x20)]);

function suiteOf(aead: HpkeAead): Uint8Array {
  return concat([utf8('HPKE'), Uint8Array.of(0x00, 0x20, 0x00, 0x01, aead.id >> 8, aead.id & 0xff)]);
}

const EXPORT_ONLY_SUITE = suiteOf(EXPORT_ONLY);

function extract(suite: Uint8Array, salt: Uint8Array, label: string, ikm: Uint8Array): Uint8Array {
  return hmac(salt, concat([VERSION, suite, utf8(label), ikm]));
}

/** HKDF-Expand with the RFC's label; up to 255 blocks. */
function expand(
  suite: Uint8Array,
  prk: Uint8Array,
  label: string,
  info: Uint8Array,
  length: number,
): Uint8Array {
  const blocks = Math.ceil(length / HASH_BYTES);
  if (blocks > 255) {
    throw new RangeError('HKDF gives at most 255 blocks');
  }
  const labeled = concat([Uint8Array.of(length >> 8, length & 0xff), VERSION, suite, utf8(label), info]);
  const out = new Uint8Array(length);
  let previous: Uint8Array = EMPTY;
  for (let block = 1; block <= blocks; block++) {
    previous = hmac(prk, concat([previous, labeled, Uint8Array.of(block)]));
    const at = (block - 1) * HASH_BYTES;
    out.set(previous.subarray(0, length - at), at);
  }
  return out;
}

function sharedSecret(agreed: Uint8Array, enc: Uint8Array, publicKey: Uint8Array): Uint8Array {
  const prk = extract(KEM_SUITE, EMPTY, 'eae_prk', agreed);
  try {
    return expand(KEM_SUITE, prk, 'shared_secret', concat([enc, publicKey]), HASH_BYTES);
  } finally {
    wipe(agreed, prk);
  }
}

function schedule(shared: Uint8Array, info: Uint8Array, aead: HpkeAead): HpkeContext {
  const suite = aead === EXPORT_ONLY ? EXPORT_ONLY_SUITE : suiteOf(aead);
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
 * SetupBaseS: a context for the holder of `publicKey`, and the `enc` that lets it be found again. The
 * ephemeral private key is wiped. Refuses a bad point with `IntegrityError`.
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
    return { enc, context: schedule(sharedSecret(agreed, enc, publicKey), info, aead) };
  } finally {
    wipe(ephemeral.privateKey);
  }
}

/** SetupBaseR: the context that the sender of `enc` made. Refuses a bad point with `IntegrityError`. */
export function setupReceiver(
  enc: Uint8Array,
  privateKey: KeyObject,
  publicKey: Uint8Array,
  info: Uint8Array,
  aead: HpkeAead = EXPORT_ONLY,
): HpkeContext {
  return schedule(sharedSecret(agree(privateKey, enc), enc, publicKey), info, aead);
}

/** Context.Export: `length` bytes that only the two sides can compute, different for each `label`. */
export function exportSecret(
  exporterSecret: Uint8Array,
  label: Uint8Array,
  length: number,
  aead: HpkeAead = EXPORT_ONLY,
): Uint8Array {
  return expand(
    aead === EXPORT_ONLY ? EXPORT_ONLY_SUITE : suiteOf(aead),
    exporterSecret,
    'sec',
    label,
    length,
  );
}
