/** Record maintenance: the jobs that verify all records page by page, or re-encrypt them. No passphrase is needed. */
import { bytes, floats, json, list, message, optional, type Taken, text } from '../codec.ts';
import { defineJob } from '../define.ts';
import type { KeyName } from '../key/jobs.ts';
import type { RecordPlace } from '../service/jobs.ts';

/** The place of any service record; those of purpose `audit` are besides read in pages alone. */
export interface AnyRecordPlace extends Omit<RecordPlace, 'purpose'> {
  readonly purpose: RecordPlace['purpose'] | 'audit';
}

/** What a record says that matters to the records around it; nothing of what an account has put into it. */
export interface RecordFacts {
  readonly aid?: string | undefined;
  readonly kid?: string | undefined;
  readonly gen?: number | undefined;
  readonly kind?: string | undefined;
  readonly csrId?: string | undefined;
  /** Of a recovery: what the record of its key knows it by; of that record the same, where the key has one. */
  readonly recovery?: string | undefined;
  /** Of an account's record: the number of its changes; 0 for one of a version that did not count them. */
  readonly revision?: number | undefined;
  /** Of an endpoint's policy and of a credential: what names its state in the security log. */
  readonly digest?: string | undefined;
}

/** One verified record: its key, and what it says, or undefined when it does not open in its place. */
export interface RecordFindings {
  readonly keyId: string | undefined;
  readonly facts: RecordFacts | undefined;
}

/** A page of items of one key. */
export interface ItemsParams extends KeyName {
  /** The newest generation of the key. */
  readonly gen: number;
  readonly now: number;
  readonly tokens: readonly string[];
}

/** Part of a log that is too long for its page: entries from number `first` on. */
export interface LogPartParams extends KeyName {
  readonly token: string;
  readonly first: number;
}

/** A fault of an item; `item` numbers the page's items from 0. */
export interface ItemFault {
  readonly item: number;
  readonly kind: 'item' | 'sad' | 'log' | 'metadata index' | 'time index' | 'identity';
  readonly what: string;
}

/** Records by kind, and of each kind by the ring key that they are sealed under (`?`: none of the ring). */
export type CountsByKey = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A log that goes on behind the page: the first entry that is not in it, and how many there are in all. */
export interface LongLog {
  readonly item: number;
  readonly first: number;
  readonly length: number;
}

/** What a page of items has shown. */
export interface ItemsFindings {
  readonly faults: readonly ItemFault[];
  readonly checked: Readonly<Record<string, number>>;
  readonly keys: CountsByKey;
  readonly long: readonly LongLog[];
}

/** What a part of a log has shown: the first place that is wrong, if any. */
export interface LogFindings {
  readonly wrongAt: number | null;
  readonly keys: CountsByKey;
}

/** A field of an item's hash. */
export interface ItemField {
  readonly item: number;
  readonly name: string;
}

/** What a page has to be re-encrypted. */
export interface ReencryptionPlan {
  readonly fields: readonly ItemField[];
  /** Records that are under no key of the ring, or do not open. */
  readonly lost: readonly ItemField[];
  readonly keys: CountsByKey;
  readonly long: readonly LongLog[];
}

const PLACED_RECORDS = list(message({ place: json<AnyRecordPlace>(), record: bytes }));

/** `parts`: for each field of the plan the last 16 bytes that were read, and the new record. */
const REENCRYPTION = message({
  plan: json<ReencryptionPlan>(),
  parts: list(message({ tag: bytes, record: bytes })),
});

/** What a page or a log has to be written anew. */
export type Reencryption = Taken<typeof REENCRYPTION>;

/** All maintenance has one share of the bulk lane. */
function share(): string {
  return 'maintenance';
}

/** Jobs of record maintenance. */
export const MAINTENANCE_JOBS = {
  /** Whether each record opens in its place. */
  verifyRecords: defineJob({
    lane: 'bulk',
    share,
    input: message({ records: PLACED_RECORDS }),
    output: json<readonly RecordFindings[]>(),
  }),
  /** For each record the ring key that it was under, and the record under the write key where that is another one. */
  reencryptRecords: defineJob({
    lane: 'bulk',
    share,
    input: message({ records: PLACED_RECORDS }),
    output: list(message({ keyId: optional(text), record: optional(bytes) })),
  }),
  /**
   * `members`: what the reference index must hold for each item, empty for none. `metadata`: the
   * members of the metadata index that they must have. `expiries`: when it expires, ms since 1970, negative if it has and
   * only its log is left, or 0.
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
  /** `before`: the last 16 bytes of each entry before these, laid end to end. */
  verifyLog: defineJob({
    lane: 'bulk',
    share,
    input: message({ params: json<LogPartParams>(), before: bytes, entries: list(bytes) }),
    output: json<LogFindings>(),
  }),
  /** What the reference index must hold for each item, by its metadata; empty for none. */
  referenceMembers: defineJob({
    lane: 'bulk',
    share,
    input: message({
      params: json<Pick<ItemsParams, 'aid' | 'kid' | 'tokens'>>(),
      metas: list(bytes),
    }),
    output: list(bytes),
  }),
  /** The members of the metadata index that items must have, by their metadata. */
  metadataMembers: defineJob({
    lane: 'bulk',
    share,
    input: message({
      params: json<Pick<ItemsParams, 'aid' | 'kid' | 'tokens'>>(),
      metas: list(bytes),
    }),
    output: list(bytes),
  }),
  /** Metadata and log entries of items under the write key. */
  reencryptItems: defineJob({
    lane: 'bulk',
    share,
    input: message({ params: json<ItemsParams>(), survey: bytes }),
    output: REENCRYPTION,
  }),
  /** Log entries of one item under the write key. */
  reencryptLog: defineJob({
    lane: 'bulk',
    share,
    input: message({ params: json<LogPartParams>(), entries: list(bytes) }),
    output: REENCRYPTION,
  }),
};
