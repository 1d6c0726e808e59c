import { bindParts } from '../core/bind.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { RewriteOutcome, RewriteState, RewriteStore } from './store/sad-rewrite.ts';

/** Rounds in the time within which an expired code has left the files: the rest is for the rewrite itself. */
const ROUNDS = 4;
/** How long before its expiry a code may be stored by a clock that is ahead of ours. */
const SKEW_MS = 60_000;

interface RewriteDependencies {
  readonly rewriteStore: RewriteStore;
  readonly settings: Pick<ServiceSettings, 'sadTtlMs' | 'sadRewriteMs'>;
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly randomId: RandomId;
}

interface Parts extends RewriteDependencies {
  readonly server: string;
  readonly stopping: AbortController;
  /** The outcome of the last attempt that this server knows of. */
  readonly known: { outcome: RewriteOutcome | undefined };
}

/** Makes what removes expired verification codes from the disk. All notes are in Redis, so that any server goes on. */
export function createRewrites(dependencies: RewriteDependencies) {
  const parts: Parts = {
    ...dependencies,
    server: dependencies.randomId(),
    stopping: new AbortController(),
    known: { outcome: undefined },
  };
  return bindParts(parts, { round, isOk, stop });
}

/** The time between two rounds, and between the beginnings of two rewrites half of the promised one. */
function pauseMs({ settings }: Parts): number {
  return Math.ceil(settings.sadRewriteMs / ROUNDS);
}

/** Whether codes that expire may exist, or may have expired since the last rewrite began. */
function mayHaveExpired({ until, begun }: RewriteState): boolean {
  return until > 0 && begun <= until + SKEW_MS;
}

/**
 * Removes expired codes from the files if there are any that may still be in them: every expiry, and every deletion
 * after a payment, since the last rewrite began. Of all servers one does so. Resolves with the ms until the next
 * round; never rejects.
 */
async function round(parts: Parts): Promise<number> {
  const { rewriteStore, settings, recordEvent, now, server, stopping } = parts;
  const pause = pauseMs(parts);
  try {
    if (settings.sadTtlMs > 0) {
      const { until } = await rewriteStore.read();
      await rewriteStore.expect(Math.max(until, now() + settings.sadTtlMs));
    }
    const before = await rewriteStore.read();
    learn(parts, before.outcome);
    const isDropped = before.wanted !== before.covered;
    const isEarly = before.outcome === 'ok' && now() - before.begun < 2 * pause;
    if ((!isDropped && !mayHaveExpired(before)) || isEarly || !(await rewriteStore.claim(server, pause))) {
      return pause;
    }
    try {
      await rewriteIfNeeded(parts, isDropped);
    } finally {
      await rewriteStore.release(server);
    }
  } catch (error) {
    if (!stopping.signal.aborted) {
      recordEvent('sad_rewrite_failed', { error: error instanceof Error ? error.name : 'error' });
    }
  }
  return pause;
}

async function rewriteIfNeeded(parts: Parts, isDropped: boolean): Promise<void> {
  const { rewriteStore, recordEvent, now, stopping } = parts;
  await rewriteStore.removeExpired();
  // Read before the rewrite begins: what comes later is left to the next one.
  const [begun, { wanted, mark: last }, mark] = [now(), await rewriteStore.read(), await rewriteStore.mark()];
  if (!isDropped && mark === last) {
    return;
  }
  const startedAt = performance.now();
  const outcome = await rewriteStore.rewrite(stopping.signal);
  await rewriteStore.finish(outcome, { begun, mark, wanted });
  learn(parts, outcome);
  if (outcome === 'ok') {
    recordEvent('sad_rewritten', { ms: Math.round(performance.now() - startedAt) });
  } else if (outcome === 'failed') {
    recordEvent('sad_rewrite_failed');
  }
}

/** Remembers an outcome. A refusal is recorded once, until there is another outcome. */
function learn({ known, recordEvent }: Parts, outcome: RewriteOutcome | undefined): void {
  if (outcome === 'refused' && known.outcome !== 'refused') {
    recordEvent('sad_rewrite_refused');
  }
  known.outcome = outcome;
}

/** Whether the last rewrite has succeeded; undefined if none was needed. */
function isOk({ known }: Parts): boolean | undefined {
  return known.outcome === undefined || known.outcome === 'no_file' ? undefined : known.outcome === 'ok';
}

/** Ends the wait for a rewrite, which Redis itself completes. */
function stop({ stopping }: Parts): void {
  stopping.abort();
}
