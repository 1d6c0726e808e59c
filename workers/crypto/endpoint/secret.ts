/**
 * Endpoint secrets: their text, the key and the commitment that derive from one, and the check before anything of an
 * endpoint is decrypted.
 */
import { aad } from '../primitives/aad.ts';
import { equalBytes, fromBase64, wipe } from '../primitives/bytes.ts';
import { randomBytes } from '../primitives/random.ts';
import { hkdf, KEY_BYTES, SALT_BYTES } from '../primitives/symmetric.ts';

/** The use of a secret: to store items, or to read them. Neither kind can replace the other. */
export type SecretKind = 'capture' | 'retrieve';

/** Names one endpoint: the place that its records are bound to. */
export interface EndpointId {
  readonly env: string;
  readonly aid: string;
  readonly id: string;
}

/** Names one endpoint and its kind, which its secret is bound to. */
export interface EndpointName extends EndpointId {
  readonly kind: SecretKind;
}

/** The members of a policy record that check a secret. Neither value is of use without the secret. */
export interface SecretCheck {
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
export const ENDPOINT_COMMITMENT_BYTES = 32;

/** 256 random bits: a secret cannot be guessed, so checking one needs no slow hash. */
const SECRET_BYTES = 32;
/** The text of a secret: five characters that name its kind, and 43 of base64url (RFC 4648, section 5). */
const PREFIXES: Readonly<Record<SecretKind, string>> = { capture: 'vcs1_', retrieve: 'vrs1_' };
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
  const derived = hkdf(secret, info, KEY_BYTES + ENDPOINT_COMMITMENT_BYTES);
  return { key: derived.subarray(0, KEY_BYTES), commitment: derived.subarray(KEY_BYTES) };
}

/**
 * A fresh secret, its fresh salt, and the key and the commitment of both, which the caller wipes. The text is the only form
 * of the secret that is left, and it is not stored.
 */
export function newEndpointSecret(
  place: EndpointName,
): SecretCheck & { readonly key: Uint8Array; readonly text: string } {
  const secret = randomBytes(SECRET_BYTES);
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
