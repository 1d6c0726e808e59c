/** Recoveries of vault keys: made, removed, described, used. */
import { bytes, json, list, message, optional, secret } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import { KEY, KEY_RECORDS, PLACE } from './jobs.ts';

/** What there is of a recovery without shares; nothing secret. */
export interface RecoveryFacts {
  /** How many shares open the key. */
  readonly threshold: number;
  readonly shares: readonly { readonly recipient: string; readonly share: string }[];
}

/** Whom a recovery is for. */
export interface RecoveryOrder {
  readonly recipients: readonly string[];
  readonly threshold: number;
}

/** Jobs on recoveries. */
export const RECOVERY_JOBS = {
  /**
   * The records of a key with a recovery in place of the one before, or with none where nothing is `wanted`; `passphrase_wrong`
   * when the passphrase is another one, `invalid_request` for a recipient that is none.
   */
  replaceRecovery: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, record: bytes, passphrase: secret, wanted: json<RecoveryOrder | null>() }),
    output: KEY_RECORDS,
  }),
  /** The records of a key under another passphrase and with a new generation; `recovery_refused` for wrong shares. */
  recoverKey: defineJob({
    lane: 'cold',
    share: ({ key }) => key.aid,
    input: message({ key: KEY, record: bytes, recovery: optional(bytes), shares: list(secret), to: secret }),
    output: KEY_RECORDS,
  }),
  /** What a recovery says without shares. */
  describeRecovery: defineJob({
    lane: 'hot',
    share: ({ place }) => singlesOf(place.aid),
    input: message({ place: PLACE, recovery: bytes }),
    output: json<RecoveryFacts>(),
  }),
};
