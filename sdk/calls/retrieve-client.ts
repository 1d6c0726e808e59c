/** Reading through a retrieval endpoint. */

import { sealedReader } from '../seal/seal.ts';
import type { ApiCall, CallOptions } from '../transport/call.ts';
import { VaultConnectionError } from '../transport/errors.ts';
import { needText } from '../transport/needed.ts';
import { openItems } from '../transport/open-items.ts';
import { fetchPage, jsonOf, type Page, type Pages, pagesOf } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  DecryptedItem,
  EndpointAccess,
  RetrieveAll,
  RetrieveItem,
  RetrieveTree,
  StoredObject,
  Tree,
} from '../transport/types.ts';
import { callTo, type EndpointOptions, linkTo } from './endpoint.ts';

/**
 * The calls of a retrieval endpoint. Items outside its scope are rejected with `endpoint_out_of_scope`.
 * @see /guide/retrieve
 */
export interface RetrieveClient {
  /**
   * Opens one item and returns the stored object, masked and changed as the endpoint's `mask_fields` and `rules`
   * say. Numbers become JavaScript numbers: integers beyond 2^53 lose digits here, not in `decryptText`.
   * @see /guide/retrieve
   * @throws `endpoint_refused` (unknown, or a wrong secret), `endpoint_gone` (expired or stopped),
   * `endpoint_out_of_scope`, `reference_required`, `token_not_found`, `rule_not_found`, `rule_limit`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * const card = await desk.decrypt({ token, reference: 'customer-4711' });
   */
  readonly decrypt: (item: RetrieveItem, options?: CallOptions) => Promise<StoredObject>;
  /**
   * As `decrypt`, but returns the JSON text exactly as the service sent it, with every digit.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `reference_required`, `token_not_found`,
   * `rule_not_found`, `rule_limit`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * const text = await desk.decryptText({ token, reference: 'customer-4711' });
   */
  readonly decryptText: (item: RetrieveItem, options?: CallOptions) => Promise<string>;
  /**
   * One page of the tokens that the endpoint reaches, without their data; at most 1,024 unless `limit` says
   * otherwise.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `cursor_invalid`, `token_not_found`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * const { data, next_token } = await desk.list({ reference_prefix: 'customer-', limit: 100 });
   */
  readonly list: (query?: RetrieveTree, options?: CallOptions) => Promise<Page<Tree>>;
  /**
   * All of them, page by page, from `next_token` where one is given.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `cursor_invalid`, `token_not_found`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * for await (const { data } of desk.pages({ limit: 100 })) {
   *   const tokens = Object.values(data).flatMap((items) => items.map(({ token }) => token));
   * }
   */
  readonly pages: (query?: RetrieveTree, options?: CallOptions) => Pages<Tree>;
  /**
   * Opens every item that the endpoint reaches and the filters let through, and yields each as it arrives, holding
   * no more than one. `limit` is the number of items per request; without one, a single request brings all. A reply
   * that breaks off throws `VaultConnectionError`: the loop ends normally only after the last item. `timeoutMs` is
   * the longest wait for the next piece. Each item counts as one decryption.
   * @see /guide/retrieve
   * @throws `endpoint_refused`, `endpoint_gone`, `endpoint_out_of_scope`, `reference_required`, `cursor_invalid`,
   * `token_not_found`, `rule_not_found`, `rule_limit`,
   * `endpoint_used_up`, `origin_not_allowed`, `sealing_required`
   * @example
   * for await (const { token, data } of desk.decryptAll({ reference: 'customer-4711' })) {
   *   const holder = data['card_holder'];
   * }
   */
  readonly decryptAll: (
    query?: RetrieveAll,
    options?: CallOptions,
  ) => AsyncGenerator<DecryptedItem, void, undefined>;
}

/** Options of a reader of one retrieval endpoint. */
export interface RetrieveOptions extends EndpointOptions {
  /**
   * Whether replies are sealed to this client, so that nothing between the vault and it can read them. Needs WebCrypto. Trees
   * come in pages of at most 4 MB.
   */
  readonly seal?: boolean | undefined;
}

/** A transport whose replies are sealed: each to a key pair made for it alone. */
function sealedTransport(transport: Transport): Transport {
  const send: Transport['send'] = async (call) => {
    const { point, open } = await sealedReader();
    const reply = await transport.send({ ...call, sealTo: point });
    const { token, reference } = call.query ?? {};
    const names = [call.path[1] ?? '', textOrNone(token), textOrNone(reference)] as const;
    try {
      return { ...reply, text: await open(names, reply.text) };
    } catch {
      // The runtime's own error could quote the reply.
      throw new VaultConnectionError('The reply was not sealed to this client.');
    }
  };
  return {
    send,
    bytes: transport.bytes,
    stream: async (call) => {
      const { limit = SEALED_PAGE, ...query } = call.query ?? {};
      const { text, nextToken } = await send({
        ...call,
        query: { ...query, limit: limit === -1 ? SEALED_PAGE : limit },
      });
      return { pieces: onePiece(text), nextToken };
    },
  };
}

/** Items of a sealed page, which may have fewer. */
const SEALED_PAGE = 1_024;

async function* onePiece(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield new TextEncoder().encode(text);
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The calls of one retrieval endpoint. Only known members of items and filters are sent. */
export function createRetrieveClient(transport: Transport, access: EndpointAccess): RetrieveClient {
  const callOf = (query: ApiCall['query'], options: CallOptions | undefined): ApiCall => ({
    ...callTo('retrieve', access),
    method: 'GET',
    repeat: 'always',
    query,
    options,
  });

  const decryptText: RetrieveClient['decryptText'] = async ({ token, reference }, options) => {
    needText({ token });
    return (await transport.send(callOf({ token, reference }, options))).text;
  };

  const list: RetrieveClient['list'] = async (
    { reference, reference_prefix, limit, next_token } = {},
    options,
  ) => fetchPage(transport, callOf({ reference, reference_prefix, limit, next_token }, options));

  return {
    decrypt: async (item, options) => jsonOf(await decryptText(item, options)),
    decryptText,
    list,
    pages: pagesOf(list),
    decryptAll: ({ reference, reference_prefix, limit } = {}, options) =>
      openItems(transport, () => callOf({ reference, reference_prefix, limit }, options)),
  };
}

/**
 * A client of one retrieval endpoint, for a caller that only has its secret. It has no account, sends no
 * credentials, and retries failed attempts like `Vault`. Throws `VaultError` for options that cannot work; sends
 * nothing yet.
 * @see /guide/retrieve
 * @example
 * const desk = retrieveClient({ url: 'https://vault.example/v1/retrieve/call-centre', secret });
 * const card = await desk.decrypt({ token });
 */
export function retrieveClient({ seal = false, ...options }: RetrieveOptions): RetrieveClient {
  const { transport, access } = linkTo('retrieve', options);
  return createRetrieveClient(seal ? sealedTransport(transport) : transport, access);
}
