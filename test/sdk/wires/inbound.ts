import type { Wire } from '../wires.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const settings = { connection: 'shop', extract: [{ number: 'card.number', code: 'card.cvc' }] };

const INBOUND = { id: 'orders', secret: 'vcs1_canarycanarycanarycanarycanarycanarycanaryc' };

/** What the methods of inbounds send, and senders through one. */
export const INBOUNDS: Readonly<Record<string, Wire>> = {
  'inbound.create': {
    call: ({ client }) => client.inbound.create({ user: 'shop', ...settings }),
    request: 'POST /v1/inbound',
    body: { user: 'shop', ...settings },
    passphrase: true,
  },
  'inbound.list': { call: ({ client }) => client.inbound.list(), request: 'GET /v1/inbound' },
  'inbound.get': {
    call: ({ client }) => client.inbound.get({ id: 'orders' }),
    request: 'GET /v1/inbound/orders',
  },
  'inbound.delete': {
    call: ({ client }) => client.inbound.delete({ id: 'orders' }),
    request: 'DELETE /v1/inbound/orders',
  },
  ...Object.fromEntries(
    METHODS.map((method) => [
      method === 'GET' ? 'inbound.sender' : `inbound.sender ${method}`,
      {
        call: ({ client }) => client.inbound.sender(INBOUND).fetch('/v1/orders?a=1&&b', { method }),
        request: `${method} /v1/inbound/orders/v1/orders?a=1&&b`,
        secret: 'capture',
      } satisfies Wire,
    ]),
  ),
};
