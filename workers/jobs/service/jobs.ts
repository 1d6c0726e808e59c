import type { JsonLimits } from '../../../server/domain/json/json.ts';
import { bytes, concealed, json, jsonText, list, local, message, nothing, secret, text } from '../codec.ts';
import { defineJob } from '../define.ts';

/** The place that a service record is bound to: it opens nowhere else. */
export interface RecordPlace {
  readonly purpose: 'record' | 'idem' | 'job';
  readonly account: string;
  readonly kind: string;
  readonly path: readonly string[];
}

/** Jobs of the service itself, without a vault key: its root, small records, index keys, fingerprints, passwords. */
export const SERVICE_JOBS = {
  /** Makes a new random root, sealed. */
  createRoot: defineJob({ lane: 'hot', input: message({}), output: bytes }),
  /** Opens a sealed root; `integrity_failed` if the master key does not fit. */
  checkRoot: defineJob({ lane: 'hot', input: message({ root: bytes }), output: nothing }),
  /** Returns the 32-byte keys that authenticate cursors: the first signs. */
  cursorKeys: defineJob({ lane: 'hot', input: message({}), output: list(bytes) }),
  /** Parses a JSON body within limits. Errors: `invalid_json`, `json_too_deep`, `invalid_request`. */
  parseBody: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), limits: json<JsonLimits>(), body: bytes }),
    output: jsonText<unknown>(),
  }),
  /** Returns the HMAC-SHA-256 of data under a key of the account. */
  fingerprint: defineJob({
    lane: 'hot',
    input: message({ account: text, data: bytes }),
    output: bytes,
  }),
  /**
   * Returns the prefixes of a reference in the reference index, to be read in this order: entries move from one to the next.
   * `exact` adds the end mark.
   */
  encodeReference: defineJob({
    lane: 'hot',
    input: message({ aid: text, reference: text, exact: json<boolean>() }),
    output: list(bytes),
  }),
  /** Returns the digests of a name and its text in the metadata index, under the older root before the newer one. */
  metadataDigest: defineJob({
    lane: 'hot',
    input: message({ aid: text, name: text, value: text }),
    output: list(bytes),
  }),
  /** Returns the digests of last four digits in the metadata index, in the same order. */
  lastFourDigest: defineJob({
    lane: 'hot',
    input: message({ aid: text, lastFour: text }),
    output: list(bytes),
  }),
  /** Seals a record for its place. */
  sealRecord: defineJob({
    lane: 'hot',
    input: message({ place: json<RecordPlace>(), plaintext: bytes }),
    output: bytes,
  }),
  /** Opens a record; `integrity_failed` if it was damaged or is in another place. */
  openRecord: defineJob({
    lane: 'hot',
    input: message({ place: json<RecordPlace>(), record: bytes }),
    output: bytes,
  }),
  /** Makes the verifier of a password with the vault's pepper: Argon2id as a PHC text, a keyed hash of a generated one. */
  hashPassword: defineJob({
    lane: ({ isGenerated }) => (isGenerated ? 'hot' : 'cold'),
    input: message({ password: secret, isGenerated: json<boolean>() }),
    output: text,
  }),
  /**
   * Verifies a password against a PHC text. Checks with the same `share` wait for each other; callers that have not succeeded
   * lately are in the guess lane.
   */
  verifyPassword: defineJob({
    lane: ({ hasSucceeded }) => (hasSucceeded ? 'cold' : 'guess'),
    share: ({ share }) => share,
    input: message({ password: secret, phc: text, share: local<string>(), hasSucceeded: local<boolean>() }),
    output: json<boolean>(),
  }),
  /** Verifies a generated password against its hash; an empty hash matches no password, and costs as much. */
  verifyGenerated: defineJob({
    lane: 'hot',
    input: message({ password: secret, hash: text }),
    output: json<boolean>(),
  }),
  /** Makes a random passphrase of `length` characters. */
  makePassphrase: defineJob({
    lane: 'hot',
    input: message({ length: json<number>() }),
    output: concealed(text),
  }),
};
