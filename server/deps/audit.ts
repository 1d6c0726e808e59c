import type { AuditEntry } from '../http/schema/audit.ts';
import type { Caller } from './common.ts';

/** Types only, a part of deps.ts: the security log of accounts. */

/** Something that happened, as whoever saw it tells it. */
export interface AuditNote {
  /** Internal id of the account that it happened to; empty for what concerns the operator alone. */
  readonly aid: string;
  readonly action: AuditEntry['action'];
  /** `success`, or the code of the refusal. */
  readonly outcome: string;
  readonly actor: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly requestId: string;
  /** `NOUN/NAME`: what it was done to. */
  readonly object?: string | undefined;
}

export interface AuditQuery {
  readonly action?: string | undefined;
  readonly token?: string | undefined;
  /** ms since 1970, inclusive. */
  readonly after?: number | undefined;
  /** ms since 1970, exclusive. */
  readonly before?: number | undefined;
  readonly limit: number;
  readonly next_token?: string | undefined;
}

export interface AuditService {
  /**
   * Writes an entry of the security log, and resolves when it is stored. Who answers somebody waits for that: with
   * `store_unavailable` nothing may leave. Refusals that come in floods are gathered, and counted in one entry later.
   */
  readonly record: (note: AuditNote) => Promise<void>;
  /** A page of the caller's account, newest first. It may be short of its limit, or empty, and have a next one. */
  readonly list: (
    caller: Caller,
    query: AuditQuery,
  ) => Promise<{ readonly entries: readonly AuditEntry[]; readonly nextToken?: string | undefined }>;
  /** All of them as the JSON text of a list, piece by piece; the limit is left out of account. */
  readonly listAll: (caller: Caller, query: Omit<AuditQuery, 'limit'>) => Promise<ReadableStream<Uint8Array>>;
}
