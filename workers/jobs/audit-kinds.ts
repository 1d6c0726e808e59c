/** Parameters and replies of the jobs on security logs; `kinds.ts` says which fields each takes. */

import type { Checkpoint } from '../crypto/log/audit-checkpoint.ts';
import type { AuditEvent } from '../crypto/log/audit-entry.ts';

export type { Checkpoint } from '../crypto/log/audit-checkpoint.ts';
export type { AuditEvent } from '../crypto/log/audit-entry.ts';

/** Names a chain: the account's internal id, or an empty text for the operator's own. */
export interface ChainParams {
  readonly aid: string;
}

export interface SealAuditParams extends ChainParams {
  readonly events: readonly AuditEvent[];
}

/** A mark of a chain as it crosses between threads. */
export interface MarkFacts {
  readonly sequence: number;
  /** Hex. */
  readonly link: string;
  readonly latestMs: number;
  readonly stepBackMs: number;
}

/** Where a chain begins and ends; both are zero where there is no mark. */
export interface ChainFacts {
  readonly head: MarkFacts;
  readonly start: MarkFacts;
}

/** What is wanted of a chain; times are ms since 1970, the first inclusive, the second exclusive. */
export interface AuditFilter {
  readonly action?: string | undefined;
  readonly token?: string | undefined;
  readonly after?: number | undefined;
  readonly before?: number | undefined;
}

export interface ReadAuditParams extends ChainParams, AuditFilter {
  /** The number of the first entry given; the others follow downwards. */
  readonly newest: number;
}

/** An entry that was opened, with its place. */
export interface OpenedEvent extends AuditEvent {
  readonly sequence: number;
}

export interface ReadAuditFacts {
  /** Those that the filter wants, newest first. */
  readonly events: readonly OpenedEvent[];
  /** Of the oldest entry that was looked at: nothing before it is later than this. */
  readonly latestMs: number;
}

export interface VerifyAuditParams extends ChainParams {
  /** The mark that the first entry given must follow. */
  readonly before: MarkFacts;
  /** Links that entries are known to have had, by sequence. */
  readonly known: readonly { readonly sequence: number; readonly link: string }[];
}

/** What is wrong with an entry: it does not open, does not follow, or is not the one that a checkpoint names. */
export type ChainFault = 'damaged' | 'broken' | 'replaced';

export interface VerifyAuditFacts {
  /** The mark of the last entry that was in order. */
  readonly end: MarkFacts;
  /** Of the entry after it, if there is one. */
  readonly fault?: ChainFault;
}

export interface TrimAuditParams extends ChainParams {
  /** Entries before this time go. */
  readonly beforeMs: number;
  /** The mark that the first entry given follows. */
  readonly start: MarkFacts;
}

export interface SignCheckpointParams extends ChainParams {
  readonly timeMs: number;
}

export interface CheckCheckpointParams {
  readonly checkpoint: Checkpoint;
}
