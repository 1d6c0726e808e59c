import { bindParts } from '../core/bind.ts';
import { type Clock, DAY_MS, type RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Audit } from './audit.ts';
import type { AuditStore } from './store.ts';

const STEP = 256;

interface RetentionParts {
  readonly crypto: Pick<Crypto, 'describeChain' | 'trimAudit'>;
  readonly auditStore: Pick<AuditStore, 'chains' | 'read' | 'readMarks' | 'remove' | 'trim'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'auditRetentionMs'>;
  /** Called with the account of a chain that is damaged. It is left for the operator to examine. */
  readonly onDamaged: (aid: string) => void;
}

/**
 * Retention removes entries from the old end alone. A sealed mark says where the rest begins and what it must follow, so
 * that no other removal can pass as one of retention. The newest entry of an account that exists stays.
 */
export function createAuditRetention(parts: RetentionParts) {
  return bindParts(parts, { sweep });
}

/** Removes some old entries; false when there are no more. */
async function trimSome(
  { crypto, auditStore }: RetentionParts,
  aid: string,
  beforeMs: number,
): Promise<boolean> {
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
}

/** Whether nothing in a chain has to be kept any more, nor any checkpoint of it. */
async function isOver(
  { crypto, auditStore }: RetentionParts,
  aid: string,
  beforeMs: number,
): Promise<boolean> {
  const { head } = await crypto.describeChain({ aid, ...(await auditStore.readMarks(aid)) });
  return head.latestMs < beforeMs - DAY_MS;
}

async function sweepOne(
  parts: RetentionParts,
  aid: string,
  beforeMs: number,
  isLive: boolean,
): Promise<void> {
  while (await trimSome(parts, aid, beforeMs)) {
    // The next part.
  }
  if (!isLive && (await isOver(parts, aid, beforeMs))) {
    await parts.audit.record({
      ...{ aid: '', action: 'audit.expire', outcome: 'success', actor: 'vault', object: `account/${aid}` },
      ...{ ip: '', userAgent: '', requestId: parts.randomId() },
    });
    await parts.auditStore.remove(aid);
  }
}

/**
 * Removes the old entries of all chains, and the chains of accounts that are gone once all of it is old. A chain that fails
 * does not stop the others; the first error is thrown at the end.
 */
async function sweep(parts: RetentionParts, liveAids: readonly string[]): Promise<void> {
  const { auditStore, now, onDamaged, settings } = parts;
  const live = new Set(['', ...liveAids]);
  const errors: unknown[] = [];
  for (const aid of settings.auditRetentionMs === 0 ? [] : await auditStore.chains()) {
    const beforeMs = now() - settings.auditRetentionMs;
    const swept = recover(sweepOne(parts, aid, beforeMs, live.has(aid)), 'integrity_failed', 'damaged');
    if ((await swept.catch((error: unknown) => errors.push(error))) === 'damaged') {
      onDamaged(aid);
    }
  }
  if (errors.length > 0) {
    throw errors[0];
  }
}
