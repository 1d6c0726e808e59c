/** The account itself. */

import type { CallOptions } from './call.ts';
import { readJson } from './pages.ts';
import type { Transport } from './transport.ts';
import type { WhoAmI } from './types.ts';

/** The calls about the account that signs in. */
export interface AdminCalls {
  /** Who is signed in, and to which environment. Throws `unauthenticated` for wrong credentials. */
  readonly whoami: (options?: CallOptions) => Promise<WhoAmI>;
}

export const createAdminCalls = (transport: Transport): AdminCalls => ({
  whoami: (options) => readJson(transport, { method: 'GET', path: ['whoami'], repeat: 'always', options }),
});
