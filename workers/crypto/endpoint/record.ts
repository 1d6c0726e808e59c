/**
 * The two records of an endpoint, each sealed as a service record at the endpoint's id.
 *
 * Policy, what the endpoint may do: `version 1 | salt 16 | commitment 32 | JSON`. It stays until the sweep.
 * Wrap, what the secret opens: see `endpoint-wrap.ts`. It goes when the endpoint is stopped. It is bound to
 * the whole policy, so that somebody who has the service master key, but not the secret, can change nothing
 * of what a living endpoint may do.
 */

import { TOKEN_KEY_BYTES } from '../key/record.ts';
import {
  type Generation,
  newestGeneration,
  type PublicGeneration,
  type UnlockedKey,
} from '../key/unlocked.ts';
import { SALT_BYTES } from '../primitives/aead.ts';
import { concat, EMPTY, IntegrityError, wipe } from '../primitives/bytes.ts';
import { sha256 } from '../primitives/hash.ts';
import { randomBytes } from '../primitives/random.ts';
import { generateKeyPair, POINT_BYTES } from '../primitives/x25519.ts';
import type { ServiceSealer } from '../record/service-record.ts';
import {
  ENDPOINT_COMMITMENT_BYTES,
  type EndpointId,
  type EndpointPlace,
  endpointKeyOf,
  newEndpointSecret,
  type SecretCheck,
} from './secret.ts';
import { type EndpointWrapId, openWrap, PAIR_BYTES, sealWrap, type WrapPlace } from './wrap.ts';

export {
  checkEndpointSecret,
  type EndpointId,
  type EndpointKind,
  type EndpointPlace,
  EndpointSecretError,
} from './secret.ts';
export type { EndpointWrapId } from './wrap.ts';

/** A new endpoint, as it is stored, and its secret, which is not. */
export interface SealedEndpoint {
  /** Handed to the caller once. */
  readonly secret: string;
  readonly policyRecord: Uint8Array;
  readonly wrapRecord: Uint8Array;
  /** The generation that the endpoint works with. */
  readonly gen: number;
}

/** An endpoint's policy, opened by the service alone. */
export interface OpenedPolicy extends SecretCheck {
  readonly json: Uint8Array;
  /** SHA-256 of the whole plaintext, which the wrap is bound to. */
  readonly hash: Uint8Array;
}

/** What a capture endpoint works with: enough to store an item, and nothing to read one. */
export interface CaptureKey extends PublicGeneration {
  /** Makes deterministic tokens; the caller wipes it. */
  readonly tokenKey: Uint8Array;
}

const POLICY_VERSION = 0x01;
const SALT_AT = 1;
const COMMITMENT_AT = SALT_AT + SALT_BYTES;
const JSON_AT = COMMITMENT_AT + ENDPOINT_COMMITMENT_BYTES;

/**
 * Makes an endpoint of an open vault key, for its newest generation, with a fresh secret. `json` is the
 * policy. Refuses, with RangeError, another vault key, and one that was itself opened through an endpoint.
 */
export function sealEndpoint(
  sealer: ServiceSealer,
  place: EndpointPlace & { readonly kid: string },
  json: Uint8Array,
  key: UnlockedKey,
): SealedEndpoint {
  if (key.kid !== place.kid || key.tokenKey.length !== TOKEN_KEY_BYTES) {
    throw new RangeError('another vault key, or not the whole of it');
  }
  const { aid, id } = place;
  const { salt, commitment, key: wrapKey, text } = newEndpointSecret(place);
  try {
    const policy = concat([Uint8Array.of(POLICY_VERSION), salt, commitment, json]);
    const wrap = sealWrap(place, wrapKey, sha256(policy), key);
    return {
      secret: text,
      policyRecord: sealer.seal('record', aid, 'endpoint', [id], policy),
      wrapRecord: sealer.seal('record', aid, 'endpoint wrap', [id], wrap),
      gen: newestGeneration(key).gen,
    };
  } finally {
    wipe(wrapKey, commitment);
  }
}

/**
 * Opens an endpoint's policy, which needs no secret. Damage and any other place: `IntegrityError`. Nobody
 * without the service master key can have edited it; against one who has it, only the wrap proves it.
 */
export function openPolicy(sealer: ServiceSealer, place: EndpointId, record: Uint8Array): OpenedPolicy {
  const plain = sealer.open('record', place.aid, 'endpoint', [place.id], record);
  if (plain[0] !== POLICY_VERSION || plain.length < JSON_AT) {
    throw new IntegrityError('endpoint');
  }
  return {
    salt: plain.subarray(SALT_AT, COMMITMENT_AT),
    commitment: plain.subarray(COMMITMENT_AT, JSON_AT),
    json: plain.subarray(JSON_AT),
    hash: sha256(plain),
  };
}

/** The secret is checked first: whoever has it not learns nothing of the wrap, not even that it is damaged. */
function openWith(
  sealer: ServiceSealer,
  place: WrapPlace,
  policy: OpenedPolicy,
  record: Uint8Array,
  secretText: Uint8Array,
): Uint8Array {
  const wrapKey = endpointKeyOf(place, policy, secretText);
  try {
    const wrap = sealer.open('record', place.aid, 'endpoint wrap', [place.id], record);
    return openWrap(place, wrapKey, policy.hash, wrap);
  } finally {
    wipe(wrapKey);
  }
}

/**
 * Opens a capture endpoint. A wrong or malformed secret: `EndpointSecretError`; a record that is damaged,
 * edited or moved, or another generation than the policy tells: `IntegrityError`.
 */
export function openCaptureWrap(
  sealer: ServiceSealer,
  ids: EndpointWrapId,
  policy: OpenedPolicy,
  record: Uint8Array,
  secretText: Uint8Array,
): CaptureKey {
  const secrets = openWith(sealer, { ...ids, kind: 'capture' }, policy, record, secretText);
  return {
    gen: ids.gen,
    publicKey: secrets.subarray(0, POINT_BYTES),
    tokenKey: secrets.subarray(POINT_BYTES),
  };
}

/**
 * Opens a retrieval endpoint: a vault key that reads items of every generation up to the endpoint's own. Its
 * token key is empty, for a retrieval makes no tokens. That both halves of a generation belong together is
 * proven by the seal alone, without an X25519. Errors as `openCaptureWrap`; the caller calls `wipeKey`.
 */
export function openRetrieveWrap(
  sealer: ServiceSealer,
  ids: EndpointWrapId,
  policy: OpenedPolicy,
  record: Uint8Array,
  secretText: Uint8Array,
): UnlockedKey {
  const secrets = openWith(sealer, { ...ids, kind: 'retrieve' }, policy, record, secretText);
  const generations = Array.from({ length: ids.gen }, (_, i): Generation => {
    const privateAt = i * PAIR_BYTES + POINT_BYTES;
    return {
      gen: i + 1,
      publicKey: secrets.subarray(i * PAIR_BYTES, privateAt),
      privateKey: secrets.subarray(privateAt, privateAt + POINT_BYTES),
    };
  });
  return { kid: ids.kid, tokenKey: EMPTY, generations };
}

/** A random vault key that nothing is stored under: for an endpoint that stands in for an unknown one. */
export function throwawayKey(kid: string): UnlockedKey {
  return {
    kid,
    tokenKey: randomBytes(TOKEN_KEY_BYTES),
    generations: [{ gen: 1, ...generateKeyPair() }],
  };
}
