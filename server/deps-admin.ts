import type { Caller } from './deps-common.ts';
import type { Billing, Usage } from './schema/admin.ts';

/** Types only, a part of deps.ts: what an account uses and pays, and how it wants to be served. */

/** The operator's prices: decimal texts by billable operation, and one for all others. */
export interface PriceTable {
  readonly currency: string;
  readonly prices: Readonly<Record<string, string>>;
  readonly default: string;
}

export interface AdminService {
  /** What the account has used since the month began (UTC), at the operator's prices of now. */
  readonly billing: (caller: Caller) => Promise<Billing>;
  /** Keys and tokens as they are now, requests of a month (`YYYY-MM`); of the current one when it is left out. */
  readonly usage: (caller: Caller, month: string | undefined) => Promise<Usage>;
}
