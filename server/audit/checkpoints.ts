import type { Checkpoint } from '../../workers/jobs/audit/jobs.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Audit } from './audit.ts';
import type { AuditStore } from './store.ts';

interface CheckpointDependencies {
  readonly crypto: Pick<Crypto, 'describeChain' | 'signCheckpoint'>;
  readonly auditStore: Pick<AuditStore, 'chains' | 'putCheckpoint' | 'readCheckpoint' | 'readMarks'>;
  readonly audit: Pick<Audit, 'takeMoved'>;
  readonly now: Clock;
  /** Called with each checkpoint before it is stored: it is to be kept outside of Redis. */
  readonly announce: (checkpoint: Checkpoint) => void;
  /** Called with why a checkpoint was not taken; it is retried. */
  readonly onFailure: (error: unknown) => void;
}

interface CheckpointParts extends CheckpointDependencies {
  /** Chains whose checkpoint failed: the next `take` retries it. */
  readonly failed: Set<string>;
}

/**
 * Signs how far security logs have come, announces it, and stores the newest one of each chain. Two servers that sign the
 * same chain do no harm: both are right, and the later one stays.
 */
export function createCheckpoints(dependencies: CheckpointDependencies) {
  const parts: CheckpointParts = { ...dependencies, failed: new Set() };
  return bindParts(parts, { take, catchUp });
}

async function takeOne({ crypto, auditStore, now, announce }: CheckpointParts, aid: string): Promise<void> {
  const { head, start } = await auditStore.readMarks(aid);
  if (!head) {
    return;
  }
  const { sequence } = (await crypto.describeChain({ aid, head, start })).head;
  const newest = await auditStore.readCheckpoint(aid);
  if (newest && newest.sequence >= sequence) {
    return;
  }
  const checkpoint = await crypto.signCheckpoint({ aid, head, timeMs: now() });
  // Announced before it is stored: one that is announced twice does no harm, one that never is does.
  announce(checkpoint);
  await auditStore.putCheckpoint(aid, sequence, JSON.stringify(checkpoint));
}

async function takeEach(parts: CheckpointParts, aids: Iterable<string>): Promise<void> {
  for (const aid of aids) {
    await takeOne(parts, aid).then(
      () => parts.failed.delete(aid),
      (error: unknown) => {
        parts.failed.add(aid);
        parts.onFailure(error);
      },
    );
  }
}

/** Takes a checkpoint of each chain that this process has added to since the last time. */
function take(parts: CheckpointParts): Promise<void> {
  return takeEach(parts, new Set([...parts.failed, ...parts.audit.takeMoved()]));
}

/** Takes a checkpoint of each chain that has gone on since its newest one, whichever server added to it. */
async function catchUp(parts: CheckpointParts): Promise<void> {
  await takeEach(parts, await parts.auditStore.chains());
}
