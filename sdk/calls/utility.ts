/** Small helpers of the service: Luhn check and passphrase generator. */

import type { CallOptions } from '../transport/call.ts';
import { get } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type { CheckLuhn, GeneratedPassphrase, GeneratePassphrase, LuhnResult } from '../transport/types.ts';

/**
 * Small helpers of the service.
 * @see /guide/keys
 */
export interface UtilityCalls {
  /**
   * Checks a card number's last digit and names its brand. The number travels in the URL: the route takes it nowhere
   * else.
   * @see /guide/items
   * @example
   * const { valid, brand } = await client.utility.luhn({ number: '4111111111111111' });
   */
  readonly luhn: (query: CheckLuhn, options?: CallOptions) => Promise<LuhnResult>;
  /**
   * Makes a random, URL-safe passphrase of `length` characters: 32 to 4,096, by default 64. It is not stored.
   * @see /guide/keys
   * @example
   * const { passphrase } = await client.utility.passphrase({ length: 40 });
   */
  readonly passphrase: (query?: GeneratePassphrase, options?: CallOptions) => Promise<GeneratedPassphrase>;
}

/** The calls of helpers. */
export function createUtilityCalls(transport: Transport): UtilityCalls {
  return {
    luhn: (query, options) => get(transport, ['luhn'], query, options),
    passphrase: (query, options) => get(transport, ['passphrase'], query, options),
  };
}
