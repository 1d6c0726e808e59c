import type { Wire } from '../wires.ts';

const data = { card_number: '4000000000000002' };

/** What the calls of many items send. */
export const BATCHES: Readonly<Record<string, Wire>> = {
  'vault.storeMany': {
    call: ({ client }) =>
      Array.fromAsync(client.vault.storeMany({ user: 'shop', items: [{ data, ttl: '1h' }] })),
    request: 'POST /v1/vault/batch',
    body: { user: 'shop', items: [{ ttl: '1h', data }] },
    reply: { results: [{ token: 't1' }] },
    passphrase: true,
    keyed: true,
  },
  'vault.decryptMany': {
    call: ({ client }) =>
      Array.fromAsync(client.vault.decryptMany({ user: 'shop', items: [{ token: 't1' }], rules: ['a'] })),
    request: 'POST /v1/vault/batch/decrypt',
    body: { user: 'shop', rules: ['a'], items: [{ token: 't1' }] },
    passphrase: true,
    reply: { results: [{ token: 't1', data }] },
  },
  'vault.deleteMany': {
    call: ({ client }) =>
      Array.fromAsync(client.vault.deleteMany({ user: 'shop', items: [{ token: 't1' }] })),
    request: 'POST /v1/vault/batch/delete',
    body: { user: 'shop', items: [{ token: 't1' }] },
    keyed: true,
    reply: { results: [{ token: 't1', deleted: true }] },
  },
  'vault.eraseReference': {
    call: ({ client }) => client.vault.eraseReference({ user: 'shop', reference: 'r&1' }),
    request: 'DELETE /v1/vault?user=shop&reference=r%261&all=true',
    reply: { message: 'Deleted.', deleted: 0 },
  },
};
