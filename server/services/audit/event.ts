import type { AuditEntry } from '../../http/schema/audit.ts';

/** An event of the security log, as its observer reports it. */
export interface SecurityEvent {
  /** Internal id of the account that it happened to; empty for what concerns the operator alone. */
  readonly aid: string;
  readonly action: AuditEntry['action'];
  /** `success`, or the code of the error. */
  readonly outcome: string;
  readonly actor: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly requestId: string;
  /** `NOUN/NAME`: what it was done to. */
  readonly object?: string | undefined;
}
