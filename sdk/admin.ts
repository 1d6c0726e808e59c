/** The account itself: who it is, what it uses and pays. */

import type { CallOptions } from './call.ts';
import { readJson } from './pages.ts';
import type { Transport } from './transport.ts';
import type { Billing, ReadUsage, Usage, WhoAmI } from './types.ts';

/** The calls about the account that signs in. */
export interface AdminCalls {
  /** Who is signed in, and to which environment. Throws `unauthenticated` for wrong credentials. */
  readonly whoami: (options?: CallOptions) => Promise<WhoAmI>;
  /**
   * What the account has used since the month began (UTC), and what it costs. Amounts are decimal texts and exact:
   * do not make numbers of them.
   * @example
   * const { amount, currency } = await client.admin.billing();
   */
  readonly billing: (options?: CallOptions) => Promise<Billing>;
  /**
   * Keys and tokens as they are now, and the requests of a month, the current one where it is left out.
   * @example
   * const { api_requests } = await client.admin.usage({ month: '2026-01' });
   */
  readonly usage: (usage?: ReadUsage, options?: CallOptions) => Promise<Usage>;
}

export const createAdminCalls = (transport: Transport): AdminCalls => ({
  whoami: (options) => readJson(transport, { method: 'GET', path: ['whoami'], repeat: 'always', options }),
  billing: (options) => readJson(transport, { method: 'GET', path: ['billing'], repeat: 'always', options }),
  usage: (query = {}, options) =>
    readJson(transport, { method: 'GET', path: ['usage'], repeat: 'always', query, options }),
});
