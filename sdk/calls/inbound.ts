/** Inbounds: URLs for senders, whose cards become tokens on their way to a third party. */

import type { CallOptions, ConnectionOptions } from '../transport/call.ts';
import { neededPassphrase, needText } from '../transport/needed.ts';
import { get, readJson, remove } from '../transport/pages.ts';
import { baseOf, urlOf } from '../transport/path.ts';
import type { Given, PathOf, Schema } from '../transport/shapes.ts';
import type { Transport } from '../transport/transport.ts';
import type { KeyName, Message } from '../transport/types.ts';
import { createSender, type Relay } from './relay.ts';

/** An inbound, without its secret. */
export interface Inbound extends Schema<'Inbound'> {}
/** Where the cards of a message are. */
export interface InboundSource extends Schema<'InboundSource'> {}
/** A new inbound with its secret. */
export interface NewInbound extends Schema<'InboundWithSecret'> {}
/** The settings of an inbound; the passphrase is by default that of the client. */
export interface CreateInbound extends Omit<Given<Schema<'CreateInbound'>>, 'user'> {
  /** The passphrase of the key. */
  readonly passphrase?: string;
}
/** Names an inbound. */
export interface ReadInbound extends PathOf<'readInbound'> {}
/** Names an inbound. */
export interface DeleteInbound extends PathOf<'deleteInbound'> {}
/** An inbound and its secret, as `create` returns them. */
export interface InboundAccess {
  /** Its id, which its URL has. */
  readonly id: string;
  /** Its secret, `vcs1_…`, which senders show. */
  readonly secret: string;
}

/**
 * Inbounds: URLs for partners, apps and processors. What they send there goes on to a connection, with a token in the place of each
 * card, which is stored under the key.
 * @see /guide/inbound
 */
export interface InboundCalls {
  /**
   * Creates an inbound and returns its secret, this once. With `id` and `secret` of before it is made again, also after a change of
   * the passphrase has stopped it. The call is retried only if the service has rejected the request without any effect.
   * @see /guide/inbound
   * @throws `connection_not_found`, `destination_refused`, `metadata_sensitive`, `endpoint_exists`, `passphrase_wrong`,
   * `key_not_found`, `key_changed`
   * @example
   * const { url, secret } = await client.inbound.create({
   *   key: 'customers',
   *   connection: 'shop',
   *   extract: [{ number: 'card.number', code: 'card.cvc', include: ['card.expiry'], reference: 'order.id' }],
   * });
   */
  readonly create: (inbound: CreateInbound & KeyName, options?: CallOptions) => Promise<NewInbound>;
  /**
   * All inbounds of the account, by key and id, without their secrets.
   * @see /guide/inbound
   * @example
   * const ids = (await client.inbound.list()).map(({ id }) => id);
   */
  readonly list: (options?: CallOptions) => Promise<Inbound[]>;
  /**
   * One inbound with its settings, without its secret.
   * @see /guide/inbound
   * @throws `endpoint_not_found`
   * @example
   * const { connection, extract } = await client.inbound.get({ id: 'marketplace' });
   */
  readonly get: (inbound: ReadInbound, options?: CallOptions) => Promise<Inbound>;
  /**
   * Deletes an inbound; cards that it has stored stay. Throws `endpoint_not_found`, also when an earlier attempt, whose reply was
   * lost, had succeeded.
   * @see /guide/inbound
   * @throws `endpoint_not_found`
   * @example
   * await client.inbound.delete({ id: 'marketplace' });
   */
  readonly delete: (inbound: DeleteInbound, options?: CallOptions) => Promise<Message>;
  /**
   * An inbound as a sender uses it: the base URL for its requests, the header with the secret, and a `fetch` that sends a request
   * there once. The reply is the third party's; redirections are not followed.
   * @see /guide/inbound
   * @example
   * const made = await client.inbound.create({ key: 'customers', connection: 'shop', extract: 'cards' });
   * const sender = client.inbound.sender(made);
   * const reply = await sender.fetch('/orders', { method: 'POST', body: '{"card":{"number":"4111111111111111"}}' });
   */
  readonly sender: (inbound: InboundAccess) => Relay;
}

/** The path of one inbound. */
function pathOf(id: string): readonly string[] {
  return ['inbound', needText({ id }).id];
}

/** The calls of inbounds; `passphrase` is the default of the client. */
export function createInboundCalls(
  transport: Transport,
  passphrase: string | undefined,
  { baseUrl, fetch }: { readonly baseUrl: string; readonly fetch: ConnectionOptions['fetch'] },
): InboundCalls {
  const path = ['inbound'] as const;
  return {
    create: async ({ passphrase: own, ...inbound }, options) =>
      readJson(transport, {
        method: 'POST',
        path,
        repeat: 'when_rejected',
        body: JSON.stringify(inbound),
        passphrase: neededPassphrase(own, passphrase),
        options,
      }),
    list: (options) => get(transport, path, {}, options),
    get: async ({ id }, options) => get(transport, pathOf(id), {}, options),
    delete: async ({ id }, options) => remove(transport, pathOf(id), {}, options),
    sender: ({ id, secret }) =>
      createSender(
        urlOf(baseOf(baseUrl), pathOf(id)),
        { 'X-Vault-Capture-Secret': needText({ secret }).secret },
        fetch,
      ),
  };
}
