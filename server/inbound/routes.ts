import { Type } from '@sinclair/typebox';
import { withoutSecretsInPassing } from '../domain/relay/sight.ts';
import { objectOf } from '../http/audit.ts';
import type { HttpConfig } from '../http/deps.ts';
import { defineRoute, type Method, type Route } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Identifier, Message, NO_QUERY } from '../schema/common.ts';
import { PASSED_METHODS, PASSED_ON, PassedPath, passedPart } from '../schema/passed-on.ts';
import type { Inbounds } from './inbounds.ts';
import { CreateInbound, Inbound, InboundList, InboundPath, InboundWithSecret } from './schema.ts';
import type { InboundUses } from './uses.ts';

interface Needs {
  readonly http: HttpConfig;
  readonly inbounds: Inbounds;
  readonly inboundUses: InboundUses;
}

const COMMON = { noun: 'inbound', auth: 'basic', scope: 'capture:write', query: NO_QUERY } as const;

const createInbound = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/inbound',
  operationId: 'createInbound',
  summary: 'Create an inbound',
  description:
    'Creates a URL for senders such as partners and apps: what they send there goes on to the connection, with a token in the place of each card, which is stored under the key. With `id` and `secret` of before an inbound is made again, also one that a change of the passphrase has stopped, so that its senders keep their secret. A credential needs the scopes `capture:write` and `proxy:send`.',
  passphrase: 'required',
  body: { kind: 'json', schema: CreateInbound, bytesMax: BODY_BYTES.short },
  response: InboundWithSecret,
  errors: [
    'connection_not_found',
    'destination_refused',
    'metadata_sensitive',
    'endpoint_exists',
    'passphrase_wrong',
    'key_not_found',
    'key_changed',
  ],
  meter: ['capture_create'],
  audit: { action: 'endpoint.create', object: ({ body }) => objectOf('endpoint', body.id) },
  handle: async ({ ctx, body, passphrase }, services: Needs) => {
    const { secret, ...made } = await services.inbounds.create(ctx, { ...body, passphrase });
    return { json: { ...made, secret: secret.expose() }, object: objectOf('endpoint', made.id) };
  },
});

const listInbounds = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/inbound',
  operationId: 'listInbounds',
  summary: 'List inbounds',
  description:
    'Lists the inbounds of the account with their settings, without their secrets. Expired ones are listed until the vault removes them, a day later.',
  response: InboundList,
  errors: [],
  meter: ['list'],
  handle: async ({ ctx }, services: Needs) => ({ json: await services.inbounds.list(ctx) }),
});

const readInbound = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/inbound/{id}',
  operationId: 'readInbound',
  summary: 'Read an inbound',
  description: 'Returns the settings of one inbound, without its secret.',
  params: InboundPath,
  response: Inbound,
  errors: ['endpoint_not_found'],
  meter: [],
  handle: async ({ ctx, params }, services: Needs) => ({
    json: await services.inbounds.read(ctx, params.id),
  }),
});

const deleteInbound = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/inbound/{id}',
  operationId: 'deleteInbound',
  summary: 'Delete an inbound',
  description: 'Deletes an inbound at once and releases its id. Cards that it has stored are kept.',
  params: InboundPath,
  response: Message,
  errors: ['endpoint_not_found'],
  meter: ['delete'],
  audit: { action: 'endpoint.delete', object: ({ params }) => objectOf('endpoint', params.id) },
  handle: async ({ ctx, params }, services: Needs) => {
    await services.inbounds.remove(ctx, params.id);
    return { json: { message: 'The inbound was deleted.' } };
  },
});

function sendBy(method: Method): Route<Needs> {
  const name = `${method.charAt(0)}${method.slice(1).toLowerCase()}`;
  return defineRoute({
    method,
    path: '/v1/inbound/{id}/{path}',
    operationId: `inbound${name}`,
    scope: 'none',
    noun: 'inbound',
    summary: `Send a request through an inbound (${method})`,
    description:
      'Stores the cards of the request under the key of the inbound, and sends the request once to the third party of its connection, with their tokens in their places and with the headers of the connection. Nothing is sent if anything cannot be stored. The body is JSON, a form or XML; it may be empty. The reply is that of the third party, with `X-Vault-Stored`, the number of tokens; a redirection within the connection points to the inbound.',
    auth: 'inbound_secret',
    params: Type.Object({
      id: Identifier('The id of the inbound.'),
      path: PassedPath,
    }),
    ...PASSED_ON,
    needsPath: true,
    errors: [
      ...(['not_allowed', 'path_invalid', 'connection_not_found', 'certificate_not_found'] as const),
      ...(['content_type_unsupported', 'charset_unsupported', 'track_data_refused'] as const),
      ...([
        'card_not_extracted',
        'code_not_extracted',
        'reference_sensitive',
        'test_card',
        'destination_refused',
      ] as const),
      ...(['target_unreachable', 'target_timeout', 'outcome_unknown', 'reply_too_large'] as const),
      ...(['redirect_refused', 'connection_closed'] as const),
    ],
    meter: ['capture', 'proxy_attempt'],
    handle: async ({ ctx, params, secret, body, request }, services: Needs) => {
      const { status, secrets, ...reply } = await services.inboundUses.use(ctx, {
        ...{ unique_id: params.id, secret, body, ...passedPart(request.url) },
        url: `${services.http.publicUrl}/v1/inbound/${params.id}`,
        method: request.method,
        headers: [...request.headers],
      });
      return { relayed: { status, ...withoutSecretsInPassing(reply, secrets.expose()) } };
    },
  });
}

export const INBOUND_ROUTES = [
  createInbound,
  listInbounds,
  readInbound,
  deleteInbound,
  ...PASSED_METHODS.map(sendBy),
];
