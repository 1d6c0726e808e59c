/** The plain parameters of the jobs that look at every record, or seal it again; fields stand beside their kinds. */
import type { KeyParams } from './kinds.ts';

/** A place of the records that are looked at in pages; of purpose `audit` besides those that services open singly. */
export interface WalkPlace {
  readonly purpose: 'record' | 'idem' | 'job' | 'audit';
  readonly account: string;
  readonly kind: string;
  readonly path: readonly string[];
}

export interface WalkRecordsParams {
  /** One for each record that follows. */
  readonly places: readonly WalkPlace[];
}

/** What is in a record that matters to those around it; nothing of what an account has put there. */
export interface RecordFacts {
  readonly aid?: string | undefined;
  readonly kid?: string | undefined;
  readonly gen?: number | undefined;
  readonly kind?: string | undefined;
  readonly csrId?: string | undefined;
}

/** What became of one record: its key, and what it tells, or undefined when it does not open in its place. */
export interface RecordLook {
  readonly keyId: string | undefined;
  readonly facts: RecordFacts | undefined;
}

export interface WalkItemsParams extends KeyParams {
  /** The newest generation of the key. */
  readonly gen: number;
  readonly now: number;
  readonly tokens: readonly string[];
}

/** Part of a log that is too long for its page: entries from number `first` on. */
export interface WalkLogParams extends KeyParams {
  readonly token: string;
  readonly first: number;
}

/** What an item's page may show; `item` numbers the page's items from 0. */
export interface ItemFault {
  readonly item: number;
  readonly kind: 'item' | 'sad' | 'log' | 'time index' | 'identity';
  readonly what: string;
}

/** Records by kind, and of each kind by the ring key that they are sealed under (`?`: none of the ring). */
export type KeyCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A log that goes on behind the page: the first entry that is not in it, and how many there are in all. */
export interface LongLog {
  readonly item: number;
  readonly first: number;
  readonly length: number;
}

/** What a page of items has shown. */
export interface ItemsLook {
  readonly faults: readonly ItemFault[];
  readonly checked: Readonly<Record<string, number>>;
  readonly keys: KeyCounts;
  readonly long: readonly LongLog[];
}

/** What a part of a log has shown: the first place that is wrong, if any. */
export interface LogLook {
  readonly wrongAt: number | null;
  readonly keys: KeyCounts;
}

/** What is to be put in the place of what: fields of items, each named by its item and its field in the hash. */
export interface RenewalPlan {
  readonly fields: readonly { readonly item: number; readonly name: string }[];
  /** Records that are under no key of the ring, or do not open. */
  readonly lost: readonly { readonly item: number; readonly name: string }[];
  readonly keys: KeyCounts;
  readonly long: readonly LongLog[];
}
