/** What relays send: whatever the caller gives, to the path of the connection. */
import type { Wire } from '../wires.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export const RELAYS: Readonly<Record<string, Wire>> = Object.fromEntries(
  METHODS.map((method) => [
    `relay.fetch ${method}`,
    {
      call: ({ client }) => client.relay('psp', { user: 'shop' }).fetch('/v1/charges?a=1&&b', { method }),
      request: `${method} /v1/relay/psp/v1/charges?a=1&&b`,
      passphrase: true,
    } satisfies Wire,
  ]),
);
