import type { Wire } from '../wires.ts';

const recipients = ['age1one', 'age1two'];
const made = { user: 'shop', passphrase: 'old', recipients, threshold: 2 };
const used = { user: 'shop', shares: ['first', 'second'], new_passphrase: 'new' };
const removed = { user: 'shop', passphrase: 'old' };

/** What the methods of recoveries send. */
export const RECOVERIES: Readonly<Record<string, Wire>> = {
  'keys.recovery.create': {
    call: ({ client }) => client.keys.recovery.create(made),
    request: 'POST /v1/key/recovery',
    body: made,
  },
  'keys.recovery.read': {
    call: ({ client }) => client.keys.recovery.read({ user: 'shop' }),
    request: 'GET /v1/key/recovery?user=shop',
  },
  'keys.recovery.remove': {
    call: ({ client }) => client.keys.recovery.remove(removed),
    request: 'DELETE /v1/key/recovery',
    body: removed,
  },
  'keys.recover': {
    call: ({ client }) => client.keys.recover(used),
    request: 'POST /v1/key/recover',
    body: used,
  },
};
