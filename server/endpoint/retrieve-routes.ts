import { objectOf } from '../http/audit.ts';
import { nextTokenHeader } from '../http/reply.ts';
import { defineRoute } from '../http/route.ts';
import { Message, NO_QUERY } from '../schema/common.ts';
import { ItemsReply } from '../vault/schema.ts';
import { readyPage, rejectUnlockedPage, shownOnce } from './link-routes.ts';
import { CreateRetrieveQuery, RetrieveEndpoint, RetrieveQuery } from './retrieve-schema.ts';
import { EndpointList, EndpointListQuery, EndpointPath } from './schema.ts';

const createRetrieve = defineRoute({
  method: 'POST',
  path: '/v1/retrieve',
  operationId: 'createRetrieveEndpoint',
  scope: 'retrieve:write',
  noun: 'retrieve',
  summary: 'Create a retrieval endpoint',
  description:
    'Creates an endpoint that reads items of a key and can do nothing else. Its scope is all items, one token, or one reference. Masks and rules are applied to what it returns; masks of the account come first. With `Accept: text/html` the reply is a page that displays the item; this needs `token`, and `reference` if the item has one.',
  auth: 'basic',
  query: CreateRetrieveQuery,
  passphrase: 'required',
  body: { kind: 'none' },
  html: 'preferred',
  response: RetrieveEndpoint,
  errors: ['endpoint_exists', 'passphrase_wrong', 'key_not_found', 'key_changed', 'integrity_failed'],
  meter: ['retrieve_create'],
  idempotent: false,
  audit: {
    action: 'endpoint.create',
    of: 'all',
    object: ({ query }) => objectOf('endpoint', query.unique_id),
  },
  handle: async ({ ctx, query, passphrase, request, services }) => {
    rejectUnlockedPage(request, query);
    const { rules = [], ...input } = query;
    const made = await services.retrievals.create(ctx, { ...input, rules, passphrase });
    const { user, token, reference } = query;
    const json = { ...shownOnce(made), user, token, reference };
    const reply = readyPage({ request, services }, made, query) ?? { json };
    return { ...reply, object: objectOf('endpoint', made.unique_id) };
  },
});

const listRetrieves = defineRoute({
  method: 'GET',
  path: '/v1/retrieve',
  operationId: 'listRetrieveEndpoints',
  scope: 'retrieve:write',
  noun: 'retrieve',
  summary: 'List retrieval endpoints',
  description:
    'Lists the retrieval endpoints of the account, or of one key. Expired endpoints are listed until the vault removes them, a day later.',
  auth: 'basic',
  query: EndpointListQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: EndpointList,
  errors: ['key_not_found', 'integrity_failed'],
  meter: ['list'],
  idempotent: false,
  handle: async ({ ctx, query, services }) => ({
    json: await services.endpoints.list(ctx, 'retrieve', query),
  }),
});

const retrieve = defineRoute({
  method: 'GET',
  path: '/v1/retrieve/{unique_id}',
  operationId: 'retrieve',
  scope: 'none',
  noun: 'retrieve',
  summary: 'Read through a retrieval endpoint',
  description:
    'With `token`, returns the object itself; otherwise the tree of the items in the scope of the endpoint, with their data if `decrypt_all` is true. Items outside the scope give an error. An unknown endpoint and a wrong secret give the same error.',
  auth: 'retrieve_secret',
  params: EndpointPath,
  query: RetrieveQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: ItemsReply,
  errors: [
    'endpoint_out_of_scope',
    'reference_required',
    'cursor_invalid',
    'token_not_found',
    'rule_not_found',
    'rule_limit',
    'integrity_failed',
  ],
  meter: ['retrieve'],
  idempotent: false,
  handle: async ({ ctx, params, secret, query, services }) => {
    const input = { ...query, unique_id: params.unique_id, secret };
    const reply = await services.retrievals.use(ctx, input);
    return reply instanceof Uint8Array
      ? { jsonBytes: reply }
      : { stream: reply.stream, headers: nextTokenHeader(reply.nextToken) };
  },
});

const removeRetrieve = defineRoute({
  method: 'DELETE',
  path: '/v1/retrieve/{unique_id}',
  operationId: 'deleteRetrieveEndpoint',
  scope: 'retrieve:write',
  noun: 'retrieve',
  summary: 'Delete a retrieval endpoint',
  description: 'Deletes an endpoint of either kind immediately and releases its id.',
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

export const RETRIEVE_ROUTES = [createRetrieve, listRetrieves, retrieve, removeRetrieve];
