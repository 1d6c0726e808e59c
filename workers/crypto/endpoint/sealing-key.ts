/**
 * Sealing keys: P-256 pairs of a day each, to which browsers seal the bodies that they send to capture endpoints; and replies of
 * retrieval endpoints that are sealed to a pair of the reader.
 *
 * Record: a service record (kind `sealing key`, path `[day]`) of `version 1 | private key 32 | public key 65`.
 *
 * Sealed body, sealed reply: HPKE Base, with the info and the associated data below.
 */
import { concat, IntegrityError, utf8, wipe } from '../primitives/bytes.ts';
import type { KeyPair } from '../primitives/hpke.ts';
import {
  generateP256Pair,
  openP256,
  P256_POINT_BYTES,
  P256_SCALAR_BYTES,
  sealP256,
} from '../primitives/hpke-p256.ts';
import { sha256 } from '../primitives/symmetric.ts';
import type { ServiceSealer } from '../record/service-record.ts';

/** The names that a sealed body is bound to: as in the request, not as the endpoint completes it. */
export interface SealedFor {
  readonly id: string;
  readonly reference?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** An open key. Disposing of it wipes the private half. */
interface SealingPair extends KeyPair, Disposable {
  /** The day and the first 8 bytes of SHA-256 of the public key in hex: a lost key is replaced under another name. */
  readonly kid: string;
}

const VERSION = 0x01;
const PUBLIC_AT = 1 + P256_SCALAR_BYTES;
const RECORD_BYTES = PUBLIC_AT + P256_POINT_BYTES;
const KID_BYTES = 8;
const INFO = utf8('cardvault sealed capture');

function placeOf(day: string): readonly ['record', string, string, readonly string[]] {
  return ['record', '', 'sealing key', [day]];
}

/** The record of a new random key for a day. */
export function newSealingKey(sealer: ServiceSealer, day: string): Uint8Array {
  const { privateKey, publicKey } = generateP256Pair();
  const plain = concat([Uint8Array.of(VERSION), privateKey, publicKey]);
  try {
    return sealer.seal(...placeOf(day), plain);
  } finally {
    wipe(plain, privateKey);
  }
}

/** Opens the record of a day. Damage and any other day: `IntegrityError`. */
export function openSealingKey(sealer: ServiceSealer, day: string, record: Uint8Array): SealingPair {
  const plain = sealer.open(...placeOf(day), record);
  if (plain[0] !== VERSION || plain.length !== RECORD_BYTES) {
    wipe(plain);
    throw new IntegrityError('sealing key');
  }
  const publicKey = plain.subarray(PUBLIC_AT);
  return {
    kid: `${day}-${sha256(publicKey).subarray(0, KID_BYTES).toHex()}`,
    privateKey: plain.subarray(1, PUBLIC_AT),
    publicKey,
    [Symbol.dispose]: () => wipe(plain),
  };
}

/** The AAD: a missing member is `null`, so that no two requests are alike. */
function bindTo({ id, reference, idempotencyKey }: SealedFor): Uint8Array {
  return utf8(JSON.stringify([id, reference ?? null, idempotencyKey ?? null]));
}

/** Opens a sealed body. A body that was sealed for another request, or is damaged: `IntegrityError`. */
export function openSealedBody(
  pair: KeyPair,
  sealed: { readonly enc: Uint8Array; readonly ciphertext: Uint8Array },
  sealedFor: SealedFor,
): Uint8Array {
  return openP256(sealed, pair, INFO, bindTo(sealedFor));
}

/** What a sealed reply is bound to: as in the query of the request. */
export interface RepliedTo {
  readonly id: string;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
}

const REPLY_INFO = utf8('cardvault sealed reply');
/** Replies are filled up with spaces, so that their length tells little. */
const REPLY_BLOCK_BYTES = 256;
const SPACE = 0x20;

/** Seals the body of a reply to the reader's public key. A point that is none: `IntegrityError`. */
export function sealReplyBody(to: Uint8Array, { id, token, reference }: RepliedTo, body: Uint8Array) {
  const filled = new Uint8Array(Math.ceil(Math.max(1, body.length) / REPLY_BLOCK_BYTES) * REPLY_BLOCK_BYTES);
  filled.set(body);
  filled.fill(SPACE, body.length);
  try {
    return sealP256(to, REPLY_INFO, utf8(JSON.stringify([id, token ?? null, reference ?? null])), filled);
  } finally {
    wipe(filled);
  }
}
