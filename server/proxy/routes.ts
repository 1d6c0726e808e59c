import { objectOf } from '../http/audit.ts';
import { replayHeader } from '../http/reply.ts';
import { defineRoute } from '../http/route.ts';
import { requireAlgorithm } from '../request/permission.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import type { ProxyService } from './proxy.ts';
import {
  NetworkTokenBody,
  NetworkTokenQuery,
  ProxyAccepted,
  ProxyGetQuery,
  ProxyGetReply,
  ProxyOrder,
  ProxyPostQuery,
  ProxyPostReply,
} from './schema.ts';

interface Needs {
  readonly proxy: ProxyService;
}

const COMMON = {
  method: 'POST',
  noun: 'proxy',
  auth: 'basic',
  passphrase: 'required',
  idempotent: true,
} as const;

const OPENING = ['passphrase_wrong', 'key_not_found'] as const;
const ITEM = [...OPENING, 'token_not_found', 'reference_required'] as const;
const RULES = ['rule_not_found', 'rule_limit'] as const;
/** Nothing was sent. */
const ACCEPTING = ['destination_refused', 'jobs_full'] as const;
/** Errors of synchronous calls; asynchronous ones report them to the webhook. */
const SENDING = [
  'target_unreachable',
  'target_timeout',
  'reply_too_large',
  'reply_too_complex',
  'outcome_unknown',
] as const;

const CHARGE = {
  request: {
    method: 'POST',
    url: 'https://pay.example.com/v1/charges',
    headers: [{ 'Content-Type': 'application/json' }],
    body: '{"amount":1000,"card":{"number":"{{card_number}}","expiry":"{{expiry}}"}}',
  },
  synchronous: true,
};

const FETCH = {
  request: { method: 'GET', url: 'https://pay.example.com/v1/cards/4711' },
  synchronous: true,
};

const post = defineRoute({
  ...COMMON,
  path: '/v1/proxy/post',
  operationId: 'proxyPost',
  scope: 'proxy:send',
  summary: 'Send a request filled with stored data',
  description:
    'Fills the request from the stored object, unmasked, and sends it to a third party. The reply goes to the webhook or, with `synchronous`, to the caller. With an Idempotency-Key a repeated request gets the first reply; a request with an unknown outcome is sent again only if its method is idempotent or it has an Idempotency-Key header of its own.',
  query: ProxyPostQuery,
  body: { kind: 'stored', schema: ProxyOrder, bytesMax: BODY_BYTES.long, example: CHARGE },
  response: ProxyPostReply,
  errors: [
    ...ITEM,
    ...RULES,
    'connection_not_found',
    'template_limit',
    'template_missing',
    ...ACCEPTING,
    ...SENDING,
    'key_changed',
  ],
  meter: ['proxy_attempt'],
  audit: {
    action: 'proxy.send',
    of: 'errors',
    object: ({ query }) => objectOf('item', query.user, query.token),
  },
  handle: async ({ ctx, query, passphrase, body }, services: Needs) => {
    const { rules = [], ...input } = query;
    const { reply, replayed } = await services.proxy.post(ctx, {
      ...input,
      rules,
      passphrase,
      body,
    });
    return { jsonBytes: reply, headers: replayHeader(replayed) };
  },
});

const get = defineRoute({
  ...COMMON,
  path: '/v1/proxy/get',
  operationId: 'proxyGet',
  scope: 'proxy:fetch',
  summary: 'Fetch data from a third party and store it',
  description:
    'Sends a request to a third party and stores the reply under a key. The webhook or, with `synchronous`, the caller receives the token and never the data.',
  query: ProxyGetQuery,
  body: { kind: 'stored', schema: ProxyOrder, bytesMax: BODY_BYTES.long, example: FETCH },
  response: ProxyGetReply,
  errors: [
    ...OPENING,
    ...RULES,
    ...ACCEPTING,
    ...SENDING,
    'reply_not_storable',
    'track_data_refused',
    'test_card',
    'key_changed',
  ],
  meter: ['proxy_attempt'],
  audit: { action: 'proxy.send', of: 'errors', object: ({ query }) => objectOf('key', query.user) },
  handle: async ({ ctx, query, passphrase, body }, services: Needs) => {
    const { rules = [], tokenization_algorithm: algorithm, ...input } = query;
    requireAlgorithm(ctx.account, algorithm, 'query.tokenization_algorithm');
    const { reply, replayed } = await services.proxy.get(ctx, {
      ...input,
      algorithm,
      rules,
      passphrase,
      body,
    });
    return { jsonBytes: reply, headers: replayHeader(replayed) };
  },
});

const networkToken = defineRoute({
  ...COMMON,
  path: '/v1/proxy/network_token',
  operationId: 'requestNetworkToken',
  scope: 'proxy:send',
  summary: 'Request a network token (alpha)',
  description:
    'Sends a stored card to a network token requester of the operator, stores the network token under the same key, and reports it to the webhook. Alpha: this may change.',
  query: NetworkTokenQuery,
  body: { kind: 'stored', schema: NetworkTokenBody, bytesMax: BODY_BYTES.long },
  response: ProxyAccepted,
  errors: [...ITEM, 'number_missing', ...ACCEPTING, 'key_changed'],
  meter: ['network_token'],
  audit: {
    action: 'proxy.send',
    of: 'errors',
    object: ({ query }) => objectOf('item', query.user, query.token),
  },
  handle: async ({ ctx, query, passphrase, body }, services: Needs) => {
    const { reply, replayed } = await services.proxy.networkToken(ctx, {
      ...query,
      passphrase,
      body,
    });
    return { jsonBytes: reply, headers: replayHeader(replayed) };
  },
});

export const PROXY_ROUTES = [post, get, networkToken];
