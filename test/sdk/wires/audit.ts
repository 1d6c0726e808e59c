import type { Wire } from '../wires.ts';

/** What the calls on the security log send. */
export const AUDIT: Readonly<Record<string, Wire>> = {
  'audit.list': {
    call: ({ client }) =>
      client.audit.list({ action: 'key.create', token: 't1', after: '2026-01-31T12:00:00Z', limit: 2 }),
    request: 'GET /v1/audit?action=key.create&token=t1&after=2026-01-31T12%3A00%3A00Z&limit=2',
  },
  'audit.pages': {
    call: ({ client }) => Array.fromAsync(client.audit.pages({ before: '2026-01-31T12:00:00Z' })),
    request: 'GET /v1/audit?before=2026-01-31T12%3A00%3A00Z',
  },
};
