import { SEALED_TYPE } from '../seal/seal.ts';
import type { CallOptions, KeyedCallOptions } from '../transport/call.ts';
import { checkNames, neededPassphrase, textOfData } from '../transport/needed.ts';
import { get, readJson, remove } from '../transport/pages.ts';
import type { Schema } from '../transport/shapes.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  BinNetworks,
  Captured,
  CaptureItem,
  CaptureState,
  CreateCaptureEndpoint,
  DeleteEndpoint,
  Endpoint,
  EndpointAccess,
  KeyName,
  ListEndpoints,
  Message,
  NewCaptureEndpoint,
} from '../transport/types.ts';
import { callTo } from './endpoint.ts';

/**
 * Capture endpoints: a caller with the secret of one can store data under its key, and nothing else.
 * @see /guide/capture
 */
export interface CaptureCalls {
  /**
   * Creates an endpoint and returns its secret, this once. It lives for `ttl`, a duration such as `45m` or `P1D` (24
   * hours; `0`: never expires). With `token` it adds to that item alone, with `webhook` each capture is reported. A lost reply would lose the secret, so the call is retried only if the service has
   * rejected the request without any effect.
   * @see /guide/capture
   * @throws `endpoint_exists`, `passphrase_wrong`, `key_not_found`, `key_changed`,
   * `token_not_found`, `reference_required`, `destination_refused`
   * @example
   * const { unique_id, secret } = await client.capture.create({ key: 'customers', ttl: '45m' });
   */
  readonly create: (
    endpoint: CreateCaptureEndpoint & KeyName,
    options?: CallOptions,
  ) => Promise<NewCaptureEndpoint>;
  /**
   * The account's capture endpoints, or one key's, by key and `unique_id`, without their secrets. Expired ones
   * stay in it for a day.
   * @see /guide/capture
   * @throws `key_not_found`
   * @example
   * const usable = (await client.capture.list({ key: 'customers' })).filter(({ expired }) => !expired);
   */
  readonly list: (query?: ListEndpoints, options?: CallOptions) => Promise<Endpoint[]>;
  /**
   * Stores an object through an endpoint, without the account's credentials and without the passphrase. `data` is an
   * object, or the exact JSON text of one, at most 262,144 bytes; `reference` is by default that of the
   * endpoint, otherwise its unique id.
   * @see /guide/capture
   * @throws `endpoint_refused` (unknown, or a wrong secret), `endpoint_gone` (expired, or stopped by a new
   * passphrase), `idempotency_conflict`, `number_missing`, `number_invalid`, `test_card` (production),
   * `metadata_sensitive`, `charset_unsupported`, `track_data_refused`, `token_exists`,
   * `token_not_found`, `endpoint_out_of_scope`, `patches_full`, `jobs_full`, `rule_not_found`, `rule_limit`,
   * `sealing_required` (the endpoint takes sealed bodies alone: use `captureClient`), `sealing_key_expired` (never, since
   * this does not seal),
   * `endpoint_used_up`, `origin_not_allowed`, `reference_sensitive`
   * @example
   * const made = await client.capture.create({ key: 'customers' });
   * const { token, reference } = await client.capture.submit({ ...made, data: { card_number: '4111111111111111' } });
   */
  readonly submit: (item: CaptureItem & EndpointAccess, options?: KeyedCallOptions) => Promise<Captured>;
  /**
   * Checks that an endpoint accepts data, and until when; nothing is stored.
   * @see /guide/capture
   * @throws `endpoint_refused` (unknown, or a wrong secret), `endpoint_gone` (expired, or stopped by a new passphrase),
   * `endpoint_used_up`, `origin_not_allowed`
   * @example
   * const made = await client.capture.create({ key: 'customers' });
   * const { expires_at } = await client.capture.check(made);
   */
  readonly check: (endpoint: EndpointAccess, options?: CallOptions) => Promise<CaptureState>;
  /**
   * The networks of a card by its first six to eight digits, so that a page can offer the choice between two; at most ten
   * requests a minute from one address.
   * @see /guide/capture
   * @throws `endpoint_refused` (unknown, or a wrong secret), `endpoint_gone` (expired, or stopped by a new passphrase),
   * `endpoint_used_up`, `origin_not_allowed`
   * @example
   * const made = await client.capture.create({ key: 'customers' });
   * const { networks } = await client.capture.networks({ ...made, digits: '41111111' });
   */
  readonly networks: (
    card: EndpointAccess & { readonly digits: string },
    options?: CallOptions,
  ) => Promise<BinNetworks>;
  /**
   * Deletes an endpoint, of either kind; what it stored stays. Throws `endpoint_not_found`, also when an earlier
   * attempt, whose reply was lost, had succeeded.
   * @see /guide/capture
   * @throws `endpoint_not_found`
   * @example
   * await client.capture.delete({ unique_id: 'web-shop' });
   */
  readonly delete: (endpoint: DeleteEndpoint, options?: CallOptions) => Promise<Message>;
}

