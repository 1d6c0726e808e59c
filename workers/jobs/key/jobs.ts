/** Vault keys: made, unlocked, changed, described; and how other jobs open them. */
import { bytes, type Given, json, message, oneOf, optional, secret, type Taken, text } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';

/** Names the vault key that a job works under. */
export interface KeyName {
  readonly aid: string;
  readonly kid: string;
}

/** The endpoint that a job works through, and the generation of the key that it was made under. */
export interface EndpointVersion {
  readonly id: string;
  readonly gen: number;
}

/** What the server knows of a key record; nothing secret. */
export interface KeyFacts {
  readonly kid: string;
  readonly gen: number;
  /** Whether a summary of each card is kept under the service key. */
  readonly summary: boolean;
}

/** The path that a key record is bound to: the account, and the name of the key. */
export const PLACE = message({ aid: text, user: text });
/** A key in its place. */
export const KEY = message({ aid: text, user: text, kid: text });
/** The record of a key, and that of its recovery where it has one: they are replaced together. */
export const KEY_RECORDS = message({ record: bytes, recovery: optional(bytes) });

/**
 * What opens a vault key for one job: the blob that an unlock left, under the same passphrase, or a retrieval
 * endpoint's two records under its secret.
 */
export const OPENING = oneOf({
  warm: { blob: bytes, secret },
  endpoint: { use: json<EndpointVersion>(), policy: bytes, wrap: bytes, secret },
});
/** What the server gives. */
export type Opening = Given<typeof OPENING>;
/** What a thread gets: secrets as bytes, which are wiped after the job. */
export type ThreadOpening = Taken<typeof OPENING>;

/** The warm blob was made under another passphrase; the full unlock decides. A variant of many results. */
export interface WarmMiss {
  readonly kind: 'warm_miss';
}

/** Jobs on vault keys by themselves. */
export const KEY_JOBS = {
  /** A new vault key under a passphrase, sealed for its place. */
  createKey: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, summary: json<boolean>(), passphrase: secret }),
    output: bytes,
  }),
  /**
   * Opens a key record; `passphrase_wrong` when the passphrase is another one. `blob`: the private halves, which
   * open only under the same passphrase in this process. `upgraded`: the record under the Argon2id cost of today.
   */
  unlockKey: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, record: bytes, passphrase: secret }),
    output: message({ blob: bytes, upgraded: optional(bytes) }),
  }),
  /** The records of a key under another passphrase and with a new generation. */
  changePassphrase: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, record: bytes, recovery: optional(bytes), from: secret, to: secret }),
    output: KEY_RECORDS,
  }),
  /** What a key record says without a passphrase. */
  describeKey: defineJob({
    lane: 'hot',
    share: ({ place }) => singlesOf(place.aid),
    input: message({ place: PLACE, record: bytes }),
    output: json<KeyFacts>(),
  }),
  /** Whether a warm blob opens under a passphrase. */
  checkWarm: defineJob({
    lane: 'hot',
    share: ({ key }) => singlesOf(key.aid),
    input: message({ key: message({ aid: text, kid: text }), blob: bytes, passphrase: secret }),
    output: oneOf({ open: {}, warm_miss: {} }),
  }),
};
