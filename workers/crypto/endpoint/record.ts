/**
 * Endpoint secrets, and the two records of an endpoint, each sealed as a service record at the endpoint's id.
 *
 * Policy, the rights of the endpoint: `version 1 | salt 16 | commitment 32 | JSON`. It stays until the sweep.
 *
 * Wrap, which the secret opens: `header 4 | gen 4 | nonce 12 | ciphertext | tag 16`, of one type for each kind. The wrap of a
 * capture or an inbound holds the public half of its generation and the token key, a retrieval wrap the public and the private half of every
 * generation up to its own (`pairsOf`). It is removed when the endpoint is stopped. It is bound to the whole policy, so that
 * the service master key without the secret cannot change the rights of an active endpoint.
 */
import {
  generationOf,
  type PublicGeneration,
  pairBytes,
  pairsOf,
  publicHalfOf,
  suiteOf,
  TOKEN_KEY_BYTES,
  type UnlockedKey,
  unlockedKey,
  unpackPairs,
} from '../key/unlocked.ts';
import { aad } from '../primitives/aad.ts';
import {
  concat,
  EMPTY,
  equalBytes,
  fromBase64,
  HEADER_BYTES,
  headerSuite,
  IntegrityError,
  type RecordType,
  readU32,
  type Suite,
  TYPE,
  wipe,
  writeHeader,
  writeU32,
  X_WING_SUITE,
} from '../primitives/bytes.ts';
import { POINT_BYTES } from '../primitives/hpke.ts';
import { randomBytes } from '../primitives/random.ts';
import {
  hkdf,
  KEY_BYTES,
  NONCE_BYTES,
  openAt,
  SALT_BYTES,
  sealAt,
  sha256,
  TAG_BYTES,
} from '../primitives/symmetric.ts';
import { X_WING_PUBLIC_BYTES } from '../primitives/x-wing.ts';
import type { ServiceSealer } from '../record/service-record.ts';

/** The use of a secret: to store items, to read them, or to store those of requests that are forwarded. No kind can replace another. */
export type SecretKind = 'capture' | 'retrieve' | 'inbound';

/** Names one endpoint: the place that its records are bound to. */
interface EndpointId {
  readonly env: string;
  readonly aid: string;
  readonly id: string;
}

/** Names one endpoint and its kind, which its secret is bound to. */
interface EndpointName extends EndpointId {
  readonly kind: SecretKind;
}

/** The members of a policy record that check a secret. Neither value is of use without the secret. */
interface SecretCheck {
  readonly salt: Uint8Array;
  readonly commitment: Uint8Array;
}

/** The secret given is malformed, or is not this endpoint's. Callers answer `endpoint_refused`. */
export class EndpointSecretError extends Error {
  constructor() {
    super('The secret does not open this endpoint.');
    this.name = 'EndpointSecretError';
  }
}

/** The commitment identifies a secret in the policy: the second half of the derived bytes. */
const COMMITMENT_BYTES = 32;

/** 256 random bits: a secret cannot be guessed, so checking one needs no slow hash. */
const SECRET_BYTES = 32;
/** The text of a secret: five characters that name its right, and 43 of base64url (RFC 4648, section 5). */
const PREFIXES: Readonly<Record<SecretKind, string>> = {
  capture: 'vcs1_',
  retrieve: 'vrs1_',
  inbound: 'vcs1_',
};
const PREFIX_CHARACTERS = 5;
const SECRET_CHARACTERS = PREFIX_CHARACTERS + 43;
/** Replaces a malformed secret, so that rejecting one takes as long as rejecting a wrong one. */
const NO_SECRET = new Uint8Array(SECRET_BYTES);

