import { type Clock, DAY_MS } from '../core/clock.ts';
import { createSemaphore, createSharedRuns } from '../core/concurrency.ts';
import { OPERATIONS } from '../core/operations.ts';
import type { PriceTable } from '../core/settings.ts';
import { formatExpiry } from '../domain/text/time.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { UsageFolding } from '../request/folding.ts';
import { monthOf, requestsOf } from '../request/metering.ts';
import type { UsageStore } from '../request/usage-store.ts';
import type { ItemStore } from '../vault/store/items.ts';
import { addMoney, formatMoney, NO_MONEY, parseMoney, timesMoney } from './price.ts';
import type { Billing, Usage } from './schema.ts';

/** Keys whose tokens are counted at once, for all accounts together, so that other requests are served in between. */
const KEYS_AT_ONCE = 32;

type Held = Pick<Usage, 'keys' | 'tokens'>;

/** Reports on accounts: what they have used, what it costs, and what they have stored. */
export class UsageReports {
  private readonly semaphore = createSemaphore(KEYS_AT_ONCE);
  /** Shared by concurrent requests of an account, so that its tokens are counted once. */
  private readonly counting = createSharedRuns<Held>();

  constructor(
    private readonly itemStore: ItemStore,
    private readonly usageStore: UsageStore,
    private readonly folding: UsageFolding,
    private readonly keys: KeyOpener,
    private readonly prices: PriceTable,
    private readonly now: Clock,
  ) {}

  /** Returns what the account has used since the month began (UTC), at the operator's current prices. */
  async billing({ account }: AccountContext): Promise<Billing> {
    const { prices } = this;
    const at = this.now();
    const counts = await this.read(account, monthOf(at));
    let sum = NO_MONEY;
    const items = OPERATIONS.map((operation) => {
      const count = counts.get(operation) ?? 0;
      const unit_price = prices.prices[operation] ?? prices.default;
      const amount = timesMoney(parseMoney(unit_price), count);
      sum = addMoney(sum, amount);
      return { operation, count, unit_price, amount: formatMoney(amount) };
    });
    const from = `${monthOf(at)}-01T00:00:00Z`;
    return { currency: prices.currency, amount: formatMoney(sum), from, to: formatExpiry(at), items };
  }

  /** Returns the current numbers of keys and tokens, and the requests of a month (`YYYY-MM`), by default the current one. */
  async usage(
    { account }: AccountContext,
    {
      month = monthOf(this.now()),
      by_day,
    }: { readonly month?: string | undefined; readonly by_day: boolean },
  ): Promise<Usage> {
    const [counts, held] = await Promise.all([
      this.read(account, month),
      this.counting(account.aid, () => this.countHeld(account.aid)),
    ]);
    const { sum, ofDays } = requestsOf(counts, daysOf(month, this.now()));
    return { month, ...held, api_requests: sum, ...(by_day && { days: ofDays }) };
  }

  /** Returns the counts of a month (`YYYY-MM`), by operation, with the requests of each day. */
  async read({ aid }: Pick<Account, 'aid'>, month: string): Promise<ReadonlyMap<string, number>> {
    await this.fold(aid);
    return this.usageStore.read(aid, month);
  }

  /** Adds the counts of all buckets of an account to its own. */
  async fold(aid: string): Promise<void> {
    // A key that is damaged has no share in what the others have counted.
    for await (const keys of this.keys.chunks({ aid }, undefined, 'integrity_failed')) {
      await this.folding.fold(
        aid,
        keys.map(({ kid }) => kid),
      );
    }
  }

  private async countHeld(aid: string): Promise<Held> {
    let held: Held = { keys: 0, tokens: 0 };
    for await (const keys of this.keys.chunks({ aid })) {
      const counts = await Promise.all(
        keys.map(({ kid }) => this.semaphore(() => this.itemStore.countItems(kid))),
      );
      held = { keys: held.keys + keys.length, tokens: counts.reduce((sum, n) => sum + n, held.tokens) };
    }
    return held;
  }
}

/** Counts the days of a month (`YYYY-MM`) that have begun. */
function daysOf(month: string, now: number): number {
  const start = new Date(`${month}-01T00:00:00Z`);
  const days = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0)).getUTCDate();
  return Math.min(days, Math.max(0, Math.ceil((now - start.getTime() + 1) / DAY_MS)));
}
