import { type Clock, DAY_MS, type RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { Audit } from './audit.ts';
import type { AuditStore } from './store.ts';

const STEP = 256;

/**
 * Removes old entries, from the old end only. A sealed mark names the start of the rest and its predecessor, so that no other
 * removal can pass as retention. The newest entry of an existing account stays.
 */
export class AuditRetention {
  constructor(
    private readonly store: AuditStore,
    private readonly crypto: Crypto,
    private readonly audit: Audit,
    private readonly recordEvent: RecordEvent,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
    private readonly randomId: RandomId,
  ) {}

  /** Removes old entries of all chains. A damaged chain is reported and kept. The first other error is thrown at the end. */
  async sweep(liveAids: readonly string[]): Promise<void> {
    const { auditRetentionMs } = this.settings;
    const live = new Set(['', ...liveAids]);
    const errors: unknown[] = [];
    for (const aid of auditRetentionMs === 0 ? [] : await this.store.chains()) {
      const beforeMs = this.now() - auditRetentionMs;
      const swept = recover(this.sweepOne(aid, beforeMs, live.has(aid)), 'integrity_failed', 'damaged');
      if ((await swept.catch((error: unknown) => errors.push(error))) === 'damaged') {
        this.recordEvent('audit_integrity_failed', { account: aid });
      }
    }
    if (errors.length > 0) {
      throw errors[0];
    }
  }

  private async sweepOne(aid: string, beforeMs: number, isLive: boolean): Promise<void> {
    while (await this.trimSome(aid, beforeMs)) {
      // The next part.
    }
    if (isLive) {
      return;
    }
    const { head } = await this.crypto.describeChain({ aid, ...(await this.store.readMarks(aid)) });
    // All checkpoints of the chain are old, too.
    if (head.latestMs < beforeMs - DAY_MS) {
      await this.audit.record({
        ...{ aid: '', action: 'audit.expire', outcome: 'success', actor: 'vault', object: `account/${aid}` },
        ...{ ip: '', userAgent: '', requestId: this.randomId() },
      });
      await this.store.remove(aid);
    }
  }

  /** Removes some old entries; false when there are no more. */
  private async trimSome(aid: string, beforeMs: number): Promise<boolean> {
    const marks = await this.store.readMarks(aid);
    const { head, start } = await this.crypto.describeChain({ aid, ...marks });
    const first = start.sequence + 1;
    const last = Math.min(head.sequence - 1, start.sequence + STEP);
    if (last < first) {
      return false;
    }
    const sequences = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    const entries = (await this.store.read(aid, sequences)).filter((entry) => entry !== undefined);
    const { mark, record } = await this.crypto.trimAudit({ ...{ aid, beforeMs, start }, entries });
    if (record === undefined) {
      return false;
    }
    const isTrimmed = await this.store.trim(aid, marks.start, record, { first, last: mark.sequence });
    return !isTrimmed || mark.sequence === last;
  }
}
