import type { AuditEvent, MarkFacts, RecordChange } from '../../crypto/log/audit-entry.ts';
import type { Checkpoint } from '../../crypto/log/checkpoint.ts';
import type { ReadLogEntry } from '../../crypto/log/entry-content.ts';
import { bytes, json, list, message, nothing, optional, text } from '../codec.ts';
import { defineJob } from '../define.ts';

export type { AuditEvent, MarkFacts, RecordChange } from '../../crypto/log/audit-entry.ts';
export type { Checkpoint } from '../../crypto/log/checkpoint.ts';

/** The start and the end of a chain; both are zero without a mark. */
export interface ChainFacts {
  readonly head: MarkFacts;
  readonly start: MarkFacts;
}

/** Selects entries of a chain; times are ms since 1970, the first inclusive, the second exclusive. */
export interface AuditFilter {
  readonly action?: string | undefined;
  readonly token?: string | undefined;
  readonly actor?: string | undefined;
  /** An address or a CIDR. */
  readonly source_ip?: string | undefined;
  readonly outcome?: string | undefined;
  /** Only entries about these vault keys, and those that name no key. */
  readonly keys?: readonly string[] | undefined;
  readonly after?: number | undefined;
  readonly before?: number | undefined;
}

/** An entry that was opened, with its place. */
export interface OpenedEvent extends AuditEvent {
  readonly sequence: number;
}

/** The selected entries of a part of a chain. */
interface ReadAuditFacts {
  /** Newest first. */
  readonly events: readonly OpenedEvent[];
  /** Of the oldest entry that was read: nothing before it is later than this. */
  readonly latestMs: number;
}

/** An entry of an item's log, as a sink needs it. */
export type StreamedEntry = Omit<ReadLogEntry, 'seenLength' | 'seenTag'>;

/** Known links of entries by sequence. */
export type KnownLinks = readonly { readonly sequence: number; readonly link: string }[];

/** Faults of an entry: it does not open, does not follow, or is not the one that a checkpoint names. */
export type ChainFault = 'damaged' | 'broken' | 'replaced';

/** Result of verifying a part of a chain. */
interface VerifyAuditFacts {
  /** The mark of the last entry that was in order. */
  readonly end: MarkFacts;
  /** Of the entry after it, if there is one. */
  readonly fault?: ChainFault;
}

/**
 * Jobs on security logs: chains of sealed entries, the marks of their ends, and signed checkpoints. `aid` names a chain: the
 * account's internal id, or an empty text for the operator's chain. A missing head or start means the beginning of a chain.
 * Records that do not fit: `integrity_failed`.
 */
export const AUDIT_JOBS = {
  /** Seals entries that follow a head, and the new head. */
  sealAudit: defineJob({
    lane: 'hot',
    input: message({ aid: text, head: optional(bytes), events: json<readonly AuditEvent[]>() }),
    output: message({ mark: json<MarkFacts>(), head: bytes, entries: list(bytes) }),
  }),
  /** Opens the marks of a chain. */
  describeChain: defineJob({
    lane: 'hot',
    input: message({ aid: text, head: optional(bytes), start: optional(bytes) }),
    output: json<ChainFacts>(),
  }),
  /**
   * Opens entries in descending order from `newest`, and returns those that the filter selects; `integrity_failed` if the one that a
   * checkpoint names has another link.
   */
  readAudit: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({
      aid: text,
      newest: json<number>(),
      filter: json<AuditFilter>(),
      known: json<KnownLinks>(),
      entries: list(bytes),
    }),
    output: json<ReadAuditFacts>(),
  }),
  /** Opens entries in ascending order from number `first`; null for one that does not open. */
  streamAudit: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: text, first: json<number>(), entries: list(bytes) }),
    output: json<readonly (OpenedEvent | null)[]>(),
  }),
  /** Opens entries of logs of items, each of the item of the token at its index; null for one that does not open. */
  streamLogs: defineJob({
    lane: 'bulk',
    share: ({ params: { aid } }) => aid,
    input: message({
      params: json<{ readonly aid: string; readonly kid: string; readonly tokens: readonly string[] }>(),
      entries: list(bytes),
    }),
    output: json<readonly (StreamedEntry | null)[]>(),
  }),
  /** Returns the changes of records in entries, in ascending order from number `first`, except entries that do not open. */
  readChanges: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: text, first: json<number>(), entries: list(bytes) }),
    output: json<readonly RecordChange[]>(),
  }),
  /** Verifies entries in ascending order from the mark `before`. */
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
  /** Makes the start of a chain without its entries before `beforeMs`; the record only if it moved. */
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
  /** Signs a checkpoint of a chain's head. */
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
  /** Returns the public key of checkpoints, PEM. */
  auditKey: defineJob({ lane: 'hot', input: message({}), output: text }),
};
