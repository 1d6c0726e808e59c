import { createMemory, type Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import { sourceOf } from '../domain/text/source.ts';
import type { Account } from '../request/context.ts';
import type { RateStore } from './store.ts';

/** The rate limits that the operator has set. */
export interface RateService {
  /** Counts a request of an address; rejects with `rate_limited` above the limit. Returns undefined where there is no limit. */
  readonly source: (ip: string) => Promise<void> | undefined;
  /** The same for an account that has signed in. */
  readonly account: (account: Pick<Account, 'aid'>) => Promise<void> | undefined;
  /** The number of requests that this process has rejected. */
  readonly rejected: () => number;
}

/** The longest wait that a limit of one request a minute causes. */
const WAIT_MS_MAX = 60_000;
const REJECTED_MAX = 10_000;

interface RateState {
  readonly rateStore: RateStore;
  readonly now: Clock;
  /** When the next request of a rejected counter may come, ms since 1970: until then Redis is not asked. */
  readonly rejectedUntil: Memory<number>;
  rejected: number;
}

function reject(state: RateState, waitMs: number): never {
  state.rejected += 1;
  throw new VaultError('rate_limited', { retryAfterSeconds: waitMs / 1_000 });
}

async function check(state: RateState, counter: string, perMinute: number): Promise<void> {
  const { rateStore, now, rejectedUntil } = state;
  const leftMs = (rejectedUntil.get(counter) ?? 0) - now();
  // A longer wait means that the clock was set back.
  if (leftMs > 0 && leftMs <= WAIT_MS_MAX) {
    reject(state, leftMs);
  }
  const waitMs = await rateStore.take(counter, perMinute);
  if (waitMs > 0) {
    rejectedUntil.set(counter, now() + waitMs);
    reject(state, waitMs);
  }
}

/** Makes the rate limits of a server. A limit of 0 is none. */
export function createRates({
  rateStore,
  now,
  settings: { ratePerSource, ratePerAccount },
}: {
  readonly rateStore: RateStore;
  readonly now: Clock;
  readonly settings: Pick<ServiceSettings, 'ratePerAccount' | 'ratePerSource'>;
}): RateService {
  const rejectedUntil = createMemory<number>(REJECTED_MAX, WAIT_MS_MAX, now);
  const state: RateState = { rateStore, now, rejectedUntil, rejected: 0 };
  return {
    source: (ip) =>
      ratePerSource === 0 ? undefined : check(state, rateStore.sourceCounter(sourceOf(ip)), ratePerSource),
    account: ({ aid }) =>
      ratePerAccount === 0 ? undefined : check(state, rateStore.accountCounter(aid), ratePerAccount),
    rejected: () => state.rejected,
  };
}
