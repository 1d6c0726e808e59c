import type { Clock, RandomId } from '../core/clock.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { RewriteOutcome, RewriteStore } from './store/sad-rewrite.ts';

/** Rounds in the time within which an expired code has left the files: the rest is for the rewrite itself. */
const ROUNDS = 4;
/** Tolerance for the clock of a server that stores codes and is ahead of this one. */
const SKEW_MS = 60_000;

/**
 * Removes expired verification codes from the append-only files of Redis. All notes are in Redis, so that any server can
 * continue.
 */
export class SadRewrites {
  private readonly server: string;
  private readonly stopping = new AbortController();
  /** The outcome of the last attempt that this server knows of. */
  private outcome: RewriteOutcome | undefined;

  constructor(
    private readonly store: RewriteStore,
    private readonly settings: ServiceSettings,
    private readonly recordEvent: RecordEvent,
    private readonly now: Clock,
    randomId: RandomId,
  ) {
    this.server = randomId();
  }

  /**
   * Rewrites the files if they may still have expired codes: after every expiry, and every deletion after a payment, since
   * the last rewrite began. One of all servers does so. Resolves with the ms until the next round; never rejects.
   */
  async round(): Promise<number> {
    // Half of the promised time passes between the starts of two rewrites.
    const pause = Math.ceil(this.settings.sadRewriteMs / ROUNDS);
    try {
      if (this.settings.sadTtlMs > 0) {
        const { until } = await this.store.read();
        await this.store.expect(Math.max(until, this.now() + this.settings.sadTtlMs));
      }
      const before = await this.store.read();
      this.learn(before.outcome);
      const isDropped = before.wanted !== before.covered;
      const isEarly = before.outcome === 'ok' && this.now() - before.begun < 2 * pause;
      // Codes that expire may exist, or may have expired since the last rewrite began.
      const mayHaveExpired = before.until > 0 && before.begun <= before.until + SKEW_MS;
      const isNeeded = (isDropped || mayHaveExpired) && !isEarly;
      if (!isNeeded || !(await this.store.lease.claim(this.server, pause))) {
        return pause;
      }
      try {
        await this.rewriteIfNeeded(isDropped);
      } finally {
        await this.store.lease.release(this.server);
      }
    } catch (error) {
      if (!this.stopping.signal.aborted) {
        this.recordEvent('sad_rewrite_failed', { error: error instanceof Error ? error.name : 'error' });
      }
    }
    return pause;
  }

  /** Returns whether the last rewrite has succeeded; undefined if none was needed. */
  isOk(): boolean | undefined {
    return this.outcome === undefined || this.outcome === 'no_file' ? undefined : this.outcome === 'ok';
  }

  /** Ends the wait for a rewrite, which Redis itself completes. */
  stop(): void {
    this.stopping.abort();
  }

  private async rewriteIfNeeded(isDropped: boolean): Promise<void> {
    await this.store.removeExpired();
    // Read before the rewrite begins: later changes are left to the next one.
    const begun = this.now();
    const { wanted, mark: last } = await this.store.read();
    const mark = await this.store.mark();
    if (!isDropped && mark === last) {
      return;
    }
    const startedAt = performance.now();
    const outcome = await this.store.rewrite(this.stopping.signal);
    await this.store.finish(outcome, begun, mark, wanted);
    this.learn(outcome);
    if (outcome === 'ok') {
      this.recordEvent('sad_rewritten', { ms: Math.round(performance.now() - startedAt) });
    } else if (outcome === 'failed') {
      this.recordEvent('sad_rewrite_failed');
    }
  }

  /** Notes an outcome. The event of a rejected rewrite is recorded once, until there is another outcome. */
  private learn(outcome: RewriteOutcome | undefined): void {
    if (outcome === 'refused' && this.outcome !== 'refused') {
      this.recordEvent('sad_rewrite_refused');
    }
    this.outcome = outcome;
  }
}
