/** What the service seals and derives for itself: its root, small records, index keys, fingerprints, passwords. */
import type { JsonLimits } from '../../../server/domain/json/json.ts';
import { bytes, concealed, json, jsonText, list, local, message, nothing, secret, text } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';

/** The place that a service record is bound to: it opens nowhere else. */
export interface RecordPlace {
  readonly purpose: 'record' | 'idem' | 'job';
  readonly account: string;
  readonly kind: string;
  readonly path: readonly string[];
}

/** Jobs of the service itself; none of them needs a vault key. */
export const SERVICE_JOBS = {
  /** A new random root, sealed. */
  createRoot: defineJob({ lane: 'hot', input: message({}), output: bytes }),
  /** Opens a sealed root; `integrity_failed` when the master key does not fit. */
  checkRoot: defineJob({ lane: 'hot', input: message({ root: bytes }), output: nothing }),
  /** The 32-byte keys that authenticate cursors: the first signs. */
  cursorKeys: defineJob({ lane: 'hot', input: message({}), output: list(bytes) }),
  /** The value of a JSON body, read within limits; the body's faults are `invalid_json`, `json_too_deep` and `invalid_request`. */
  parseBody: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), limits: json<JsonLimits>(), body: bytes }),
    output: jsonText<unknown>(),
  }),
  /** The HMAC-SHA-256 of data under a key of the account. */
  fingerprint: defineJob({
    lane: 'hot',
    share: ({ account }) => singlesOf(account),
    input: message({ account: text, data: bytes }),
    output: bytes,
  }),
  /**
   * The prefixes under which a reference may stand in the reference index, to be read in this order: entries move from
   * one to the next. `exact` adds the end mark.
   */
  encodeReference: defineJob({
    lane: 'hot',
    share: ({ aid }) => singlesOf(aid),
    input: message({ aid: text, reference: text, exact: json<boolean>() }),
    output: list(bytes),
  }),
  /** What the metadata index may have of a name and its text, under the older root before the newer one. */
  metadataDigest: defineJob({
    lane: 'hot',
    share: ({ aid }) => singlesOf(aid),
    input: message({ aid: text, name: text, value: text }),
    output: list(bytes),
  }),
  /** Seals a record for its place. */
  sealRecord: defineJob({
    lane: 'hot',
    input: message({ place: json<RecordPlace>(), plaintext: bytes }),
    output: bytes,
  }),
  /** Opens a record; `integrity_failed` when it was damaged or lies in another place. */
  openRecord: defineJob({
    lane: 'hot',
    share: ({ place }) => singlesOf(place.account),
    input: message({ place: json<RecordPlace>(), record: bytes }),
    output: bytes,
  }),
  /** The verifier of a password under the vault's pepper: Argon2id as a PHC text, a keyed hash of a generated one. */
  hashPassword: defineJob({
    lane: ({ isGenerated }) => (isGenerated ? 'hot' : 'cold'),
    input: message({ password: secret, isGenerated: json<boolean>() }),
    output: text,
  }),
  /**
   * Whether a password is that of a PHC text. `share`: who waits behind earlier checks of the same one. Who has not
   * succeeded lately may be anybody, and waits among those.
   */
  verifyPassword: defineJob({
    lane: ({ hasSucceeded }) => (hasSucceeded ? 'cold' : 'guess'),
    share: ({ share }) => share,
    input: message({ password: secret, phc: text, share: local<string>(), hasSucceeded: local<boolean>() }),
    output: json<boolean>(),
  }),
  /** Whether a password is that of a generated password's hash; an empty hash is no password's, and costs as much. */
  verifyGenerated: defineJob({
    lane: 'hot',
    input: message({ password: secret, hash: text }),
    output: json<boolean>(),
  }),
  /** A random passphrase of as many characters. */
  makePassphrase: defineJob({
    lane: 'hot',
    input: message({ length: json<number>() }),
    output: concealed(text),
  }),
};
