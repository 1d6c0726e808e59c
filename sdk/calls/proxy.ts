/** Requests to third parties: filled with stored data, or fetching data to store. */

import type { KeyedCallOptions } from '../transport/call.ts';
import { neededPassphrase } from '../transport/needed.ts';
import { readJson } from '../transport/pages.ts';
import type { QueryValue } from '../transport/path.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  GetWebhook,
  KeyName,
  ProxyAccepted,
  ProxyFetch,
  ProxyOrder,
  ProxyPost,
  ProxyReply,
  Reported,
  RequestNetworkToken,
} from '../transport/types.ts';

/**
 * Requests to third parties. They need a `webhook`, which receives the outcome, or `synchronous: true`; then the
 * outcome is the result. Synchronous calls take up to 20 s: leave `timeoutMs` above that.
 *
 * Nothing is sent twice because a reply was lost: all repeats of a call go under one idempotency key. After an error
 * that leaves the outcome open (`outcome_unknown`, `target_timeout`, `VaultConnectionError`, `VaultTimeoutError`) only
 * a call with the same `idempotencyKey` is such a repeat, so choose one yourself where it matters: with it the
 * service replies with the outcome of the first, or that it is unknown. With `retries: 0` and without one there is none.
 *
 * All of them throw `destination_refused` (not https, or not a public address), `passphrase_wrong`, `key_not_found`,
 * `jobs_full` (100,000 requests are waiting), and `invalid_request` with the place in `field`
 * (`body.request.headers[2]`). Bodies are at most 1 MB.
 * @see /guide/proxy
 */
export interface ProxyCalls {
  /**
   * Sends a request filled from a stored object, unmasked: `{{card_number}}` in URL, header values and body, escaped
   * for its place. The last reply of the third party, of any status, is the result; up to
   * `attempts` (1 to 16, 8) are made after 429, 5xx and connections that failed before anything was sent. Throws
   * `token_not_found`, `reference_required`, `rule_not_found`, `rule_limit`, `connection_not_found`, `template_limit`,
   * `template_missing`, and when synchronous `target_unreachable`, `target_timeout` (20 s),
   * `reply_too_large` (1 MB), `reply_too_complex`, `outcome_unknown`.
   * @see /guide/proxy
   * @throws `idempotency_conflict`, `passphrase_wrong`, `key_not_found`,
   * `token_not_found`, `reference_required`, `rule_not_found`, `rule_limit`, `connection_not_found`, `template_limit`,
   * `template_missing`, `destination_refused`, `jobs_full`, `target_unreachable`, `target_timeout`, `reply_too_large`,
   * `reply_too_complex`, `outcome_unknown`, `key_changed`
   * @example
   * const request = {
   *   method: 'POST',
   *   url: 'https://pay.example.com/charges',
   *   headers: [{ 'Content-Type': 'application/json' }, { 'Idempotency-Key': 'order-4711' }],
   *   body: '{"amount":1000,"number":"{{card_number}}"}',
   * } as const;
   * const item = { key: 'customers', token };
   * const { status_code, body } = await client.proxy.post({ ...item, request, synchronous: true });
   *
   * const webhook = { url: 'https://shop.example.com/webhooks', secret, metadata: { order: '4711' } };
   * const { id } = await client.proxy.post({ ...item, request, webhook });
   */
  readonly post: {
    (
      order: ProxyPost & KeyName & { readonly synchronous: true },
      options?: KeyedCallOptions,
    ): Promise<ProxyReply>;
    (order: ProxyPost & KeyName & Reported, options?: KeyedCallOptions): Promise<ProxyAccepted>;
  };
  /**
   * Sends a request, whose texts are sent as they are, and stores what a third party answers: a JSON object with a
   * number, or with `smart_parse` the card that is found in a reply of any form. The result, like the content
   * of the webhook, has the token in `token_info`; it is absent if the last reply of the third party was 429 or 5xx.
   * @see /guide/proxy
   * @throws `idempotency_conflict`, `passphrase_wrong`, `key_not_found`, `rule_not_found`,
   * `rule_limit`, `destination_refused`, `jobs_full`, `target_unreachable`, `target_timeout`, `reply_too_large`,
   * `reply_too_complex`, `outcome_unknown`, `reply_not_storable`, `track_data_refused`, `test_card` (production),
   * `key_changed`
   * @example
   * const { token_info } = await client.proxy.fetch({
   *   key: 'customers',
   *   smart_parse: true,
   *   request: { method: 'GET', url: 'https://old-vault.example.com/cards/7' },
   *   synchronous: true,
   * });
   */
  readonly fetch: {
    (
      order: ProxyFetch & KeyName & { readonly synchronous: true },
      options?: KeyedCallOptions,
    ): Promise<GetWebhook>;
    (order: ProxyFetch & KeyName & Reported, options?: KeyedCallOptions): Promise<ProxyAccepted>;
  };
  /**
   * Has a network token made for a stored card by a requester of the operator, stores it under the same key, and
   * calls the webhook. Alpha: this may change.
   * @see /guide/proxy
   * @throws `idempotency_conflict`, `passphrase_wrong`, `key_not_found`,
   * `token_not_found`, `reference_required`, `number_missing`, `destination_refused`, `jobs_full`,
   * `key_changed`
   * @example
   * const webhook = { url: 'https://shop.example.com/webhooks', secret };
   * const { id } = await client.proxy.networkToken({ key: 'customers', token, requester_id: 'sim', webhook });
   */
  readonly networkToken: (
    order: RequestNetworkToken & KeyName,
    options?: KeyedCallOptions,
  ) => Promise<ProxyAccepted>;
}

type Order = ProxyOrder & { readonly passphrase?: string | undefined };

/** The calls of the proxy; `passphrase` is the default of the client. */
export function createProxyCalls(transport: Transport, passphrase: string | undefined): ProxyCalls {
  const send = async <T>(
    name: string,
    query: Readonly<Record<string, QueryValue>>,
    order: object,
    own: string | undefined,
    options: KeyedCallOptions | undefined,
  ): Promise<T> =>
    readJson(transport, {
      method: 'POST',
      path: ['proxy', name],
      repeat: 'keyed',
      query,
      body: JSON.stringify(order),
      passphrase: neededPassphrase(own, passphrase),
      options,
    });

  const sendOrder =
    (name: string) =>
    <T>({ request, synchronous, webhook, passphrase: own, ...query }: Order, options?: KeyedCallOptions) =>
      send<T>(name, query, { request, synchronous, webhook }, own, options);

  return {
    post: sendOrder('post'),
    fetch: sendOrder('get'),
    networkToken: ({ webhook, passphrase: own, ...query }, options) =>
      send('network_token', query, { webhook }, own, options),
  };
}
