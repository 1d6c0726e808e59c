import type { CallOptions, KeyedCallOptions } from '../transport/call.ts';
import type { Captured, CaptureItem, CaptureState } from '../transport/types.ts';
import { checkOf, type SealingKey, sealingKeyOf } from './capture.ts';
import { type EndpointOptions, linkTo } from './endpoint.ts';
import { createSubmit, type Sealing } from './sealed.ts';

/** Where a capture endpoint is, what opens it, and whether what is sent to it is sealed. */
export interface CaptureOptions extends EndpointOptions {
  /**
   * Seals what is sent, so that nothing between here and the vault can read it: `require`, or `prefer`, which sends it as
   * it is where there is no WebCrypto or the vault is older, unless the endpoint takes sealed bodies alone. The default is
   * `never`: a body is sealed differently each time, so a program that has been started anew cannot repeat a request
   * under the same idempotency key.
   */
  readonly seal?: Sealing | undefined;
}

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
   * `token_not_found`, `endpoint_out_of_scope`, `patches_full`, `jobs_full`, `rule_not_found`, `rule_limit`,
   * `sealing_required` (the endpoint takes sealed bodies alone: set `seal`), `sealing_key_expired` (twice, for a new key
   * too)
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
  /**
   * The key of the day to seal bodies to, for programs that seal by other means than `seal`.
   * @see /guide/capture
   * @example
   * const { kid, public_key } = await checkout.sealingKey();
   */
  readonly sealingKey: (options?: CallOptions) => Promise<SealingKey>;
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
export function captureClient({ seal, ...options }: CaptureOptions): CaptureClient {
  const link = linkTo('capture', options, ['seal']);
  const { transport, access } = link;
  const submit = createSubmit(link, seal);
  return {
    submit: async (item, callOptions) => submit(item, callOptions),
    check: async (callOptions) => checkOf(transport, access, callOptions),
    sealingKey: async (callOptions) => sealingKeyOf(transport, access, callOptions),
  };
}
