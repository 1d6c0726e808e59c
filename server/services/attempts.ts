import type { Parts } from '../deps.ts';
import { type ErrorCode, VaultError } from '../errors.ts';
import { coalesce } from './coalesce.ts';
import { createMemory } from './memory.ts';

const WINDOW_MS = 15 * 60 * 1_000;
const COUNTERS_MAX = 100_000;

/** Counts attempts at a secret, on all servers together, and refuses more than the limit in a window. */
export interface Attempts {
  /**
   * Counts an attempt before its cost is paid, and refuses with `too_many_failures`. What ends with `wrong`
   * stays counted; a success clears the count; whatever else happens was no attempt at all.
   */
  readonly run: <T>(counter: string, wrong: ErrorCode, work: () => Promise<T>) => Promise<T>;
  /** Forgets what was counted, since the right secret came. */
  readonly succeed: (counter: string) => void;
}

export function createAttempts({
  accountStore,
  now,
  settings,
}: Pick<Parts, 'accountStore' | 'now' | 'settings'>): Attempts {
  const clearers = createMemory<() => Promise<void>>(COUNTERS_MAX, WINDOW_MS, now);

  /** Another server may have counted too, so every success clears; those of one moment share a round trip. */
  const succeed = (counter: string): void => {
    if (settings.authFailuresMax === 0) {
      return;
    }
    const clear = clearers.get(counter) ?? coalesce(() => accountStore.clearAttempts(counter));
    clearers.set(counter, clear);
    // Nobody waits for it, and a count that stays is only stricter.
    clear().catch(() => undefined);
  };

  return {
    succeed,
    async run(counter, wrong, work) {
      if (settings.authFailuresMax === 0) {
        return work();
      }
      const waitMs = await accountStore.countAttempt(counter, settings.authFailuresMax, WINDOW_MS);
      if (waitMs > 0) {
        throw new VaultError('too_many_failures', { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
      }
      try {
        const result = await work();
        succeed(counter);
        return result;
      } catch (error) {
        if (!(error instanceof VaultError && error.code === wrong)) {
          await accountStore.giveBackAttempt(counter).catch(() => undefined);
        }
        throw error;
      }
    },
  };
}
