import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import { sourceOf } from '../domain/text/network.ts';
import type { LimitStore, UseRate } from './store.ts';

export type { UseRate } from './store.ts';

const MINUTE_MS = 60_000;
/** The longest wait, with a limit of one request an hour. */
const WAIT_MS_MAX = 3_600_000;
const REJECTED_MAX = 10_000;

/** The operator's rate limits. A limit of 0 is none. */
export class Rates {
  /** The earliest next request of a rejected counter, in ms since 1970: until then Redis is not queried. */
  private readonly rejectedUntil: Memory<number>;
  private rejections = 0;

  constructor(
    private readonly store: LimitStore,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
  ) {
    this.rejectedUntil = new Memory(REJECTED_MAX, WAIT_MS_MAX, now);
  }

  /** Counts a request of an address. Rejects with `rate_limited` above the limit; returns undefined if there is none. */
  source(ip: string): Promise<void> | undefined {
    const { ratePerSource } = this.settings;
    return ratePerSource === 0
      ? undefined
      : this.check(this.store.sourceCounter(sourceOf(ip)), { count: ratePerSource, periodMs: MINUTE_MS });
  }

  /** Does the same for an account that has signed in, with the limit of all accounts and its own. The operator has none. */
  account({
    aid,
    rate,
  }: {
    readonly aid: string;
    readonly rate?: UseRate | undefined;
  }): Promise<void> | undefined {
    const { ratePerAccount } = this.settings;
    const common =
      ratePerAccount === 0 || aid === ''
        ? undefined
        : this.check(this.store.accountCounter(aid), { count: ratePerAccount, periodMs: MINUTE_MS });
    if (rate === undefined) {
      return common;
    }
    const checkOwn = (): Promise<void> => this.check(this.store.ownCounter(aid), rate);
    return common === undefined ? checkOwn() : common.then(checkOwn);
  }

  /** Does the same for an address at an endpoint with a rate of its own; `nonce` is that of the endpoint. */
  endpoint(nonce: string, ip: string, rate: UseRate): Promise<void> {
    return this.check(this.store.endpointCounter(nonce, sourceOf(ip)), rate);
  }

  rejected(): number {
    return this.rejections;
  }

  private async check(counter: string, rate: UseRate): Promise<void> {
    const { now, rejectedUntil } = this;
    const leftMs = (rejectedUntil.get(counter) ?? 0) - now();
    // A wait longer than the period means that the clock was set back.
    if (leftMs > 0 && leftMs <= rate.periodMs) {
      this.reject(leftMs);
    }
    const waitMs = await this.store.take(counter, rate);
    if (waitMs > 0) {
      rejectedUntil.set(counter, now() + waitMs);
      this.reject(waitMs);
    }
  }

  private reject(waitMs: number): never {
    this.rejections += 1;
    throw new VaultError('rate_limited', { retryAfterSeconds: waitMs / 1_000 });
  }
}
