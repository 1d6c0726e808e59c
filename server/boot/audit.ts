import { type Audit, createAudit } from '../services/audit/audit.ts';
import { createCheckpoints } from '../services/audit/checkpoint.ts';
import { createAuditRetention } from '../services/audit/keep.ts';
import { type AuditVerifier, createAuditVerifier } from '../services/audit/verify.ts';
import type { Parts } from '../services/common/parts.ts';

/** The security logs of an open vault, and what looks after them. */
export interface OpenAudit {
  readonly audit: Audit;
  readonly auditVerifier: AuditVerifier;
  /** Writes what was gathered of floods, and signs how far the security logs have come. */
  readonly checkpoint: () => Promise<void>;
  /** Removes what is older than the retention; `liveAids` are the accounts that there are. */
  readonly expire: (liveAids: readonly string[]) => Promise<void>;
  /** Signs what a server that is no more has not. */
  readonly catchUp: () => Promise<void>;
}

/** Puts the security logs together; checkpoints, losses and damage are told to `note`. */
export function openAudit(
  parts: Parts,
  note: (event: string, fields?: Readonly<Record<string, unknown>>) => void,
): OpenAudit {
  const audit = createAudit({ ...parts, note });
  const announced = {
    ...parts,
    announce: (checkpoint: object) => note('audit_checkpoint', { ...checkpoint }),
  };
  const checkpoints = createCheckpoints(announced, audit);
  const retention = createAuditRetention(parts, audit, (account) => note('audit_damaged', { account }));
  return {
    audit,
    auditVerifier: createAuditVerifier(parts),
    async checkpoint() {
      await audit.flush();
      await checkpoints.take();
    },
    expire: retention.sweep,
    catchUp: checkpoints.catchUp,
  };
}
