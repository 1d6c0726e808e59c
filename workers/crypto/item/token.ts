/** Keyed hashes of a number and its reference, under the token key, which only the vault key's holders have. */
import { aad } from '../primitives/bytes.ts';
import { hmac } from '../primitives/hash.ts';

const IDENTITY_BYTES = 16;

function identified(number: string, reference: string | undefined): string[] {
  return reference === undefined ? [number] : [number, reference];
}

/**
 * The 32 bytes that a deterministic token is made of. `candidate` counts from 0 and gives another digest
 * for the same number, after a clash. No reference and an empty one are different.
 */
export function tokenDigest(
  tokenKey: Uint8Array,
  number: string,
  reference: string | undefined,
  candidate: number,
): Uint8Array {
  return hmac(tokenKey, aad('cardvault token', [candidate, ...identified(number, reference)]));
}

/** The 16 bytes that tell whether a short token already means this number and reference. */
export function identityTag(tokenKey: Uint8Array, number: string, reference: string | undefined): Uint8Array {
  return hmac(tokenKey, aad('cardvault identity', identified(number, reference))).slice(0, IDENTITY_BYTES);
}
