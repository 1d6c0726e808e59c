/** Heads of item logs: recording them, comparing them, and the signed checkpoints of an account's heads. */
import type { HeadsCheckpoint } from '../../crypto/log/heads-checkpoint.ts';
import { bytes, json, list, message, nothing, optional } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import type { KeyName } from '../key/jobs.ts';
import { type ItemFault, PACKED } from '../vault/jobs.ts';

export type { HeadsCheckpoint } from '../../crypto/log/heads-checkpoint.ts';

/** A log whose head is not recorded, since it is not one that the service has made: what is wrong with it. */
export interface HeadFault {
  readonly token: string;
  readonly what: 'cut' | 'removed';
}

/**
 * Items that are to be removed, by their tokens, and the references that were given for them, null for none; with no list
 * the service itself removes them, whatever theirs is.
 */
export interface RemovalParams extends KeyName {
  readonly tokens: readonly string[];
  readonly references: readonly (string | null)[] | null;
  /** ms since 1970; what has expired by then is not there. 0: it is removed as well. */
  readonly now: number;
  /** ms since 1970; what has not expired by then fails. */
  readonly expiredBy?: number;
}

/**
 * The byte strings of each removal: last bytes of metadata and of the log's first entry, proof that the service removes the
 * log, member of the reference index. All are empty for an item that fails.
 */
export const REMOVAL_STRINGS = 4;

/** Logs of one bucket. */
export interface HeadsParams extends KeyName {
  readonly bucket: number;
  readonly tokens: readonly string[];
}

/** What has to be recorded: for each log its length, 0 for a log that is gone, -1 to leave it as it is. */
export interface FoldFacts {
  readonly lengths: readonly number[];
  readonly faults: readonly HeadFault[];
}

/** The sum of some logs as they are recorded; those that are shorter than that; and those that are recorded. */
export interface SumFacts {
  readonly sum: string;
  readonly recorded: readonly string[];
  readonly cut: readonly string[];
}

/** What a bucket has recorded, as far as others need it; `isCurrent`: not older than its account says. */
export interface BucketFacts {
  readonly version: number;
  readonly logs: number;
  readonly sum: string;
  readonly isCurrent: boolean;
}

/** What an account has recorded. `isWhole`: its keys are those that it says, and no other ones. */
export interface MarkOfHeads {
  readonly epoch: number;
  readonly link: string;
  readonly logs: number;
  readonly isWhole: boolean;
}

function shareOf({ params }: { readonly params: { readonly aid: string } }): string {
  return params.aid;
}

/**
 * `heads` are those of head_of in the prelude of their scripts, `record` and `mark` what is stored, empty for nothing.
 * Records that do not fit: `integrity_failed`.
 */
export const HEADS_JOBS = {
  /** The record of a bucket with these logs at their present length; it is empty when nothing is to be recorded. */
  foldHeads: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({ params: json<HeadsParams>(), record: bytes, heads: list(bytes) }),
    output: message({ record: bytes, facts: json<FoldFacts>() }),
  }),
  /** The sum of logs as recorded; `notes` adds those of removed ones. */
  sumHeads: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({ params: json<HeadsParams>(), heads: list(bytes) }),
    output: json<SumFacts>(),
  }),
  /** What a bucket has recorded. */
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
   * The mark and the buckets of a key after its buckets have these records, by number; missing when they have not
   * changed. A bucket that is older than the account says: `integrity_failed`.
   */
  coverKey: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({ params: json<KeyName>(), mark: bytes, buckets: bytes, records: list(bytes) }),
    output: message({ mark: optional(bytes), buckets: bytes }),
  }),
  /** The mark without a key that the service has deleted. Without its proof: `integrity_failed`. */
  uncoverKey: defineJob({
    lane: 'bulk',
    share: shareOf,
    input: message({ params: json<KeyName>(), mark: bytes, buckets: bytes, proof: bytes }),
    output: message({ mark: bytes }),
  }),
  /** What an account has recorded; `buckets` are those of the keys of `params`, in order. */
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
  /** A signed statement of an account's heads. */
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
  /** What the script needs that removes items; one of another reference fails as a single request. Needs no passphrase. */
  proveRemovals: defineJob({
    lane: ({ params: { tokens } }) => (tokens.length === 1 ? 'hot' : 'bulk'),
    share: ({ params: { aid, tokens } }) => (tokens.length === 1 ? singlesOf(aid) : aid),
    input: message({ params: json<RemovalParams>(), replies: bytes }),
    output: message({ failed: json<readonly ItemFault[]>(), parts: PACKED }),
  }),
  /** The proof that the service deletes a key. */
  proveKeyRemoval: defineJob({
    lane: 'hot',
    input: message({ params: json<KeyName>() }),
    output: bytes,
  }),
};
