import type { Wire } from '../wires.ts';

const settings = {
  base_url: 'https://api.pay.example/v1',
  headers: [{ Authorization: 'Bearer x' }],
  sign: {
    algorithm: 'hmac-sha-256' as const,
    key: 'k',
    header: 'X-Signature',
    payload: '{{timestamp}}.{{body}}',
  },
};

/** What the methods of connections send. */
export const CONNECTIONS: Readonly<Record<string, Wire>> = {
  'connections.create': {
    call: ({ client }) => client.connections.create({ id: 'pay', ...settings }),
    request: 'POST /v1/connection',
    body: { id: 'pay', ...settings },
  },
  'connections.list': { call: ({ client }) => client.connections.list(), request: 'GET /v1/connection' },
  'connections.get': {
    call: ({ client }) => client.connections.get({ id: 'pay' }),
    request: 'GET /v1/connection/pay',
  },
  'connections.replace': {
    call: ({ client }) => client.connections.replace({ id: 'pay', ...settings }),
    request: 'PUT /v1/connection/pay',
    body: settings,
  },
  'connections.delete': {
    call: ({ client }) => client.connections.delete({ id: 'pay' }),
    request: 'DELETE /v1/connection/pay',
  },
};
