import { VaultError } from '../../core/errors.ts';
import {
  addMoney,
  formatMoney,
  NO_MONEY,
  type PriceTable,
  parseMoney,
  timesMoney,
} from '../../domain/account/price.ts';
import { formatExpiry } from '../../domain/text/time-text.ts';
import { type Billing, OPERATIONS, type Usage } from '../../http/schema/admin.ts';
import type { ItemStore } from '../../store/item.ts';
import type { Clock } from '../common/clock.ts';
import { createSemaphore, createSharedRuns } from '../common/coalesce.ts';
import type { Account, AccountContext } from '../common/request-context.ts';
import type { Keys } from '../key/key.ts';
import { type MeteringService, monthOf } from '../request/metering.ts';

export interface AdminService {
  /** What the account has used since the month began (UTC), at the operator's prices of now. */
  readonly billing: (ctx: AccountContext) => Promise<Billing>;
  /** Keys and tokens as they are now, requests of a month (`YYYY-MM`); of the current one when it is left out. */
  readonly usage: (ctx: AccountContext, month: string | undefined) => Promise<Usage>;
}

/** Keys whose tokens are counted at once, for all accounts together, so that other requests come between. */
const KEYS_AT_ONCE = 32;
const KEYS_STEP = 1_024;

interface AdminDependencies {
  readonly itemStore: Pick<ItemStore, 'countItems'>;
  readonly metering: Pick<MeteringService, 'read'>;
  readonly keys: Pick<Keys, 'find' | 'users'>;
  readonly prices: PriceTable;
  readonly now: Clock;
}

interface Held {
  readonly keys: number;
  readonly tokens: number;
}

/** What an account has used, what it costs, and what it has stored. */
export function createAdmin({ itemStore, metering, keys, prices, now }: AdminDependencies): AdminService {
  const gate = createSemaphore(KEYS_AT_ONCE);
  const counting = createSharedRuns<Held>();

  /** The tokens of one key; of one that was deleted since the directory was read: none, as if it had not been there. */
  const tokensOf = async (account: Pick<Account, 'aid'>, user: string): Promise<number | undefined> => {
    try {
      return await itemStore.countItems((await keys.find(account, user)).kid);
    } catch (error) {
      if (error instanceof VaultError && error.code === 'key_not_found') {
        return undefined;
      }
      throw error;
    }
  };

  const countHeld = async (aid: string): Promise<Held> => {
    let held: Held = { keys: 0, tokens: 0 };
    let users = await keys.users({ aid }, undefined, KEYS_STEP);
    while (users.length > 0) {
      const counts = await Promise.all(users.map((user) => gate(() => tokensOf({ aid }, user))));
      for (const tokens of counts) {
        held = tokens === undefined ? held : { keys: held.keys + 1, tokens: held.tokens + tokens };
      }
      users = await keys.users({ aid }, users.at(-1), KEYS_STEP);
    }
    return held;
  };

  return {
    async billing({ account }) {
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
    },
    async usage({ account }, asked) {
      const month = asked ?? monthOf(now());
      const [counts, held] = await Promise.all([
        metering.read(account, month),
        // However often an account asks at once, its tokens are counted once.
        counting(account.aid, () => countHeld(account.aid)),
      ]);
      return { month, ...held, api_requests: Math.max(0, counts.get('api_requests') ?? 0) };
    },
  };
}
