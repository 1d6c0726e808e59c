import type { HeadsCheckpoint } from '../../crypto/log/checkpoint.ts';
import { bytes, json, list, message, nothing, optional } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import type { RemovalCause } from '../event/jobs.ts';
import type { KeyName } from '../key/jobs.ts';
import { type ItemFault, PACKED } from '../vault/jobs.ts';

export type { HeadsCheckpoint } from '../../crypto/log/checkpoint.ts';

/** A log whose head is not recorded, since the service has not made it, and its fault. */
export interface HeadFault {
  readonly token: string;
  readonly what: 'cut' | 'removed';
}

/**
 * Items to be removed, by their tokens, and the given references, null for none. Without a list, the service itself removes
 * them, with any references.
 */
export interface RemovalParams extends KeyName {
  readonly tokens: readonly string[];
  readonly references: readonly (string | null)[] | null;
  /** The versions that the data of the items must have, where their callers name one. */
  readonly versions?: readonly (string | null)[];
  /** ms since 1970; items that have expired by then do not exist. 0: they are removed as well. */
  readonly now: number;
  /** ms since 1970; items that have not expired by then fail. */
  readonly expiredBy?: number;
  /** The request that removes them; undefined for removals without events. */
  readonly cause?: RemovalCause;
}

/**
 * The byte strings of each removal: last bytes of metadata and of the log's first entry, proof that the service removes the
 * log, member of the reference index. All are empty for an item that fails.
 */
export const REMOVAL_STRINGS = 4;

interface HeadsParams extends KeyName {
  readonly bucket: number;
  readonly tokens: readonly string[];
}

/** The result of recording: the length of each log, 0 for a removed log, -1 to leave it as it is. */
interface FoldFacts {
  readonly lengths: readonly number[];
  readonly faults: readonly HeadFault[];
}

/** The sum of some logs as they are recorded, the recorded ones, and those that are shorter than recorded. */
interface SumFacts {
  readonly sum: string;
  readonly recorded: readonly string[];
  readonly cut: readonly string[];
}

/** Facts of a bucket's record. `isCurrent`: it is not older than the record of its account. */
interface BucketFacts {
  readonly version: number;
  readonly logs: number;
  readonly sum: string;
  readonly isCurrent: boolean;
}

/** Facts of an account's record. `isWhole`: it has entries for exactly its keys. */
interface MarkOfHeads {
  readonly epoch: number;
  readonly link: string;
  readonly logs: number;
  readonly isWhole: boolean;
}

function shareOf({ params }: { readonly params: { readonly aid: string } }): string {
  return params.aid;
}

/**
 * Jobs that record, compare and sign the heads of item logs. `heads` are those of head_of in the prelude of the scripts,
 * `record` and `mark` are the stored bytes, empty for none. All fail with `integrity_failed` for records that do not fit.
 */
export const HEADS_JOBS = {
  /** Makes the record of a bucket with these logs at their current length; empty if there is nothing to record. */
  foldHeads: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({ params: json<HeadsParams>(), record: bytes, heads: list(bytes) }),
    output: message({ record: bytes, facts: json<FoldFacts>() }),
  }),
  /** Sums up logs as they are recorded. */
  sumHeads: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({ params: json<HeadsParams>(), heads: list(bytes) }),
    output: json<SumFacts>(),
  }),
  readBucketHeads: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({
      params: json<KeyName & { readonly bucket: number }>(),
      record: bytes,
      buckets: bytes,
    }),
    output: json<BucketFacts>(),
  }),
  /**
   * Makes the mark and the buckets of a key for these records of its buckets, by number; undefined if they have not changed.
   * `integrity_failed` for a bucket that is older than in the account's record.
   */
  coverKey: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({ params: json<KeyName>(), mark: bytes, buckets: bytes, records: list(bytes) }),
    output: message({ mark: optional(bytes), buckets: bytes }),
  }),
  /** Makes the mark without a key that the service has deleted; `integrity_failed` without its proof. */
  uncoverKey: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({ params: json<KeyName>(), mark: bytes, buckets: bytes, proof: bytes }),
    output: message({ mark: bytes }),
  }),
  /** Reads the record of an account; `buckets` are those of the keys of `params`, in order. */
  readHeadsMark: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({
      params: json<{ readonly aid: string; readonly kids: readonly string[] }>(),
      mark: bytes,
      buckets: list(bytes),
    }),
    output: json<MarkOfHeads>(),
  }),
  /** Signs a checkpoint of an account's heads. */
  signHeads: defineJob({
    lane: 'hot',
    input: message({ params: json<{ readonly aid: string; readonly timeMs: number }>(), mark: bytes }),
    output: json<HeadsCheckpoint>(),
  }),
  /** Fails with `integrity_failed` for a checkpoint that this vault has not signed. */
  checkHeadsCheckpoint: defineJob({
    lane: 'hot',
    input: message({ checkpoint: json<HeadsCheckpoint>() }),
    output: nothing,
  }),
  /** Makes the arguments of the script that removes items. An item with another reference fails. Needs no passphrase. */
  proveRemovals: defineJob({
    lane: ({ params: { tokens } }) => (tokens.length === 1 ? 'hot' : 'bulk'),
    share: ({ params: { aid, tokens } }) => (tokens.length === 1 ? singlesOf(aid) : aid),
    input: message({ params: json<RemovalParams>(), replies: bytes }),
    output: message({ failed: json<readonly ItemFault[]>(), parts: PACKED, cause: optional(bytes) }),
  }),
  /** Proves that the service deletes a key. */
  proveKeyRemoval: defineJob({
    lane: 'hot',
    input: message({ params: json<KeyName>() }),
    output: bytes,
  }),
};
