import { type JsonObject, parseStoredObject, stringifyJson } from '../../server/domain/json/json.ts';
import { isIdempotencyKey } from '../../server/domain/proxy/headers.ts';
import {
  type ProxyMethod,
  type ProxyRequest,
  type ProxyWebhook,
  parseNetworkTokenOrder,
  parseProxyOrder,
} from '../../server/domain/proxy/request.ts';
import { EMPTY, field, type Handler, JobFailure, paramsOf, toBytes, toJsonBytes } from './context.ts';
import type { OrderFacts, OrderParams } from './proxy-kinds.ts';
import { parseOwn, type WebhookPlace } from './proxy-record.ts';

/** An order as it travels between two jobs of one request. */
export interface Order {
  readonly facts: OrderFacts;
  /** Of a network token there is none. */
  readonly request?: ProxyRequest | undefined;
  readonly webhook?: WebhookPlace | undefined;
  readonly metadata?: string | undefined;
}

/** Methods that do the same when they are sent twice (RFC 9110, section 9.2.2). */
const REPEATABLE: ReadonlySet<ProxyMethod> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

const isRepeatable = ({ method, headers }: ProxyRequest): boolean =>
  REPEATABLE.has(method) || headers.some(({ name }) => isIdempotencyKey(name));

/** What the body of each kind asks for, by one form. */
function parseBody(
  { what, webhookAttempts }: OrderParams,
  body: JsonObject,
): { readonly request?: ProxyRequest; readonly synchronous: boolean; readonly webhook?: ProxyWebhook } {
  return what === 'network_token'
    ? { synchronous: false, webhook: parseNetworkTokenOrder(body, { webhookAttempts }) }
    : parseProxyOrder(body, { literal: what === 'get', webhookAttempts });
}

/** Reads and checks an order. Where nobody waits for the outcome, there must be a webhook to hear of it. */
export const readProxyOrder: Handler = (_context, fields) => {
  const params = paramsOf<OrderParams>(fields);
  const { what } = params;
  const body = parseStoredObject(field(fields, 1));
  const { request, synchronous, webhook: given } = parseBody(params, body);
  const isBare = what === 'network_token' && (body.get('webhook') ?? undefined) === undefined;
  if (!synchronous && given === undefined) {
    throw new JobFailure('invalid_request', 'body.webhook');
  }
  const { metadata, ...webhook } = given ?? {};
  const facts: OrderFacts = {
    synchronous,
    origin: request && `${request.origin}/`,
    clientCertId: request?.clientCertId,
    webhook: given && { url: given.url, field: isBare ? 'body.url' : 'body.webhook.url' },
    repeatable: request !== undefined && isRepeatable(request),
  };
  const order = {
    facts,
    request,
    webhook: given && webhook,
    metadata: metadata && stringifyJson(metadata),
  };
  return [toJsonBytes(facts), toJsonBytes(order)];
};

/** An order that `readProxyOrder` has made. */
export const readOrder = (bytes: Uint8Array): Order => parseOwn<Order>(bytes);

/** What a job keeps of its order for the time when it has an outcome. */
export const reportOf = ({ webhook, metadata }: Order) => ({
  webhook,
  metadata: metadata === undefined ? EMPTY : toBytes(metadata),
});