/** A public key of the vault. Only the vault can open a body that is sealed to it. */
export interface SealingKey extends Schema<'SealingKey'> {}

const path = ['capture'] as const;

/** The calls of capture endpoints; `passphrase` is the default of the client. */
export function createCaptureCalls(transport: Transport, passphrase: string | undefined): CaptureCalls {
  return {
    create: async ({ passphrase: own, webhook, ...query }, options) =>
      readJson(transport, {
        method: 'POST',
        path,
        repeat: 'when_rejected',
        query,
        body: webhook && JSON.stringify({ webhook }),
        passphrase: neededPassphrase(own, passphrase),
        options,
      }),
    list: (query, options) => get(transport, path, { ...query }, options),
    submit: async (item, options) => submitTo(transport, item, item, options),
    check: async (endpoint, options) => checkOf(transport, endpoint, options),
    networks: async ({ digits, ...access }, options) => {
      const { path: endpoint, ...to } = callTo('capture', access);
      const call = { ...to, path: [...endpoint, 'bin', digits] } as const;
      return readJson(transport, { ...call, method: 'GET', repeat: 'always', options });
    },
    delete: ({ unique_id }, options) => remove(transport, [...path, unique_id], {}, options),
  };
}

/** Checks that an endpoint accepts data. */
export function checkOf(
  transport: Transport,
  access: EndpointAccess,
  options: CallOptions | undefined,
): Promise<CaptureState> {
  return readJson(transport, { ...callTo('capture', access), method: 'GET', repeat: 'always', options });
}

/** The key to seal captures to, which needs no secret. */
export function sealingKeyOf(
  transport: Transport,
  access: EndpointAccess,
  options: CallOptions | undefined,
): Promise<SealingKey> {
  const { path: endpoint } = callTo('capture', access);
  const to = [...endpoint, 'sealing-key'];
  return get(transport, to, {}, options);
}

/** The members of an item, and those that creating its endpoint returned with the secret. */
const ITEM = [
  ...['data', 'reference', 'number', 'algorithm', 'return_card_metadata', 'ttl', 'metadata', 'form_type'],
  ...['url', 'unique_id', 'secret', 'expires_at', 'user'],
];

/**
 * Stores an item through an endpoint. Rejects unknown members, which the endpoint would ignore. `sealed` replaces the
 * item's data.
 */
export function submitTo(
  transport: Transport,
  access: EndpointAccess,
  item: CaptureItem,
  options: KeyedCallOptions | undefined,
  sealed?: string,
): Promise<Captured> {
  const body = sealed ?? textOfData(item.data);
  checkNames(item, ITEM);
  const { reference, number, algorithm, return_card_metadata, ttl, form_type } = item;
  const metadata = item.metadata && JSON.stringify(item.metadata);
  return readJson(transport, {
    ...callTo('capture', access),
    method: 'POST',
    repeat: 'keyed',
    query: { reference, number, algorithm, return_card_metadata, ttl, metadata, form_type },
    body,
    ...(sealed === undefined ? {} : { type: SEALED_TYPE }),
    options,
  });
}
