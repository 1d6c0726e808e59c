/** What the calls of vault keys send. */
import type { Wire } from '../wires.ts';

export const KEYS: Readonly<Record<string, Wire>> = {
  'keys.create': {
    call: ({ client }) => client.keys.create({ user: 'shop' }),
    request: 'POST /v1/key',
    body: { user: 'shop' },
  },
  'keys.create with a passphrase': {
    call: ({ client }) => client.keys.create({ user: 'shop', passphrase: 'chosen-one' }),
    request: 'POST /v1/key',
    body: { user: 'shop', passphrase: 'chosen-one' },
    keyed: true,
  },
  'keys.create with summaries': {
    call: ({ client }) => client.keys.create({ user: 'shop', passphrase: 'chosen-one', summary: true }),
    request: 'POST /v1/key',
    body: { user: 'shop', passphrase: 'chosen-one', summary: true },
    keyed: true,
  },
  'keys.list': { call: ({ client }) => client.keys.list(), request: 'GET /v1/key' },
  'keys.list of a page': {
    call: ({ client }) => client.keys.list({ limit: 2, next_token: 'n' }),
    request: 'GET /v1/key?limit=2&next_token=n',
  },
  'keys.pages': {
    call: ({ client }) => Array.fromAsync(client.keys.pages({ limit: 2 })),
    request: 'GET /v1/key?limit=2',
  },
  'keys.changePassphrase': {
    call: ({ client }) =>
      client.keys.changePassphrase({ user: 'shop', passphrase: 'old', new_passphrase: 'new' }),
    request: 'PUT /v1/key',
    body: { user: 'shop', passphrase: 'old', new_passphrase: 'new' },
  },
  'keys.setSummary': {
    call: ({ client }) => client.keys.setSummary({ user: 'shop', passphrase: 'old', summary: true }),
    request: 'PUT /v1/key',
    body: { user: 'shop', passphrase: 'old', summary: true },
  },
  'keys.reseal': {
    call: ({ client }) => client.keys.reseal({ user: 'shop', passphrase: 'old' }),
    request: 'POST /v1/key/reseal',
    body: { user: 'shop', passphrase: 'old' },
  },
  'keys.resealProgress': {
    call: ({ client }) => client.keys.resealProgress({ user: 'shop' }),
    request: 'GET /v1/key/reseal?user=shop',
  },
  'keys.delete': {
    call: ({ client }) => client.keys.delete({ user: 'shop', safe: false }),
    request: 'DELETE /v1/key?user=shop&safe=false',
  },
};
