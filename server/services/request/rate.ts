import { VaultError } from '../../core/errors.ts';
import { sourceOf } from '../../domain/text/source.ts';
import type { RateStore } from '../../store/rate.ts';
import type { Clock } from '../common/clock.ts';
import { createMemory } from '../common/memory.ts';
import type { Account } from '../common/request-context.ts';
import type { ServiceSettings } from '../common/settings.ts';

/** The rates that the operator allows; undefined, at once, where there is no limit. */
export interface RateService {
  /** Counts a request of an address, or refuses it with `rate_limited`. */
  readonly source: (ip: string) => Promise<void> | undefined;
  /** The same for an account that has shown who it is. */
  readonly account: (account: Pick<Account, 'aid'>) => Promise<void> | undefined;
  /** Requests that this process has refused so far. */
  readonly refused: () => number;
}

/** The longest that a rate of one request a minute makes anybody wait. */
const WAIT_MS_MAX = 60_000;
const REFUSED_MAX = 10_000;

function limited(waitMs: number): VaultError {
  return new VaultError('rate_limited', { retryAfterSeconds: waitMs / 1_000 });
}

/** Refuses requests over the operator's rates. Whoever was refused is not asked for again until the next may come. */
export function createRates({
  rateStore,
  now,
  settings,
}: {
  readonly rateStore: RateStore;
  readonly now: Clock;
  readonly settings: Pick<ServiceSettings, 'ratePerAccount' | 'ratePerSource'>;
}): RateService {
  const refusedUntil = createMemory<number>(REFUSED_MAX, WAIT_MS_MAX, now);
  let refused = 0;

  const refuse = (waitMs: number): never => {
    refused += 1;
    throw limited(waitMs);
  };

  const take = async (counter: string, perMinute: number): Promise<void> => {
    const waitMs = await rateStore.take(counter, perMinute);
    if (waitMs > 0) {
      refusedUntil.set(counter, now() + waitMs);
      refuse(waitMs);
    }
  };

  const check = (counter: string, perMinute: number): Promise<void> => {
    const leftMs = (refusedUntil.get(counter) ?? 0) - now();
    // More than that is a clock that was set back.
    return leftMs > 0 && leftMs <= WAIT_MS_MAX ? refuse(leftMs) : take(counter, perMinute);
  };

  return {
    source: (ip) =>
      settings.ratePerSource === 0
        ? undefined
        : check(rateStore.sourceCounter(sourceOf(ip)), settings.ratePerSource),
    account: ({ aid }) =>
      settings.ratePerAccount === 0
        ? undefined
        : check(rateStore.accountCounter(aid), settings.ratePerAccount),
    refused: () => refused,
  };
}
