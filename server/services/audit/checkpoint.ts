import type { Checkpoint, Crypto } from '../../crypto/client.ts';
import type { AuditStore } from '../../store/audit.ts';
import type { Clock } from '../common/clock.ts';
import type { Audit } from './audit.ts';

export interface Checkpoints {
  /** Takes one of each chain that this process has added to since the last time. */
  readonly take: () => Promise<void>;
  /** Takes one of each chain that has gone on since its newest one, whoever added to it. */
  readonly catchUp: () => Promise<void>;
}

interface CheckpointDependencies {
  readonly crypto: Pick<Crypto, 'describeChain' | 'signCheckpoint'>;
  readonly auditStore: Pick<AuditStore, 'chains' | 'putCheckpoint' | 'readCheckpoint' | 'readMarks'>;
  readonly audit: Pick<Audit, 'takeMoved'>;
  readonly now: Clock;
  readonly announce: (checkpoint: Checkpoint) => void;
  /** Called with why a checkpoint was not taken; it is tried again. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Signs how far security logs have come, tells it, and keeps the newest one of each chain. Two servers that sign the
 * same chain do no harm: both tell the truth, and the later one stays.
 */
export function createCheckpoints(dependencies: CheckpointDependencies): Checkpoints {
  const { crypto, auditStore, audit, now, announce, onFailure } = dependencies;
  /** Chains whose checkpoint failed: it is taken the next time. */
  const failed = new Set<string>();

  const takeOne = async (aid: string): Promise<void> => {
    const { head, start } = await auditStore.readMarks(aid);
    if (!head) {
      return;
    }
    const { sequence } = (await crypto.describeChain({ aid, ...{ head, start } })).head;
    const newest = await auditStore.readCheckpoint(aid);
    if (newest && newest.sequence >= sequence) {
      return;
    }
    const checkpoint = await crypto.signCheckpoint({ aid, head, timeMs: now() });
    // Told before it is kept: one that was told twice does no harm, one that nobody was told of does.
    announce(checkpoint);
    await auditStore.putCheckpoint(aid, sequence, JSON.stringify(checkpoint));
  };

  const takeEach = async (aids: readonly string[]): Promise<void> => {
    for (const aid of aids) {
      await takeOne(aid).then(
        () => failed.delete(aid),
        (error: unknown) => {
          failed.add(aid);
          onFailure(error);
        },
      );
    }
  };

  return {
    take: () => takeEach([...new Set([...failed, ...audit.takeMoved()])]),
    async catchUp() {
      await takeEach(await auditStore.chains());
    },
  };
}
