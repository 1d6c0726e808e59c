import { type ErrorCode, VaultError } from '../../core/errors.ts';
import type { AccountStore } from '../../store/account.ts';
import { createMemory } from '../common/memory.ts';
import type { ServiceSettings } from '../common/settings.ts';

const WINDOW_MS = 15 * 60 * 1_000;
const CLEAR_AGAIN_MS = 20;
const COUNTERS_MAX = 100_000;

/** Limits attempts at a secret within a time window, over all servers. */
export interface Attempts {
  /**
   * Counts an attempt before its cost is paid; rejects with `too_many_failures` above the limit. An attempt that ends with
   * the code `wrong` stays counted, and any other error uncounts it. A success is to be followed by `succeed`: at once, or
   * when commands that its caller waits for need not wait for that one.
   */
  readonly run: <T>(counter: string, wrong: ErrorCode, work: () => Promise<T>) => Promise<T>;
  /** Clears the count after a correct secret. */
  readonly succeed: (counter: string) => void;
}

/** Makes the attempt limits of a server. `authFailuresMax` 0 is no limit. */
export function createAttempts({
  accountStore,
  settings,
}: {
  readonly accountStore: Pick<AccountStore, 'countAttempt' | 'clearAttempts' | 'giveBackAttempt'>;
  readonly settings: Pick<ServiceSettings, 'authFailuresMax'>;
}): Attempts {
  const cleared = createMemory<true>(COUNTERS_MAX, CLEAR_AGAIN_MS, () => performance.now());

  /** Clears at most once in 20 ms: another server may have counted too, but not every success needs a command. */
  const succeed = (counter: string): void => {
    if (settings.authFailuresMax === 0 || cleared.get(counter)) {
      return;
    }
    cleared.set(counter, true);
    // Not awaited: a count that stays is only stricter.
    accountStore.clearAttempts(counter).catch(() => undefined);
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
      cleared.delete(counter);
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof VaultError && error.code === wrong)) {
          await accountStore.giveBackAttempt(counter).catch(() => undefined);
        }
        throw error;
      }
    },
  };
}
