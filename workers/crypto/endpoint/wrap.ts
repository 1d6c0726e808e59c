/**
 * What an endpoint's secret opens: `header 4 | gen 4 | nonce 12 | ciphertext | tag 16`, of one type for each
 * kind. A capture wrap holds the public half of its generation and the token key, a retrieval wrap the public
 * and the private half of every generation up to its own.
 */

import { TOKEN_KEY_BYTES } from '../key/record.ts';
import { newestGeneration, type UnlockedKey } from '../key/unlocked.ts';
import { NONCE_BYTES, openSealed, sealInto, TAG_BYTES } from '../primitives/aead.ts';
import { aad, concat, IntegrityError, readU32, wipe, writeU32 } from '../primitives/bytes.ts';
import { fillRandom } from '../primitives/random.ts';
import { POINT_BYTES } from '../primitives/x25519.ts';
import { checkHeader, HEADER_BYTES, type RecordType, TYPE, writeHeader } from '../record/format.ts';
import type { EndpointId, EndpointKind, EndpointPlace } from './secret.ts';

/** Names a wrap to be opened: its vault key and its generation are those that the policy's JSON tells. */
export interface EndpointWrapId extends EndpointId {
  readonly kid: string;
  readonly gen: number;
}

/** The same with the kind, as both directions need it here. */
export type WrapPlace = EndpointWrapId & EndpointPlace;

/** Public and private half of one generation. */
export const PAIR_BYTES = 2 * POINT_BYTES;

const NONCE_AT = HEADER_BYTES + 4;
const BODY_AT = NONCE_AT + NONCE_BYTES;

const TYPES: Readonly<Record<EndpointKind, RecordType>> = {
  capture: TYPE.captureWrap,
  retrieve: TYPE.retrieveWrap,
};

function plainBytes(kind: EndpointKind, gen: number): number {
  return kind === 'capture' ? POINT_BYTES + TOKEN_KEY_BYTES : gen * PAIR_BYTES;
}

/** The kind is the type byte in `head`, and stands once more in the derivation of the key. */
function bind(ids: EndpointId & { readonly kid: string }, head: Uint8Array, policyHash: Uint8Array) {
  return aad('cardvault endpoint', [head, ids.env, ids.aid, ids.kid, ids.id, policyHash]);
}

function packKey(kind: EndpointKind, key: UnlockedKey): Uint8Array {
  return kind === 'capture'
    ? concat([newestGeneration(key).publicKey, key.tokenKey])
    : concat(key.generations.flatMap(({ publicKey, privateKey }) => [publicKey, privateKey]));
}

/** Wraps an open vault key under a key that is used for nothing else, bound to its place and its policy. */
export function sealWrap(
  place: EndpointPlace & { readonly kid: string },
  wrapKey: Uint8Array,
  policyHash: Uint8Array,
  key: UnlockedKey,
): Uint8Array {
  const secrets = packKey(place.kind, key);
  try {
    const out = new Uint8Array(BODY_AT + secrets.length + TAG_BYTES);
    writeHeader(out, TYPES[place.kind]);
    writeU32(out, HEADER_BYTES, newestGeneration(key).gen);
    fillRandom(out, NONCE_AT, NONCE_BYTES);
    const associated = bind(place, out.subarray(0, NONCE_AT), policyHash);
    sealInto(out, BODY_AT, wrapKey, out.subarray(NONCE_AT, BODY_AT), secrets, associated);
    return out;
  } finally {
    wipe(secrets);
  }
}

/** The plaintext of a wrap, of the length that kind and generation ask for. All else: `IntegrityError`. */
export function openWrap(
  place: WrapPlace,
  wrapKey: Uint8Array,
  policyHash: Uint8Array,
  wrap: Uint8Array,
): Uint8Array {
  const { kind, gen } = place;
  checkHeader(wrap, TYPES[kind], BODY_AT);
  const isWhole = wrap.length === BODY_AT + plainBytes(kind, gen) + TAG_BYTES;
  if (!isWhole || readU32(wrap, HEADER_BYTES) !== gen) {
    throw new IntegrityError('endpoint');
  }
  const associated = bind(place, wrap.subarray(0, NONCE_AT), policyHash);
  return openSealed(wrapKey, wrap.subarray(NONCE_AT, BODY_AT), wrap.subarray(BODY_AT), associated);
}
