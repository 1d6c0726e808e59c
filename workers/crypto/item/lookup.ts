/**
 * Keyed encodings for looking up items, which reveal nothing without their keys: tokens and identity tags under the token
 * key, which only the vault key's holders have, and the reference index under a key of the root.
 *
 * The reference index keeps prefixes, so that a sorted set finds references by their beginning without the store being
 * able to read them. Each byte of the reference becomes two bytes that depend on it and on all bytes before it
 * (truncated CBC; `docs/decisions/reference-index.md`).
 */
import { type Cipheriv, createCipheriv } from 'node:crypto';
import { aad } from '../primitives/aad.ts';
import { concat, EMPTY, u16, utf8 } from '../primitives/bytes.ts';
import { hmac } from '../primitives/symmetric.ts';

/** Length of an identity tag: 128 bits are collision-free for all numbers of a vault key. */
export const IDENTITY_BYTES = 16;

const BLOCK_BYTES = 16;
const KEPT_BYTES = 2;
const ZERO_IV = new Uint8Array(BLOCK_BYTES);
/** Marks the end: its second byte sets it apart from the block of every byte value. */
const END_BLOCK_SECOND_BYTE = 1;

/**
 * The 32 bytes that a deterministic token is made of. `candidate` counts from 0 and selects another digest for the same
 * number, after a clash. No reference and an empty one are different.
 */
export function tokenDigest(
  tokenKey: Uint8Array,
  number: string,
  reference: string | undefined,
  candidate: number,
): Uint8Array {
  return hmac(tokenKey, aad('cardvault token', [candidate, ...identified(number, reference)]));
}

/** The 16 bytes that identify the number and the reference of a short token. */
export function identityTag(tokenKey: Uint8Array, number: string, reference: string | undefined): Uint8Array {
  return hmac(tokenKey, aad('cardvault identity', identified(number, reference))).slice(0, IDENTITY_BYTES);
}

function identified(number: string, reference: string | undefined): readonly string[] {
  return reference === undefined ? [number] : [number, reference];
}

/** Length of a digest of the metadata index; readers compare the metadata itself. */
const METADATA_DIGEST_BYTES = 8;

/** The digest of a name and its text in the metadata index, under a 32-byte key. */
export function metadataDigest(subkey: Uint8Array, name: string, text: string): Uint8Array {
  return hmac(subkey, aad('cardvault metadata', [name, text])).slice(0, METADATA_DIGEST_BYTES);
}

/** The digest of the last four digits of a card in the metadata index: no name of metadata leads to it. */
export function lastFourDigest(subkey: Uint8Array, lastFour: string): Uint8Array {
  return hmac(subkey, aad('cardvault last four', [lastFour])).slice(0, METADATA_DIGEST_BYTES);
}

/** The members of the metadata index that a token has for its digests: each digest, the token, its length in two bytes. */
export function metadataMembers(digests: Uint8Array, token: string): Uint8Array[] {
  const end = utf8(token);
  const length = u16(end.length);
  return Array.from({ length: digests.length / METADATA_DIGEST_BYTES }, (_, i) => {
    const at = i * METADATA_DIGEST_BYTES;
    return concat([digests.subarray(at, at + METADATA_DIGEST_BYTES), end, length]);
  });
}

/** Length of a fingerprint: 128 bits. */
const FINGERPRINT_BYTES = 16;

/** Equal for equal numbers under one vault key; reveals nothing without its token key. */
export function fingerprintOf(tokenKey: Uint8Array, number: string): Uint8Array {
  return hmac(tokenKey, aad('cardvault fingerprint', [number])).slice(0, FINGERPRINT_BYTES);
}

/** The CBC cipher of a key, and the last block that it returned. */
interface Chain {
  readonly cipher: Cipheriv;
  last: Uint8Array;
}

/** A cipher for each reference would take most of its time. */
const chains = new WeakMap<Uint8Array, Chain>();

/** CBC from a zero IV, by a cipher that goes on: its last block, which it adds to the first one, is taken away there. */
function chain(key: Uint8Array, blocks: Uint8Array): Uint8Array {
  let found = chains.get(key);
  if (found === undefined) {
    found = { cipher: createCipheriv('aes-256-cbc', key, ZERO_IV), last: ZERO_IV };
    chains.set(key, found);
  }
  const { cipher, last } = found;
  for (let i = 0; i < BLOCK_BYTES; i++) {
    blocks[i] = (blocks[i] ?? 0) ^ (last[i] ?? 0);
  }
  const chained = cipher.update(blocks);
  found.last = chained.subarray(-BLOCK_BYTES);
  return chained;
}

/**
 * The encoding of a reference under a 32-byte key, two bytes for each of its UTF-8 bytes. It is a prefix, byte by byte,
 * of the encoding of every reference that begins so; about one in 65,536 others has it too, so readers compare the
 * reference itself, in the item's metadata. `isWhole` adds two bytes that mark the end, for exact matches.
 */
export function encodeReference(subkey: Uint8Array, reference: string, isWhole: boolean): Uint8Array {
  const bytes = utf8(reference);
  const count = bytes.length + (isWhole ? 1 : 0);
  if (count === 0) {
    return EMPTY;
  }
  const blocks = new Uint8Array(count * BLOCK_BYTES);
  for (let i = 0; i < bytes.length; i++) {
    blocks[i * BLOCK_BYTES] = bytes[i] ?? 0;
  }
  if (isWhole) {
    blocks[bytes.length * BLOCK_BYTES + 1] = END_BLOCK_SECOND_BYTE;
  }
  const chained = chain(subkey, blocks);
  const out = new Uint8Array(count * KEPT_BYTES);
  for (let i = 0; i < count; i++) {
    out[i * KEPT_BYTES] = chained[i * BLOCK_BYTES] ?? 0;
    out[i * KEPT_BYTES + 1] = chained[i * BLOCK_BYTES + 1] ?? 0;
  }
  return out;
}
