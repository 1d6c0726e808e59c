import {
  bytes,
  type Given,
  json,
  list,
  message,
  oneOf,
  optional,
  secret,
  type Taken,
  text,
} from '../codec.ts';
import { defineJob } from '../define.ts';

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

/** Facts of a key record that the server knows; nothing secret. */
export interface KeyFacts {
  readonly kid: string;
  readonly gen: number;
  /** A summary of each card is stored under the service key. */
  readonly summary: boolean;
}

/** The path that a key record is bound to: the account, and the name of the key. */
const PLACE = message({ aid: text, user: text });
/** A key in its place. */
const KEY = message({ aid: text, user: text, kid: text });
/** The record of a key, and that of its recovery if it has one: they are replaced together. */
const KEY_RECORDS = message({ record: bytes, recovery: optional(bytes) });

/**
 * Opens a vault key for one job: the blob that an unlock left, under the same passphrase, or a retrieval endpoint's two
 * records under its secret.
 */
export const OPENING = oneOf({
  warm: { blob: bytes, secret },
  endpoint: { use: json<EndpointVersion>(), policy: bytes, wrap: bytes, secret },
});
/** An opening on the side of the server. */
export type Opening = Given<typeof OPENING>;
/** An opening in a thread: secrets are bytes, which are wiped after the job. */
export type ThreadOpening = Taken<typeof OPENING>;

/** The warm blob was made under another passphrase; the full unlock decides. A variant of many results. */
export interface WarmMiss {
  readonly kind: 'warm_miss';
}

/** Facts of a recovery that are known without shares; nothing secret. */
interface RecoveryFacts {
  /** The number of shares that open the key. */
  readonly threshold: number;
  readonly shares: readonly { readonly recipient: string; readonly share: string }[];
}

/** Jobs of vault keys and their recoveries. */
export const KEY_JOBS = {
  /** Makes a vault key under a passphrase, sealed for its place. */
  createKey: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, summary: json<boolean>(), passphrase: secret }),
    output: bytes,
  }),
  /**
   * Opens a key record; `passphrase_wrong` for another passphrase. `blob`: the private halves, which open only under the same
   * passphrase in this process. `upgraded`: the record under the current Argon2id cost.
   */
  unlockKey: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, record: bytes, passphrase: secret }),
    output: message({ blob: bytes, upgraded: optional(bytes) }),
  }),
  /** Puts the records of a key under another passphrase and a new generation; with `summary` it has summaries or none. */
  changePassphrase: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({
      key: KEY,
      record: bytes,
      recovery: optional(bytes),
      from: secret,
      to: secret,
      summary: optional(json<boolean>()),
    }),
    output: KEY_RECORDS,
  }),
  /** Lets a key have summaries of its cards, or none; `passphrase_wrong` for another passphrase. */
  setSummary: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, record: bytes, passphrase: secret, summary: json<boolean>() }),
    output: bytes,
  }),
  /** Reads the facts of a key record, without a passphrase. */
  describeKey: defineJob({
    lane: 'hot',
    input: message({ place: PLACE, record: bytes }),
    output: json<KeyFacts>(),
  }),
  /** Tests whether a warm blob opens under a passphrase. */
  checkWarm: defineJob({
    lane: 'hot',
    input: message({ key: message({ aid: text, kid: text }), blob: bytes, passphrase: secret }),
    output: oneOf({ open: {}, warm_miss: {} }),
  }),
  /**
   * Replaces the recovery of a key, or removes it if none is `wanted`; `passphrase_wrong` for another passphrase,
   * `invalid_request` for an invalid recipient.
   */
  replaceRecovery: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({
      key: KEY,
      record: bytes,
      passphrase: secret,
      wanted: json<{ readonly recipients: readonly string[]; readonly threshold: number } | null>(),
    }),
    output: KEY_RECORDS,
  }),
  /** Opens a key with shares and changes its passphrase as `changePassphrase` does; `recovery_refused` for wrong shares. */
  recoverKey: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, record: bytes, recovery: optional(bytes), shares: list(secret), to: secret }),
    output: KEY_RECORDS,
  }),
  /** Reads the facts of a recovery, without shares. */
  describeRecovery: defineJob({
    lane: 'hot',
    input: message({ place: PLACE, recovery: bytes }),
    output: json<RecoveryFacts>(),
  }),
};
