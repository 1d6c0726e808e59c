/** Retrieval endpoints: a client with the secret of one can read the items in its scope, and nothing else. */

import type { CallOptions } from '../transport/call.ts';
import { neededPassphrase } from '../transport/needed.ts';
import { get, type Page, type Pages, readJson, remove } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  CreateRetrieveEndpoint,
  DecryptedItem,
  DeleteEndpoint,
  Endpoint,
  EndpointAccess,
  KeyName,
  ListEndpoints,
  Message,
  NewRetrieveEndpoint,
  RetrieveAll,
  RetrieveItem,
  RetrieveTree,
  StoredObject,
  Tree,
} from '../transport/types.ts';
import { createRetrieveClient } from './retrieve-client.ts';

/**
 * Retrieval endpoints: a caller with the secret of one can read the items in its scope. Reading needs neither the
 * account's credentials nor the passphrase. All reading calls throw `endpoint_refused` (unknown, or a wrong secret) and `endpoint_gone` (expired, or stopped by a new
 * passphrase).
 * @see /guide/retrieve
 */
export interface RetrieveCalls {
  /**
   * Creates an endpoint and returns its secret, this once. It reaches all items of a key, or one `token`, or the
   * items of one `reference`, and lives for `ttl`, a duration such as `45m` or `P1D` (24 hours; `0`: never expires). A
   * lost reply would lose the secret, so the call is retried only if the service has rejected the request without
   * any effect.
   * @see /guide/retrieve
   * @throws `endpoint_exists`, `passphrase_wrong`, `key_not_found`, `key_changed`
   * @example
   * const { unique_id, secret } = await client.retrieve.create({ key: 'customers', token, ttl: '10m' });
   */
  readonly create: (
    endpoint: CreateRetrieveEndpoint & KeyName,
    options?: CallOptions,
  ) => Promise<NewRetrieveEndpoint>;
  /**
   * The account's retrieval endpoints, or one key's, by key and `unique_id`, without their secrets. Expired ones
   * stay in it for a day.
   * @see /guide/retrieve
   * @throws `key_not_found`
   * @example
   * const usable = (await client.retrieve.list({ key: 'customers' })).filter(({ expired }) => !expired);
   */
  readonly list: (query?: ListEndpoints, options?: CallOptions) => Promise<Endpoint[]>;
  /**
   * Opens one item through an endpoint and returns the stored object, masked and changed as the endpoint says.
   * Numbers become JavaScript numbers: integers beyond 2^53 lose digits here, not in `decryptText`.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `reference_required`, `token_not_found`,
   * `rule_not_found`, `rule_limit`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * const made = await client.retrieve.create({ key: 'customers', token });
   * const card = await client.retrieve.decrypt({ ...made, token });
   */
  readonly decrypt: (item: RetrieveItem & EndpointAccess, options?: CallOptions) => Promise<StoredObject>;
  /**
   * As `decrypt`, but returns the JSON text exactly as the service sent it, with every digit.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `reference_required`, `token_not_found`,
   * `rule_not_found`, `rule_limit`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * const text = await client.retrieve.decryptText({ unique_id: 'call-centre', secret, token });
   */
  readonly decryptText: (item: RetrieveItem & EndpointAccess, options?: CallOptions) => Promise<string>;
  /**
   * One page of the tokens that an endpoint reaches, without their data; at most 1,024 unless `limit` says
   * otherwise.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `cursor_invalid`, `token_not_found`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * const { data } = await client.retrieve.listItems({ unique_id: 'call-centre', secret, limit: 100 });
   */
  readonly listItems: (query: RetrieveTree & EndpointAccess, options?: CallOptions) => Promise<Page<Tree>>;
  /**
   * All of them, page by page, from `next_token` where one is given.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `cursor_invalid`, `token_not_found`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * for await (const { data } of client.retrieve.itemPages({ unique_id: 'call-centre', secret })) {
   *   const users = Object.keys(data);
   * }
   */
  readonly itemPages: (query: RetrieveTree & EndpointAccess, options?: CallOptions) => Pages<Tree>;
  /**
   * Opens every item that an endpoint reaches and the filters let through, and yields each as it arrives, as
   * `vault.decryptAll` does for a key: `timeoutMs` is the longest wait for the next piece, and a reply that breaks
   * off throws `VaultConnectionError`. Each item counts as one decryption.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `reference_required`, `cursor_invalid`,
   * `token_not_found`, `rule_not_found`, `rule_limit`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * for await (const item of client.retrieve.decryptAll({ unique_id: 'call-centre', secret })) {
   *   const holder = item.data['card_holder'];
   * }
   */
  readonly decryptAll: (
    query: RetrieveAll & EndpointAccess,
    options?: CallOptions,
  ) => AsyncGenerator<DecryptedItem, void, undefined>;
  /**
   * Deletes an endpoint, of either kind. Throws `endpoint_not_found`, also when an earlier attempt, whose reply
   * was lost, had succeeded.
   * @see /guide/retrieve
   * @throws `endpoint_not_found`
   * @example
   * await client.retrieve.delete({ unique_id: 'call-centre' });
   */
  readonly delete: (endpoint: DeleteEndpoint, options?: CallOptions) => Promise<Message>;
}

const path = ['retrieve'] as const;

/** The calls of retrieval endpoints; `passphrase` is the default of the client. */
export function createRetrieveCalls(transport: Transport, passphrase: string | undefined): RetrieveCalls {
  const through = (access: EndpointAccess) => createRetrieveClient(transport, access);

  return {
    create: async ({ passphrase: own, ...query }, options) =>
      readJson(transport, {
        method: 'POST',
        path,
        repeat: 'when_rejected',
        query,
        passphrase: neededPassphrase(own, passphrase),
        options,
      }),
    list: (query, options) => get(transport, path, { ...query }, options),
    decrypt: (item, options) => through(item).decrypt(item, options),
    decryptText: (item, options) => through(item).decryptText(item, options),
    listItems: (query, options) => through(query).list(query, options),
    itemPages: (query, options) => through(query).pages(query, options),
    decryptAll: (query, options) => through(query).decryptAll(query, options),
    delete: ({ unique_id }, options) => remove(transport, [...path, unique_id], {}, options),
  };
}
