/** Security logs: chains of sealed entries, the marks of their ends, and signed checkpoints. */
import type { RecordChange } from '../../crypto/log/audit-change.ts';
import type { Checkpoint } from '../../crypto/log/audit-checkpoint.ts';
import type { AuditEvent, MarkFacts } from '../../crypto/log/audit-entry.ts';
import type { ReadLogEntry } from '../../crypto/log/entry-content.ts';
import { bytes, json, list, message, nothing, optional, text } from '../codec.ts';
import { defineJob } from '../define.ts';

export type { RecordChange } from '../../crypto/log/audit-change.ts';
export type { Checkpoint } from '../../crypto/log/audit-checkpoint.ts';
export type { AuditEvent, MarkFacts } from '../../crypto/log/audit-entry.ts';

/** Where a chain begins and ends; both are zero where there is no mark. */
export interface ChainFacts {
  readonly head: MarkFacts;
  readonly start: MarkFacts;
}

/** Which entries of a chain are wanted; times are ms since 1970, the first inclusive, the second exclusive. */
export interface AuditFilter {
  readonly action?: string | undefined;
  readonly token?: string | undefined;
  readonly after?: number | undefined;
  readonly before?: number | undefined;
}

/** An entry that was opened, with its place. */
export interface OpenedEvent extends AuditEvent {
  readonly sequence: number;
}

/** A part of a chain, as far as the filter wants it. */
export interface ReadAuditFacts {
  /** The wanted entries, newest first. */
  readonly events: readonly OpenedEvent[];
  /** Of the oldest entry that was read: nothing before it is later than this. */
  readonly latestMs: number;
}

/** An entry of an item's log, as a sink needs it. */
export type StreamedEntry = Omit<ReadLogEntry, 'seenLength' | 'seenTag'>;

/** Links that entries are known to have had, by sequence. */
export type KnownLinks = readonly { readonly sequence: number; readonly link: string }[];

/** What is wrong with an entry: it does not open, does not follow, or is not the one that a checkpoint names. */
export type ChainFault = 'damaged' | 'broken' | 'replaced';

/** How far a part of a chain is as it was written. */
export interface VerifyAuditFacts {
  /** The mark of the last entry that was in order. */
  readonly end: MarkFacts;
  /** Of the entry after it, if there is one. */
  readonly fault?: ChainFault;
}

/**
 * `aid` names a chain: the account's internal id, or an empty text for the operator's own chain. A missing head or
 * start stands for the beginning of a chain. Records that do not fit: `integrity_failed`.
 */
export const AUDIT_JOBS = {
  /** Seals entries that follow a head, and the head that they make. */
  sealAudit: defineJob({
    lane: 'hot',
    input: message({ aid: text, head: optional(bytes), events: json<readonly AuditEvent[]>() }),
    output: message({ mark: json<MarkFacts>(), head: bytes, entries: list(bytes) }),
  }),
  /** The marks of a chain. */
  describeChain: defineJob({
    lane: 'hot',
    input: message({ aid: text, head: optional(bytes), start: optional(bytes) }),
    output: json<ChainFacts>(),
  }),
  /** Opens entries that follow each other downwards from `newest`, and gives those that the filter wants. */
  readAudit: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({
      aid: text,
      newest: json<number>(),
      filter: json<AuditFilter>(),
      entries: list(bytes),
    }),
    output: json<ReadAuditFacts>(),
  }),
  /** Opens entries that follow each other upwards from number `first`; null for one that does not open. */
  streamAudit: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: text, first: json<number>(), entries: list(bytes) }),
    output: json<readonly (OpenedEvent | null)[]>(),
  }),
  /** Opens entries of logs of items, each of the item whose token stands in its place; null for one that does not open. */
  streamLogs: defineJob({
    lane: 'bulk',
    share: ({ params: { aid } }) => aid,
    input: message({
      params: json<{ readonly aid: string; readonly kid: string; readonly tokens: readonly string[] }>(),
      entries: list(bytes),
    }),
    output: json<readonly (StreamedEntry | null)[]>(),
  }),
  /** What entries upwards from number `first` say of records that they changed; those that do not open say nothing. */
  readChanges: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: text, first: json<number>(), entries: list(bytes) }),
    output: json<readonly RecordChange[]>(),
  }),
  /** Checks entries that follow each other upwards from the mark `before`. */
  verifyAudit: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({
      aid: text,
      before: json<MarkFacts>(),
      known: json<KnownLinks>(),
      entries: list(bytes),
    }),
    output: json<VerifyAuditFacts>(),
  }),
  /** The start that a chain has without its entries before `beforeMs`; the record only when it moved. */
  trimAudit: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({
      aid: text,
      beforeMs: json<number>(),
      start: json<MarkFacts>(),
      entries: list(bytes),
    }),
    output: message({ mark: json<MarkFacts>(), record: optional(bytes) }),
  }),
  /** A signed statement of where a chain's head is. */
  signCheckpoint: defineJob({
    lane: 'hot',
    input: message({ aid: text, head: bytes, timeMs: json<number>() }),
    output: json<Checkpoint>(),
  }),
  /** Fails with `integrity_failed` for a checkpoint that this vault has not signed. */
  checkCheckpoint: defineJob({
    lane: 'hot',
    input: message({ checkpoint: json<Checkpoint>() }),
    output: nothing,
  }),
  /** The public key of checkpoints, PEM. */
  auditKey: defineJob({ lane: 'hot', input: message({}), output: text }),
};
