/**
 * Endpoint secrets: their text, the key and the commitment that derive from one, and the check that comes
 * before anything of an endpoint is decrypted.
 */
import { aad } from '../primitives/aad.ts';
import { equalBytes, wipe } from '../primitives/bytes.ts';
import { randomBytes } from '../primitives/random.ts';
import { hkdf, KEY_BYTES, SALT_BYTES } from '../primitives/symmetric.ts';

/** What a secret is good for: to store items, or to read them. Neither kind can stand in for the other. */
export type SecretKind = 'capture' | 'retrieve';

/** Names one endpoint: the place that its records are bound to. */
export interface EndpointId {
  readonly env: string;
  readonly aid: string;
  readonly id: string;
}

/** Names one endpoint and its kind: what its secret is bound to. */
export interface EndpointName extends EndpointId {
  readonly kind: SecretKind;
}

/** What a policy record holds to check a secret with. Neither value is of use without the secret. */
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

/** What names a secret in the policy: the second half of what is derived from it. */
export const ENDPOINT_COMMITMENT_BYTES = 32;

/** 256 random bits: a secret cannot be guessed, so checking one needs no slow hash. */
const SECRET_BYTES = 32;
/** The text of a secret: five characters that name its kind, and 43 of base64url (RFC 4648, section 5). */
const PREFIXES: Readonly<Record<SecretKind, string>> = { capture: 'vcs1_', retrieve: 'vrs1_' };
const PREFIX_CHARACTERS = 5;
const SECRET_CHARACTERS = PREFIX_CHARACTERS + 43;
/** Stands in for a malformed secret, so that rejecting one takes as long as rejecting a wrong one. */
const NO_SECRET = new Uint8Array(SECRET_BYTES);

/** The text of a secret, 48 characters: `vcs1_` or `vrs1_` and the 32 bytes in base64url without padding. */
export function endpointSecretText(kind: SecretKind, secret: Uint8Array): string {
  return PREFIXES[kind] + secret.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** Undefined for other characters; the caller compares the text with what the bytes give. */
function decodeBase64Url(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  } catch {
    return undefined;
  }
}

/**
 * The 32 bytes of a secret's text; undefined when it is not the one text that `endpointSecretText` gives for
 * them: another prefix, length or alphabet, or bits set in the last character that carry nothing.
 */
export function parseEndpointSecret(kind: SecretKind, text: Uint8Array): Uint8Array | undefined {
  if (text.length !== SECRET_CHARACTERS) {
    return undefined;
  }
  const given = Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1');
  const secret = decodeBase64Url(given.slice(PREFIX_CHARACTERS));
  if (secret && endpointSecretText(kind, secret) === given) {
    return secret;
  }
  wipe(secret);
  return undefined;
}

/**
 * HKDF-SHA-256 of the secret for its place: the key of the wrap and the commitment, 32 bytes each. The
 * caller wipes both.
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
 * A fresh secret, its fresh salt, and what derives from the two. The caller wipes `key` and `commitment`; the text is the
 * only form of the secret that is left, and it is not stored.
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
 * The wrap's key when the secret is right, and undefined otherwise, after the same work: one HKDF and one comparison in
 * constant time, so that timing reveals nothing about a guess.
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
 * Whether a secret is this endpoint's, by its policy alone: for one that is stopped or expired, whose wrap
 * is gone. The commitment is compared in constant time, and a malformed secret costs what a wrong one does.
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
