import type { CallOptions, KeyedCallOptions } from '../transport/call.ts';
import type { Captured, CaptureItem, CaptureState } from '../transport/types.ts';
import { checkOf, submitTo } from './capture.ts';
import { type EndpointOptions, linkTo } from './endpoint.ts';

/**
 * What can be done with a capture endpoint and its secret alone.
 * @see /guide/capture
 */
export interface CaptureClient {
  /**
   * Stores an object and returns what to pass on to the endpoint's owner. `data` is an object, or the exact JSON
   * text of one, at most 262,144 bytes; `reference` is by default the endpoint's unique id.
   * @see /guide/capture
   * @throws `endpoint_refused` (unknown, or a wrong secret), `endpoint_gone` (expired or stopped),
   * `idempotency_conflict`, `number_missing`, `test_card` (production), `metadata_sensitive`, `token_exists`,
   * `token_not_found`, `endpoint_out_of_scope`, `patches_full`, `jobs_full`, `rule_not_found`, `rule_limit`
   * @example
   * await checkout.submit({ data: { card_number: '4111111111111111' }, reference: 'order-4711' });
   */
  readonly submit: (item: CaptureItem, options?: KeyedCallOptions) => Promise<Captured>;
  /**
   * Asks whether the endpoint takes data, and until when; nothing is stored.
   * @see /guide/capture
   * @throws `endpoint_refused` (unknown, or a wrong secret), `endpoint_gone` (expired or stopped)
   * @example
   * const { expires_at } = await checkout.check();
   */
  readonly check: (options?: CallOptions) => Promise<CaptureState>;
}

/**
 * A client of one capture endpoint, for a caller that only has its secret: a web page, an app, a partner.
 * It has no account, sends no credentials, and retries failed attempts like `Vault`. Throws `VaultError` for
 * options that cannot work; sends nothing yet.
 * @see /guide/capture
 * @example
 * const checkout = captureClient({ url: 'https://vault.example/v1/capture/web-shop', secret });
 * const { token, reference } = await checkout.submit({ data: { card_number: '4111111111111111' } });
 */
export function captureClient(options: EndpointOptions): CaptureClient {
  const { transport, access } = linkTo('capture', options);
  return {
    submit: async (item, callOptions) => submitTo(transport, access, item, callOptions),
    check: async (callOptions) => checkOf(transport, access, callOptions),
  };
}
