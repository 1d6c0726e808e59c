import type { Clock } from '../core/clock.ts';
import { asVaultError, failureFields, isFault } from '../core/error-cause.ts';
import type { Crypto } from '../crypto/client.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { AuditQueue } from './queue.ts';
import type { AuditStore } from './store.ts';

/** Signs heads of security logs, announces and stores them. If two servers sign the same chain, the later one stays. */
export class AuditCheckpoints {
  /** Chains whose checkpoint failed: the next `take` retries it. */
  private readonly failed = new Set<string>();

  constructor(
    private readonly store: AuditStore,
    private readonly crypto: Crypto,
    private readonly queue: AuditQueue,
    private readonly recordEvent: RecordEvent,
    private readonly now: Clock,
  ) {}

  /** Takes a checkpoint of each chain that this process has added to since the last time. */
  take(): Promise<void> {
    return this.takeEach(new Set([...this.failed, ...this.queue.takeMoved()]));
  }

  /** Takes a checkpoint of each chain that has grown since its newest one, on any server. */
  async catchUp(): Promise<void> {
    await this.takeEach(await this.store.chains());
  }

  private async takeEach(aids: Iterable<string>): Promise<void> {
    for (const aid of aids) {
      try {
        await this.takeOne(aid);
        this.failed.delete(aid);
      } catch (error) {
        this.failed.add(aid);
        if (isFault(asVaultError(error))) {
          this.recordEvent('audit_checkpoint_failed', failureFields(error));
        }
      }
    }
  }

  private async takeOne(aid: string): Promise<void> {
    const { head, start } = await this.store.readMarks(aid);
    if (!head) {
      return;
    }
    const { sequence } = (await this.crypto.describeChain({ aid, head, start })).head;
    const newest = await this.store.readCheckpoint(aid);
    if (newest && newest.sequence >= sequence) {
      return;
    }
    const checkpoint = await this.crypto.signCheckpoint({ aid, head, timeMs: this.now() });
    // Announced before it is stored: announcing it twice is harmless, never announcing it is not.
    this.recordEvent('audit_checkpoint', { ...checkpoint });
    await this.store.putCheckpoint(aid, sequence, JSON.stringify(checkpoint));
  }
}
