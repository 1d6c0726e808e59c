import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { AuditStore } from '../../store/audit.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import type { ServiceSettings } from '../common/settings.ts';
import type { Audit } from './audit.ts';

const STEP = 256;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Removes what is older than the retention from security logs. */
export interface AuditRetention {
  /** Removes the old entries of all chains, and the chains of accounts that are gone once all of it is old. */
  readonly sweep: (liveAids: readonly string[]) => Promise<void>;
}

interface AuditRetentionDependencies {
  readonly crypto: Pick<Crypto, 'describeChain' | 'trimAudit'>;
  readonly auditStore: Pick<AuditStore, 'chains' | 'read' | 'readMarks' | 'remove' | 'trim'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'auditRetentionMs'>;
  readonly onDamaged: (aid: string) => void;
}

/**
 * Retention takes entries from the old end alone. A sealed mark tells where the rest begins and what it must follow,
 * so that nobody else can pass a removal off as one of ours. The newest entry of an account that is there stays.
 */
export function createAuditRetention(dependencies: AuditRetentionDependencies): AuditRetention {
  const { crypto, auditStore, audit, now, randomId, settings, onDamaged } = dependencies;

  /** Removes some old entries; false when there are no more. */
  const trimSome = async (aid: string, beforeMs: number): Promise<boolean> => {
    const marks = await auditStore.readMarks(aid);
    const { head, start } = await crypto.describeChain({ aid, ...marks });
    const first = start.sequence + 1;
    const last = Math.min(head.sequence - 1, start.sequence + STEP);
    if (last < first) {
      return false;
    }
    const sequences = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    const entries = (await auditStore.read(aid, sequences)).filter((entry) => entry !== undefined);
    const { mark, record } = await crypto.trimAudit({ ...{ aid, beforeMs, start }, entries });
    if (record === undefined) {
      return false;
    }
    const isTrimmed = await auditStore.trim(aid, marks.start, record, { first, last: mark.sequence });
    return !isTrimmed || mark.sequence === last;
  };

  /** Whether nothing in a chain has to be kept any more, nor any checkpoint of it. */
  const isOver = async (aid: string, beforeMs: number): Promise<boolean> => {
    const { head } = await crypto.describeChain({ aid, ...(await auditStore.readMarks(aid)) });
    return head.latestMs < beforeMs - DAY_MS;
  };

  const sweepOne = async (aid: string, beforeMs: number, isLive: boolean): Promise<void> => {
    while (await trimSome(aid, beforeMs)) {
      // The next part.
    }
    if (!isLive && (await isOver(aid, beforeMs))) {
      await audit.record({
        ...{ aid: '', action: 'audit.expire', outcome: 'success', actor: 'vault' },
        ...{ ip: '', userAgent: '', requestId: randomId(), object: `account/${aid}` },
      });
      await auditStore.remove(aid);
    }
  };

  return {
    async sweep(liveAids) {
      const { auditRetentionMs } = settings;
      const live = new Set(['', ...liveAids]);
      const failures: unknown[] = [];
      const aids = auditRetentionMs === 0 ? [] : await auditStore.chains();
      for (const aid of aids) {
        await sweepOne(aid, now() - auditRetentionMs, live.has(aid)).catch((error: unknown) => {
          if (error instanceof VaultError && error.code === 'integrity_failed') {
            // A chain that is damaged is left for people to look at, and must not hold up the others.
            onDamaged(aid);
          } else {
            failures.push(error);
          }
        });
      }
      if (failures.length > 0) {
        throw failures[0];
      }
    },
  };
}
