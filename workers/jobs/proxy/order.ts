import { workedMs } from '../../../server/core/cpu-budget.ts';
import { VaultError } from '../../../server/core/errors.ts';
import type { ProxyMethod } from '../../../server/core/third-party.ts';
import { type JsonObject, parseStoredObject, stringifyJson } from '../../../server/domain/json/json.ts';
import { type FilledRequest, type FillOptions, fillRequest } from '../../../server/domain/proxy/fill.ts';
import { isIdempotencyKey } from '../../../server/domain/proxy/headers.ts';
import {
  type ParsedRequest,
  type ParsedWebhook,
  parseCaptureOrder,
  parseNetworkTokenOrder,
  parseProxyOrder,
} from '../../../server/domain/proxy/request.ts';
import { generationOf, type UnlockedKey } from '../../crypto/key/unlocked.ts';
import { EMPTY, utf8 } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { FillProxyParams, OrderFacts, OrderParams, PROXY_JOBS, PrepareFetchParams } from './jobs.ts';
import type { SealedRequest, WebhookTarget } from './record.ts';

/** An order between two jobs of one request. */
export interface ParsedOrder {
  readonly facts: OrderFacts;
  /** A network token has none. */
  readonly request?: ParsedRequest | undefined;
  /** The text of the request's `extra_data`. */
  readonly extraData?: string | undefined;
  readonly webhook?: WebhookTarget | undefined;
  readonly metadata?: string | undefined;
}

/** Idempotent methods (RFC 9110, section 9.2.2). */
const REPEATABLE: ReadonlySet<ProxyMethod> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

function isRepeatable({ method, headers }: ParsedRequest): boolean {
  return REPEATABLE.has(method) || headers.some(({ name }) => isIdempotencyKey(name));
}

function hasSections({ target, headers, body }: ParsedRequest): boolean {
  const templates = [target, ...headers.map(({ value }) => value), ...(body === undefined ? [] : [body])];
  return templates.some(({ parts }) => parts.some((part) => 'parts' in part));
}

/** Parses the body of each kind into one form. */
function parseBody(
  { what, ...options }: OrderParams,
  body: JsonObject,
): {
  readonly request?: ParsedRequest;
  readonly synchronous: boolean;
  readonly webhook?: ParsedWebhook | undefined;
} {
  switch (what) {
    case 'network_token':
      return { synchronous: false, webhook: parseNetworkTokenOrder(body, options) };
    case 'capture':
      return { synchronous: false, webhook: parseCaptureOrder(body, options) };
    default:
      return parseProxyOrder(body, { literal: what === 'get', ...options });
  }
}

/** An order that `readProxyOrder` has made. */
export function readOrder(bytes: Uint8Array): ParsedOrder {
  return parseOwn<ParsedOrder>(bytes);
}

/** The part of an order that its report needs. */
export function reportOf({ webhook, metadata }: ParsedOrder) {
  return { webhook, metadata: metadata === undefined ? EMPTY : utf8(metadata) };
}

/** An outgoing request without its body, and the body. */
export interface Outgoing {
  readonly request: SealedRequest;
  readonly body: Uint8Array;
}

export function outgoing({ method, url, headers, body }: FilledRequest): Outgoing {
  return {
    request: { method, url, headers, hasBody: body !== undefined },
    body: body === undefined ? EMPTY : utf8(body),
  };
}

/** An outgoing request as one attempt sends it. */
export function attemptOf({ request: { hasBody, ...head }, body }: Outgoing) {
  return { ...head, body: hasBody ? body : undefined };
}

export function fillOrder(
  { request, extraData }: ParsedOrder,
  item: JsonObject,
  options: FillOptions,
): FilledRequest {
  if (request === undefined) {
    throw new VaultError('internal');
  }
  const extra = extraData === undefined ? {} : { extraData: parseStoredObject(utf8(extraData)) };
  return fillRequest({ ...request, ...extra }, item, workedMs, options);
}

/** The common facts of all kinds of jobs. */
export function commonFacts(
  params: FillProxyParams | PrepareFetchParams,
  { facts }: ParsedOrder,
  key: UnlockedKey,
) {
  const { account, user, kid, ip, userAgent, actor, credentialId, credentialName } = params;
  const { forcedMask, attempts, requestId } = params;
  return {
    account,
    user,
    kid,
    gen: generationOf(key).gen,
    ip,
    ua: userAgent,
    actor,
    credentialId,
    credentialName,
    forcedMask: forcedMask && credentialId !== undefined ? true : undefined,
    requestId,
    attempts,
    repeatable: facts.repeatable,
    synchronous: facts.synchronous,
    clientCertId: facts.clientCertId,
  };
}

export const ORDER_HANDLERS = {
  /** Requires a webhook for an asynchronous request. */
  readProxyOrder(_context, { params, body: sent }) {
    const body = parseStoredObject(sent);
    const { request, synchronous, webhook: given } = parseBody(params, body);
    const isBare = params.what === 'network_token' && (body.get('webhook') ?? undefined) === undefined;
    if (!synchronous && given === undefined && params.what !== 'capture') {
      const expected = 'is missing, and the reply of an asynchronous request is sent to it';
      throw new VaultError('invalid_request', { field: 'body.webhook', expected });
    }
    const { metadata, ...webhook } = given ?? {};
    const facts: OrderFacts = {
      synchronous,
      origin: request && request.connection === undefined ? `${request.origin}/` : undefined,
      connection: request?.connection,
      clientCertId: request?.clientCertId,
      webhook: given && { url: given.url, field: isBare ? 'body.url' : 'body.webhook.url' },
      repeatable: request !== undefined && isRepeatable(request),
      hasSections: request !== undefined && hasSections(request),
    };
    const { extraData, ...rest } = request ?? {};
    const order = {
      facts,
      request: request && rest,
      extraData: extraData && stringifyJson(extraData),
      webhook: given && webhook,
      metadata: metadata && stringifyJson(metadata),
    };
    return { facts, order: toJsonBytes(order) };
  },
} satisfies Partial<ThreadHandlers<typeof PROXY_JOBS>>;