/** The text of a secret, 48 characters: `vcs1_` or `vrs1_` and the 32 bytes in base64url without padding. */
export function endpointSecretText(kind: SecretKind, secret: Uint8Array): string {
  return PREFIXES[kind] + secret.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/**
 * The 32 bytes of a secret's text; undefined for any text but that of `endpointSecretText`: another prefix, length or
 * alphabet, or unused bits set in the last character.
 */
export function parseEndpointSecret(kind: SecretKind, text: Uint8Array): Uint8Array | undefined {
  if (text.length !== SECRET_CHARACTERS) {
    return undefined;
  }
  const given = Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1');
  const secret = fromBase64(given.slice(PREFIX_CHARACTERS), { alphabet: 'base64url' });
  if (secret && endpointSecretText(kind, secret) === given) {
    return secret;
  }
  wipe(secret);
  return undefined;
}

/**
 * HKDF-SHA-256 of the secret for its place: the key of the wrap and the commitment, 32 bytes each. The caller wipes both.
 */
export function deriveEndpointKey(
  place: EndpointName,
  salt: Uint8Array,
  secret: Uint8Array,
): { readonly key: Uint8Array; readonly commitment: Uint8Array } {
  const info = aad('cardvault endpoint secret', [place.env, place.aid, place.kind, place.id, salt]);
  const derived = hkdf(secret, info, KEY_BYTES + COMMITMENT_BYTES);
  return { key: derived.subarray(0, KEY_BYTES), commitment: derived.subarray(KEY_BYTES) };
}

/**
 * A fresh secret, or the one of this text, its fresh salt, and the key and the commitment of both, which the caller wipes. The
 * text is the only form of the secret that is left, and it is not stored. `EndpointSecretError` for a malformed text.
 */
export function newEndpointSecret(
  place: EndpointName,
  given?: Uint8Array,
): SecretCheck & { readonly key: Uint8Array; readonly text: string } {
  const secret = given === undefined ? randomBytes(SECRET_BYTES) : parseEndpointSecret(place.kind, given);
  if (secret === undefined) {
    throw new EndpointSecretError();
  }
  try {
    const salt = randomBytes(SALT_BYTES);
    return { salt, text: endpointSecretText(place.kind, secret), ...deriveEndpointKey(place, salt, secret) };
  } finally {
    wipe(secret);
  }
}

/**
 * The wrap's key for the right secret, undefined for any other, after the same work: one HKDF and one comparison in constant
 * time, so that timing reveals nothing about a guess.
 */
function matchSecret(
  place: EndpointName,
  check: SecretCheck,
  secretText: Uint8Array,
): Uint8Array | undefined {
  const secret = parseEndpointSecret(place.kind, secretText);
  const { key, commitment } = deriveEndpointKey(place, check.salt, secret ?? NO_SECRET);
  try {
    const isSame = equalBytes(commitment, check.commitment);
    return isSame && secret ? new Uint8Array(key) : undefined;
  } finally {
    wipe(secret, key, commitment);
  }
}

/**
 * Checks a secret with the policy of its endpoint alone: for one that is stopped or expired, whose wrap is gone. The
 * commitment is compared in constant time, and a malformed secret costs as much as a wrong one.
 */
export function checkEndpointSecret(
  place: EndpointName,
  check: SecretCheck,
  secretText: Uint8Array,
): boolean {
  const key = matchSecret(place, check, secretText);
  wipe(key);
  return key !== undefined;
}

/** The key of an endpoint's wrap, which the caller wipes; `EndpointSecretError` as `checkEndpointSecret`. */
export function endpointKeyOf(place: EndpointName, check: SecretCheck, secretText: Uint8Array): Uint8Array {
  const key = matchSecret(place, check, secretText);
  if (!key) {
    throw new EndpointSecretError();
  }
  return key;
}

/** Names a wrap to be opened: its vault key and its generation are those in the policy's JSON. */
export interface EndpointWrapId extends EndpointId {
  readonly kid: string;
  readonly gen: number;
}

/** A new endpoint, as it is stored, and its secret, which is not. */
export interface SealedEndpoint {
  /** Returned to the caller once. */
  readonly secret: string;
  readonly policyRecord: Uint8Array;
  readonly wrapRecord: Uint8Array;
  /** The generation that the endpoint works with. */
  readonly gen: number;
  readonly digest: string;
}

/** An endpoint's policy, which the service can open alone. */
export interface OpenedPolicy extends SecretCheck {
  readonly json: Uint8Array;
  /** SHA-256 of the whole plaintext, which the wrap is bound to. */
  readonly hash: Uint8Array;
}

/** The key of a capture endpoint or an inbound: it stores items, and cannot read them. Disposing of it wipes it. */
export interface CaptureKey extends PublicGeneration, Disposable {
  /** Makes deterministic tokens. */
  readonly tokenKey: Uint8Array;
}

const POLICY_VERSION = 0x01;
const SALT_AT = 1;
const COMMITMENT_AT = SALT_AT + SALT_BYTES;
/** Of the hash, which has a random salt in it: no two creations have the same. */
const POLICY_DIGEST_BYTES = 16;
const JSON_AT = COMMITMENT_AT + COMMITMENT_BYTES;

/** Offset of the sealed part of a wrap. */
const NONCE_AT = HEADER_BYTES + 4;
const TYPES: Readonly<Record<SecretKind, RecordType>> = {
  capture: TYPE.captureWrap,
  retrieve: TYPE.retrieveWrap,
  inbound: TYPE.inboundWrap,
};

/** AAD of a wrap. The kind is the type byte in `head`, and enters the derivation of the key too. */
function bindWrap(
  { env, aid, kid, id }: EndpointId & { readonly kid: string },
  head: Uint8Array,
  policyHash: Uint8Array,
): Uint8Array {
  return aad('cardvault endpoint', [head, env, aid, kid, id, policyHash]);
}

/** Wraps an open vault key under a key for this wrap alone, bound to its place and its policy. The plaintext is wiped. */
function sealWrap(
  place: EndpointName & { readonly kid: string },
  wrapKey: Uint8Array,
  policyHash: Uint8Array,
  key: UnlockedKey,
): Uint8Array {
  const newest = generationOf(key);
  const isCapture = place.kind !== 'retrieve';
  const secrets = concat(isCapture ? [publicHalfOf(newest), key.tokenKey] : pairsOf(key));
  try {
    const out = new Uint8Array(NONCE_AT + NONCE_BYTES + secrets.length + TAG_BYTES);
    writeHeader(out, TYPES[place.kind], 0, isCapture ? newest.suite : suiteOf(key));
    writeU32(out, HEADER_BYTES, newest.gen);
    sealAt(out, NONCE_AT, wrapKey, secrets, bindWrap(place, out.subarray(0, NONCE_AT), policyHash));
    return out;
  } finally {
    wipe(secrets);
  }
}

/** The first 16 bytes of a policy's hash in hex: identifies one creation, and stays when the record is re-encrypted. */
export function policyDigest(hash: Uint8Array): string {
  return hash.subarray(0, POLICY_DIGEST_BYTES).toHex();
}

/**
 * Makes an endpoint of an open vault key, for its newest generation, with a fresh secret, or with the one of this text. `json` is
 * the policy, whose bytes are bound unread. Rejects, with RangeError, another vault key, and one that was itself opened through an endpoint.
 */
export function sealEndpoint(
  sealer: ServiceSealer,
  place: EndpointName & { readonly kid: string },
  json: Uint8Array,
  key: UnlockedKey,
  secretText?: Uint8Array,
): SealedEndpoint {
  if (key.kid !== place.kid || key.tokenKey.length !== TOKEN_KEY_BYTES) {
    throw new RangeError('another vault key, or not the whole of it');
  }
  const { aid, id } = place;
  const { salt, commitment, key: wrapKey, text } = newEndpointSecret(place, secretText);
  try {
    const policy = concat([Uint8Array.of(POLICY_VERSION), salt, commitment, json]);
    const hash = sha256(policy);
    const wrap = sealWrap(place, wrapKey, hash, key);
    return {
      secret: text,
      policyRecord: sealer.seal('record', aid, 'endpoint', [id], policy),
      wrapRecord: sealer.seal('record', aid, 'endpoint wrap', [id], wrap),
      gen: generationOf(key).gen,
      digest: policyDigest(hash),
    };
  } finally {
    wipe(wrapKey, commitment);
  }
}

/**
 * Opens an endpoint's policy, which needs no secret. Damage and any other place: `IntegrityError`. Only a holder of the
 * service master key can have edited it; against one, only the wrap proves it.
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

function secretBytes(kind: SecretKind, gen: number, suite: Suite): number {
  if (kind === 'retrieve') {
    return gen * pairBytes(suite);
  }
  return (suite === X_WING_SUITE ? X_WING_PUBLIC_BYTES : POINT_BYTES) + TOKEN_KEY_BYTES;
}

/**
 * The plaintext of a wrap, of the length for kind, generation and suite. The secret is checked first: a caller without it
 * learns nothing of the wrap, not even that it is damaged.
 */
function openWrap(
  sealer: ServiceSealer,
  place: EndpointWrapId & EndpointName,
  policy: OpenedPolicy,
  record: Uint8Array,
  secretText: Uint8Array,
): { readonly secrets: Uint8Array; readonly suite: Suite } {
  const { kind, gen } = place;
  const wrapKey = endpointKeyOf(place, policy, secretText);
  try {
    const wrap = sealer.open('record', place.aid, 'endpoint wrap', [place.id], record);
    const suite = headerSuite(wrap, TYPES[kind], NONCE_AT + NONCE_BYTES);
    const isWhole = wrap.length === NONCE_AT + NONCE_BYTES + secretBytes(kind, gen, suite) + TAG_BYTES;
    if (!isWhole || readU32(wrap, HEADER_BYTES) !== gen) {
      throw new IntegrityError('endpoint');
    }
    const bound = bindWrap(place, wrap.subarray(0, NONCE_AT), policy.hash);
    return { suite, secrets: openAt(wrap, NONCE_AT, wrapKey, bound) };
  } finally {
    wipe(wrapKey);
  }
}

/**
 * Opens a capture endpoint, or an inbound, whose key is the same. A wrong or malformed secret: `EndpointSecretError`; a record that
 * is damaged, edited or moved, or another generation than in the policy: `IntegrityError`.
 */
export function openCaptureWrap(
  sealer: ServiceSealer,
  ids: EndpointWrapId,
  policy: OpenedPolicy,
  record: Uint8Array,
  secretText: Uint8Array,
  kind: 'capture' | 'inbound' = 'capture',
): CaptureKey {
  const { secrets } = openWrap(sealer, { ...ids, kind }, policy, record, secretText);
  const tokenKeyAt = secrets.length - TOKEN_KEY_BYTES;
  return {
    gen: ids.gen,
    publicHalf: secrets.subarray(0, tokenKeyAt),
    tokenKey: secrets.subarray(tokenKeyAt),
    [Symbol.dispose]: () => wipe(secrets),
  };
}

/**
 * Opens a retrieval endpoint: a vault key that reads items of every generation up to the endpoint's own. Its token key is
 * empty, since a retrieval makes no tokens. The seal alone, without an X25519, proves that both halves of a generation
 * belong together. Errors as `openCaptureWrap`; the caller disposes of it.
 */
export function openRetrieveWrap(
  sealer: ServiceSealer,
  ids: EndpointWrapId,
  policy: OpenedPolicy,
  record: Uint8Array,
  secretText: Uint8Array,
): UnlockedKey {
  const { secrets, suite } = openWrap(sealer, { ...ids, kind: 'retrieve' }, policy, record, secretText);
  return unlockedKey(ids.kid, EMPTY, unpackPairs(secrets, 0, ids.gen, suite));
}
