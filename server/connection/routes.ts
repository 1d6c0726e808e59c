import { objectOf } from '../http/audit.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message, NO_QUERY } from '../schema/common.ts';
import type { Connections } from './connections.ts';
import { Connection, ConnectionList, ConnectionPath, CreateConnection, ReplaceConnection } from './schema.ts';

interface Needs {
  readonly connections: Connections;
}

const COMMON = {
  noun: 'connection',
  auth: 'basic',
  passphrase: 'none',
  query: NO_QUERY,
  meter: [],
  idempotent: false,
} as const;

const createConnection = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/connection',
  operationId: 'createConnection',
  scope: 'connection:write',
  summary: 'Create a connection',
  description:
    'Keeps the address and the credentials of a third party, encrypted. Every member is validated; `field` of the error names the first invalid part. No reply shows the value of a header or the signing key.',
  body: { kind: 'stored', schema: CreateConnection, bytesMax: BODY_BYTES.short },
  response: Connection,
  errors: ['destination_refused', 'connection_exists', 'connections_full'],
  audit: { action: 'connection.create', of: 'all', object: () => 'connection' },
  handle: async ({ ctx, body }, services: Needs) => {
    const json = await services.connections.create(ctx, body);
    return { json, object: objectOf('connection', json.id) };
  },
});

const listConnections = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/connection',
  operationId: 'listConnections',
  scope: 'connection:read',
  summary: 'List connections',
  description: 'Lists the connections of the account, without the values of their credentials.',
  body: { kind: 'none' },
  response: ConnectionList,
  errors: [],
  handle: async ({ ctx }, services: Needs) => ({ stream: await services.connections.list(ctx) }),
});

const readConnection = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/connection/{id}',
  operationId: 'readConnection',
  scope: 'connection:read',
  summary: 'Read a connection',
  description: 'Returns one connection, without the values of its credentials.',
  params: ConnectionPath,
  body: { kind: 'none' },
  response: Connection,
  errors: ['connection_not_found'],
  handle: async ({ ctx, params }, services: Needs) => ({
    json: await services.connections.read(ctx, params.id),
  }),
});

const replaceConnection = defineRoute({
  ...COMMON,
  method: 'PUT',
  path: '/v1/connection/{id}',
  operationId: 'replaceConnection',
  scope: 'connection:write',
  summary: 'Replace a connection',
  description:
    'Replaces everything of a connection but its id: what is left out is gone, credentials included. Requests that are being sent keep what they began with.',
  params: ConnectionPath,
  body: { kind: 'stored', schema: ReplaceConnection, bytesMax: BODY_BYTES.short },
  response: Connection,
  errors: ['destination_refused', 'connection_not_found'],
  audit: {
    action: 'connection.change',
    of: 'all',
    object: ({ params }) => objectOf('connection', params.id),
  },
  handle: async ({ ctx, params, body }, services: Needs) => ({
    json: await services.connections.replace(ctx, params.id, body),
  }),
});

const removeConnection = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/connection/{id}',
  operationId: 'deleteConnection',
  scope: 'connection:write',
  summary: 'Delete a connection',
  description: 'Deletes a connection with its credentials. Requests that still name it fail with 404.',
  params: ConnectionPath,
  body: { kind: 'none' },
  response: Message,
  errors: ['connection_not_found'],
  audit: {
    action: 'connection.delete',
    of: 'all',
    object: ({ params }) => objectOf('connection', params.id),
  },
  handle: async ({ ctx, params }, services: Needs) => {
    await services.connections.remove(ctx, params.id);
    return { json: { message: 'The connection was deleted.' } };
  },
});

export const CONNECTION_ROUTES = [
  createConnection,
  listConnections,
  readConnection,
  replaceConnection,
  removeConnection,
];
