import { bytes, floats, json, list, message, optional, type Taken, text } from '../codec.ts';
import { defineJob } from '../define.ts';
import type { KeyName } from '../key/jobs.ts';
import type { RecordPlace } from '../service/jobs.ts';

/** The place of any service record. Records of purpose `audit` are only read in pages. */
export interface AnyRecordPlace extends Omit<RecordPlace, 'purpose'> {
  readonly purpose: RecordPlace['purpose'] | 'audit';
}

/** Facts of a record that concern other records; no data of the account. */
export interface RecordFacts {
  readonly aid?: string | undefined;
  readonly kid?: string | undefined;
  readonly gen?: number | undefined;
  readonly kind?: string | undefined;
  readonly csrId?: string | undefined;
  /** Of a recovery: its digest in the record of its key; of that record the same, if the key has one. */
  readonly recovery?: string | undefined;
  /** Of an account's record: the number of its changes; 0 for a version that did not count them. */
  readonly revision?: number | undefined;
  /** Of an endpoint's policy, of a credential and of a person: the digest of its state in the security log. */
  readonly digest?: string | undefined;
}

/** One verified record: its key, and its facts, undefined if it does not open in its place. */
export interface RecordFindings {
  readonly keyId: string | undefined;
  readonly facts: RecordFacts | undefined;
}

export interface ItemsParams extends KeyName {
  /** The newest generation of the key. */
  readonly gen: number;
  readonly now: number;
  readonly tokens: readonly string[];
}

/** Part of a log that is too long for its page: entries from number `first` on. */
interface LogPartParams extends KeyName {
  readonly token: string;
  readonly first: number;
}

/** A fault of an item; `item` numbers the page's items from 0. */
export interface ItemFault {
  readonly item: number;
  readonly kind: 'item' | 'sad' | 'log' | 'metadata index' | 'time index' | 'identity';
  readonly what: string;
}

/** Number of records by kind, and of each kind by the ring key that they are sealed under (`?`: none of the ring). */
export type CountsByKey = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A log that is longer than its part in the page: the first entry that is missing, and the number of all. */
export interface LongLog {
  readonly item: number;
  readonly first: number;
  readonly length: number;
}

/** Findings on a page of items. */
interface ItemsFindings {
  readonly faults: readonly ItemFault[];
  readonly checked: Readonly<Record<string, number>>;
  readonly keys: CountsByKey;
  readonly long: readonly LongLog[];
}

/** Findings on a part of a log: the first wrong place, if any. */
interface LogFindings {
  readonly wrongAt: number | null;
  readonly keys: CountsByKey;
}

/** A field of an item's hash. */
export interface ItemField {
  readonly item: number;
  readonly name: string;
}

/** Fields of a page to be re-encrypted. */
interface ReencryptionPlan {
  readonly fields: readonly ItemField[];
  /** Records that are under no key of the ring, or do not open. */
  readonly lost: readonly ItemField[];
  readonly keys: CountsByKey;
  readonly long: readonly LongLog[];
}

const PLACED_RECORDS = list(message({ place: json<AnyRecordPlace>(), record: bytes }));

/** Metadata of items of one key. */
const METAS = message({
  params: json<KeyName & { readonly tokens: readonly string[] }>(),
  metas: list(bytes),
});

/** `parts`: for each field of the plan the last 16 bytes that were read, and the new record. */
const REENCRYPTION = message({
  plan: json<ReencryptionPlan>(),
  parts: list(message({ tag: bytes, record: bytes })),
});

/** Records of a page or a log to be written again. */
export type Reencryption = Taken<typeof REENCRYPTION>;

/** All maintenance has one share of the bulk lane. */
function share(): string {
  return 'maintenance';
}

export const MAINTENANCE_JOBS = {
  /** Checks that each record opens in its place. */
  verifyRecords: defineJob({
    lane: 'bulk',
    share,
    input: message({ records: PLACED_RECORDS }),
    output: json<readonly RecordFindings[]>(),
  }),
  /** Returns for each record its ring key, and the record under the write key if that is another one. */
  reencryptRecords: defineJob({
    lane: 'bulk',
    share,
    input: message({ records: PLACED_RECORDS }),
    output: list(message({ keyId: optional(text), record: optional(bytes) })),
  }),
  /**
   * Verifies items. `members`: entry of each item in the reference index, empty for none. `metadata`: their members of the
   * metadata index. `expiries`: expiry of each item, ms since 1970, negative if it has expired and only its log is left, or 0.
   */
  verifyItems: defineJob({
    lane: 'bulk',
    share,
    input: message({ params: json<ItemsParams>(), survey: bytes }),
    output: message({
      findings: json<ItemsFindings>(),
      members: list(bytes),
      metadata: list(bytes),
      expiries: floats,
    }),
  }),
  /** Verifies entries of a log. `before`: the last 16 bytes of each entry before these, concatenated. */
  verifyLog: defineJob({
    lane: 'bulk',
    share,
    input: message({ params: json<LogPartParams>(), before: bytes, entries: list(bytes) }),
    output: json<LogFindings>(),
  }),
  /** Returns the entry of each item in the reference index, from its metadata; empty for none. */
  referenceMembers: defineJob({
    lane: 'bulk',
    share,
    input: METAS,
    output: list(bytes),
  }),
  /** Returns the members of the metadata index that items must have, from their metadata. */
  metadataMembers: defineJob({
    lane: 'bulk',
    share,
    input: METAS,
    output: list(bytes),
  }),
  /** Re-encrypts metadata and log entries of items under the write key. */
  reencryptItems: defineJob({
    lane: 'bulk',
    share,
    input: message({ params: json<ItemsParams>(), survey: bytes }),
    output: REENCRYPTION,
  }),
  /** Re-encrypts log entries of one item under the write key. */
  reencryptLog: defineJob({
    lane: 'bulk',
    share,
    input: message({ params: json<LogPartParams>(), entries: list(bytes) }),
    output: REENCRYPTION,
  }),
};
