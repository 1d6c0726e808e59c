import type { Wire } from '../wires.ts';

const name = 'shop@4711';
const path = '/v1/account/shop%404711';

/** What the methods of accounts send. */
export const ACCOUNTS: Readonly<Record<string, Wire>> = {
  'accounts.create': {
    call: ({ client }) => client.accounts.create({ name, rate: '600/m', hosts: ['pay.example'] }),
    request: 'POST /v1/account',
    body: { name, rate: '600/m', hosts: ['pay.example'] },
  },
  'accounts.list': { call: ({ client }) => client.accounts.list(), request: 'GET /v1/account' },
  'accounts.get': { call: ({ client }) => client.accounts.get({ name }), request: `GET ${path}` },
  'accounts.change': {
    call: ({ client }) => client.accounts.change({ name, unmasked: false, hosts: null, rate: null }),
    request: `PATCH ${path}`,
    body: { unmasked: false, hosts: null, rate: null },
  },
  'accounts.delete': { call: ({ client }) => client.accounts.delete({ name }), request: `DELETE ${path}` },
  'accounts.newPassword': {
    call: ({ client }) => client.accounts.newPassword({ name }),
    request: `POST ${path}/password`,
  },
  'accounts.suspend': {
    call: ({ client }) => client.accounts.suspend({ name }),
    request: `POST ${path}/suspend`,
  },
  'accounts.resume': {
    call: ({ client }) => client.accounts.resume({ name }),
    request: `POST ${path}/resume`,
  },
};
