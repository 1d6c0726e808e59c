import type { RecordChange } from '../../workers/jobs/audit/jobs.ts';
import type { AuditEntry } from './schema.ts';

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
  /** What it says of the record of the account or of the endpoint that it changed, so that an older copy is recognised. */
  readonly change?: RecordChange | undefined;
}
