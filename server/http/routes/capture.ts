import { objectOf } from '../plugins/audit.ts';
import { replayHeader } from '../plugins/replies.ts';
import { defineRoute } from '../plugins/route.ts';
import {
  Captured,
  CaptureEndpoint,
  CaptureQuery,
  CaptureState,
  CreateCaptureQuery,
} from '../schema/capture.ts';
import { Message } from '../schema/common.ts';
import { EndpointList, EndpointListQuery, EndpointPath } from '../schema/endpoint.ts';
import { CaptureOrder } from '../schema/proxy.ts';
import { STORED_BYTES_MAX, StoredObject } from '../schema/vault.ts';
import { NO_QUERY, readyPage, shownOnce } from './endpoint.ts';

const createCapture = defineRoute({
  method: 'POST',
  path: '/v1/capture',
  operationId: 'createCaptureEndpoint',
  scope: 'capture:write',
  noun: 'capture',
  summary: 'Create a capture endpoint',
  description:
    'Creates an endpoint that stores posted data, or with `token` adds it to one item, and can do nothing else. A webhook in the body is told of each capture. Give its URL and secret to the party that sends data. The rules are applied to the data before it is stored. With `Accept: text/html` the reply is a card form for this endpoint, ready to use.',
  auth: 'basic',
  query: CreateCaptureQuery,
  passphrase: 'required',
  body: { kind: 'stored', schema: CaptureOrder, bytesMax: STORED_BYTES_MAX, optional: true },
  html: 'preferred',
  response: CaptureEndpoint,
  errors: [
    'endpoint_exists',
    'passphrase_wrong',
    'key_not_found',
    'key_changed',
    'token_not_found',
    'reference_required',
    'destination_refused',
    'integrity_failed',
  ],
  meter: ['capture_create'],
  idempotent: false,
  audit: {
    action: 'endpoint.create',
    of: 'all',
    object: ({ query }) => objectOf('endpoint', query.unique_id),
  },
  handle: async ({ ctx, query, passphrase, body, request, services }) => {
    const { rules = [], ...input } = query;
    const made = await services.captures.create(ctx, { ...input, rules, passphrase, body });
    const reply = readyPage({ request, services }, made) ?? { json: shownOnce(made) };
    return { ...reply, object: objectOf('endpoint', made.unique_id) };
  },
});

const listCaptures = defineRoute({
  method: 'GET',
  path: '/v1/capture',
  operationId: 'listCaptureEndpoints',
  scope: 'capture:write',
  noun: 'capture',
  summary: 'List capture endpoints',
  description:
    'Lists the capture endpoints of the account, or of one key. Expired endpoints are listed until the vault removes them, a day later.',
  auth: 'basic',
  query: EndpointListQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: EndpointList,
  errors: ['key_not_found', 'integrity_failed'],
  meter: ['list'],
  idempotent: false,
  handle: async ({ ctx, query, services }) => ({
    json: await services.endpoints.list(ctx, 'capture', query),
  }),
});

const capture = defineRoute({
  method: 'POST',
  path: '/v1/capture/{unique_id}',
  operationId: 'capture',
  scope: 'none',
  noun: 'capture',
  summary: 'Send data to a capture endpoint',
  description:
    'Stores the body as POST /vault does; the secret of the endpoint replaces account, key and passphrase. Where the endpoint is for one token, what is sent is merged into that item: it is sealed as it comes, and opens with the item. It works from any web page: the body is parsed as JSON for every content type. An unknown endpoint and a wrong secret give the same error.',
  auth: 'capture_secret',
  params: EndpointPath,
  query: CaptureQuery,
  passphrase: 'none',
  body: { kind: 'stored', schema: StoredObject, bytesMax: STORED_BYTES_MAX },
  response: Captured,
  errors: [
    'number_missing',
    'test_card',
    'metadata_sensitive',
    'token_exists',
    'token_not_found',
    'endpoint_out_of_scope',
    'patches_full',
    'jobs_full',
    'rule_not_found',
    'rule_limit',
    'integrity_failed',
  ],
  meter: ['capture'],
  idempotent: true,
  handle: async ({ ctx, params, secret, query, body, request, services }) => {
    const contentType = request.headers.get('content-type') ?? undefined;
    const input = { ...query, unique_id: params.unique_id, secret, body, contentType };
    const { reply, replayed } = await services.captures.use(ctx, input);
    return { json: reply, headers: replayHeader(replayed) };
  },
});

const checkCapture = defineRoute({
  method: 'GET',
  path: '/v1/capture/{unique_id}',
  operationId: 'checkCaptureEndpoint',
  scope: 'none',
  noun: 'capture',
  summary: 'Ask whether a capture endpoint takes data',
  description:
    'Says that the secret is right and until when the endpoint takes data, so that a page can say so before somebody types. Nothing is stored, logged or billed; errors are recorded as those of a capture are.',
  auth: 'capture_secret',
  params: EndpointPath,
  query: NO_QUERY,
  passphrase: 'none',
  body: { kind: 'none' },
  response: CaptureState,
  errors: ['integrity_failed'],
  meter: [],
  idempotent: false,
  handle: async ({ ctx, params, secret, services }) => ({
    json: await services.captures.check(ctx, { unique_id: params.unique_id, secret }),
  }),
});

const removeCapture = defineRoute({
  method: 'DELETE',
  path: '/v1/capture/{unique_id}',
  operationId: 'deleteCaptureEndpoint',
  scope: 'capture:write',
  noun: 'capture',
  summary: 'Delete a capture endpoint',
  description:
    'Deletes an endpoint of either kind immediately and releases its id. Data that it stored is kept.',
  auth: 'basic',
  params: EndpointPath,
  query: NO_QUERY,
  passphrase: 'none',
  body: { kind: 'none' },
  response: Message,
  errors: ['endpoint_not_found', 'integrity_failed'],
  meter: ['delete'],
  idempotent: false,
  audit: {
    action: 'endpoint.delete',
    of: 'all',
    object: ({ params }) => objectOf('endpoint', params.unique_id),
  },
  handle: async ({ ctx, params, services }) => {
    await services.endpoints.remove(ctx, params.unique_id);
    return { json: { message: 'The endpoint was deleted.' } };
  },
});

export const CAPTURE_ROUTES = [createCapture, listCaptures, capture, checkCapture, removeCapture];
