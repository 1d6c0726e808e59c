import type { Billing, Usage } from '../account/schema.ts';
import { bindParts } from '../core/bind.ts';
import { type Clock, DAY_MS } from '../core/clock.ts';
import { createSemaphore, createSharedRuns, recover } from '../core/concurrency.ts';
import { OPERATIONS } from '../core/operations.ts';
import { formatExpiry } from '../domain/text/time.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { AccountContext } from '../request/context.ts';
import { type MeteringService, monthOf, requestsOf } from '../request/metering.ts';
import type { ItemStore } from '../vault/store/items.ts';
import { addMoney, formatMoney, NO_MONEY, type PriceTable, parseMoney, timesMoney } from './price.ts';

/** Keys whose tokens are counted at once, for all accounts together, so that other requests come between. */
const KEYS_AT_ONCE = 32;
const KEYS_STEP = 1_024;

interface AdminDependencies {
  readonly itemStore: Pick<ItemStore, 'countItems'>;
  readonly metering: Pick<MeteringService, 'read'>;
  readonly keys: Pick<KeyOpener, 'find' | 'users'>;
  readonly prices: PriceTable;
  readonly now: Clock;
}

type Held = Pick<Usage, 'keys' | 'tokens'>;
type AdminParts = ReturnType<typeof createParts>;

function createParts(dependencies: AdminDependencies) {
  return { ...dependencies, semaphore: createSemaphore(KEYS_AT_ONCE), counting: createSharedRuns<Held>() };
}

/** What an account has used, what it costs, and what it has stored. */
export type Admin = ReturnType<typeof createAdmin>;

/** Makes the bills and figures of the accounts of a server. */
export function createAdmin(dependencies: AdminDependencies) {
  return bindParts(createParts(dependencies), { billing, usage });
}

async function countHeld({ semaphore, itemStore, keys }: AdminParts, aid: string): Promise<Held> {
  let held: Held = { keys: 0, tokens: 0 };
  // A key that was deleted since the directory was read is not counted.
  const countTokens = async (user: string): Promise<number | undefined> => {
    const key = await recover(keys.find({ aid }, user), 'key_not_found', undefined);
    return key && itemStore.countItems(key.kid);
  };
  let users = await keys.users({ aid }, undefined, KEYS_STEP);
  while (users.length > 0) {
    const counts = await Promise.all(users.map((user) => semaphore(() => countTokens(user))));
    for (const tokens of counts) {
      held = tokens === undefined ? held : { keys: held.keys + 1, tokens: held.tokens + tokens };
    }
    users = await keys.users({ aid }, users.at(-1), KEYS_STEP);
  }
  return held;
}

/** What the account has used since the month began (UTC), at the operator's prices of now. */
async function billing({ metering, now, prices }: AdminParts, { account }: AccountContext): Promise<Billing> {
  const at = now();
  const counts = await metering.read(account, monthOf(at));
  let sum = NO_MONEY;
  const items = OPERATIONS.map((operation) => {
    const count = Math.max(0, counts.get(operation) ?? 0);
    const unit_price = prices.prices[operation] ?? prices.default;
    const amount = timesMoney(parseMoney(unit_price), count);
    sum = addMoney(sum, amount);
    return { operation, count, unit_price, amount: formatMoney(amount) };
  });
  const from = `${monthOf(at)}-01T00:00:00Z`;
  return { currency: prices.currency, amount: formatMoney(sum), from, to: formatExpiry(at), items };
}

/** How many days of a month (`YYYY-MM`) have begun. */
function daysOf(month: string, now: number): number {
  const start = new Date(`${month}-01T00:00:00Z`);
  const days = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0)).getUTCDate();
  return Math.min(days, Math.max(0, Math.ceil((now - start.getTime() + 1) / DAY_MS)));
}

/** Keys and tokens as they are now, requests of a month (`YYYY-MM`); of the current one when it is omitted. */
async function usage(
  parts: AdminParts,
  { account }: AccountContext,
  { month = monthOf(parts.now()), by_day }: { readonly month?: string | undefined; readonly by_day: boolean },
): Promise<Usage> {
  const [counts, held] = await Promise.all([
    parts.metering.read(account, month),
    // However often an account asks at once, its tokens are counted once.
    parts.counting(account.aid, () => countHeld(parts, account.aid)),
  ]);
  const { sum, ofDays } = requestsOf(counts, daysOf(month, parts.now()));
  return { month, ...held, api_requests: sum, ...(by_day && { days: ofDays }) };
}
