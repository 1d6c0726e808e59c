import type { Wire } from '../wires.ts';

/** What the methods about the account itself send. */
export const ADMIN: Readonly<Record<string, Wire>> = {
  'admin.whoami': { call: ({ client }) => client.admin.whoami(), request: 'GET /v1/whoami' },
  'admin.billing': { call: ({ client }) => client.admin.billing(), request: 'GET /v1/billing' },
  'admin.expiring': {
    call: ({ client }) => client.admin.expiring({ within: 'P7D', limit: 2 }),
    request: 'GET /v1/expiring?within=P7D&limit=2',
  },
  'admin.expiringPages': {
    call: ({ client }) => Array.fromAsync(client.admin.expiringPages({ within: '0' })),
    request: 'GET /v1/expiring?within=0',
  },
  'admin.certificate': {
    call: ({ client }) => client.admin.certificate(),
    request: 'GET /v1/certificate',
  },
  'admin.changePassword': {
    call: ({ client }) => client.admin.changePassword({ new_password: 'another-one' }),
    request: 'POST /v1/change-password',
    body: { new_password: 'another-one' },
  },
  'admin.changePassword to a generated one': {
    call: ({ client }) => client.admin.changePassword(),
    request: 'POST /v1/change-password',
    body: {},
  },
  'admin.setPreference': {
    call: ({ client }) => client.admin.setPreference({ key: 'mask_fields', value: ['a'] }),
    request: 'POST /v1/preferences',
    body: { key: 'mask_fields', value: ['a'] },
  },
  'admin.getPreference': {
    call: ({ client }) => client.admin.getPreference({ key: 'k' }),
    request: 'GET /v1/preferences?key=k',
  },
  'admin.listPreferences': {
    call: ({ client }) => client.admin.listPreferences(),
    request: 'GET /v1/preferences',
  },
  'admin.deletePreference': {
    call: ({ client }) => client.admin.deletePreference({ key: 'k' }),
    request: 'DELETE /v1/preferences?key=k',
  },
  'admin.usage': {
    call: ({ client }) => client.admin.usage({ month: '2026-01' }),
    request: 'GET /v1/usage?month=2026-01',
  },
};
