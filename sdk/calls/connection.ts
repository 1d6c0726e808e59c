/** Connections: addresses and credentials of third parties. */

import type { CallOptions } from '../transport/call.ts';
import { needText } from '../transport/needed.ts';
import { get, remove, sendJson } from '../transport/pages.ts';
import type { Given, PathOf, Schema } from '../transport/shapes.ts';
import type { Transport } from '../transport/transport.ts';
import type { Message } from '../transport/types.ts';

/** A third party, without the values of its credentials. */
export interface Connection extends Schema<'Connection'> {}
/** The address and the credentials of a third party. */
export interface CreateConnection extends Given<Schema<'CreateConnection'>> {}
/** Names a connection. */
export interface ReadConnection extends PathOf<'readConnection'> {}
/** Names a connection, and all that it has from now on. */
export interface ReplaceConnection
  extends PathOf<'replaceConnection'>,
    Omit<Given<Schema<'ReplaceConnection'>>, 'id'> {}
/** Names a connection. */
export interface DeleteConnection extends PathOf<'deleteConnection'> {}

/**
 * Connections: addresses and credentials of third parties, which are stored encrypted and never shown.
 * @see /guide/proxy
 */
export interface ConnectionCalls {
  /**
   * Creates a connection. Every member is checked now: `invalid_request` names the place of the first error in `field`, such
   * as `body.headers[2]`. The call is retried only if the service has rejected the request without any effect.
   * @see /guide/proxy
   * @throws `destination_refused`, `connection_exists`, `connections_full`
   * @example
   * await client.connections.create({
   *   id: 'pay',
   *   base_url: 'https://api.pay.example/v1',
   *   headers: [{ Authorization: 'Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc' }],
   *   methods: ['POST'],
   *   paths: ['/charges'],
   *   reply: ['id', 'status', 'error.code'],
   * });
   */
  readonly create: (connection: CreateConnection, options?: CallOptions) => Promise<Connection>;
  /**
   * All connections of the account, by id, without the values of their credentials.
   * @see /guide/proxy
   * @example
   * const ids = (await client.connections.list()).map(({ id }) => id);
   */
  readonly list: (options?: CallOptions) => Promise<Connection[]>;
  /**
   * One connection, without the values of its credentials.
   * @see /guide/proxy
   * @throws `connection_not_found`
   * @example
   * const { base_url, headers } = await client.connections.get({ id: 'pay' });
   */
  readonly get: (connection: ReadConnection, options?: CallOptions) => Promise<Connection>;
  /**
   * Replaces everything of a connection but its id: what is left out is gone, credentials included.
   * @see /guide/proxy
   * @throws `destination_refused`, `connection_not_found`
   * @example
   * await client.connections.replace({
   *   id: 'pay',
   *   base_url: 'https://api.pay.example/v2',
   *   headers: [{ Authorization: 'Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc' }],
   * });
   */
  readonly replace: (connection: ReplaceConnection, options?: CallOptions) => Promise<Connection>;
  /**
   * Deletes a connection with its credentials. Also throws `connection_not_found` if an earlier attempt, whose reply was
   * lost, has succeeded.
   * @see /guide/proxy
   * @throws `connection_not_found`
   * @example
   * await client.connections.delete({ id: 'pay' });
   */
  readonly delete: (connection: DeleteConnection, options?: CallOptions) => Promise<Message>;
}

/** The path of one connection. */
function pathOf(id: string): readonly string[] {
  return ['connection', needText({ id }).id];
}

/** The calls of connections. */
export function createConnectionCalls(transport: Transport): ConnectionCalls {
  return {
    create: (connection, options) =>
      sendJson(transport, 'POST', ['connection'], 'when_rejected', connection, options),
    list: (options) => get(transport, ['connection'], {}, options),
    get: async ({ id }, options) => get(transport, pathOf(id), {}, options),
    replace: async ({ id, ...connection }, options) =>
      sendJson(transport, 'PUT', pathOf(id), 'always', connection, options),
    delete: async ({ id }, options) => remove(transport, pathOf(id), {}, options),
  };
}
