import type { Wire } from '../wires.ts';

const id = 'cred_Zm9vYmFyYmF6cXV4cXV1eA';
const job = { id: 'kLTVMUsdDPoVaCqL3bPlMt' };

/** What the methods of credentials and of jobs send. */
export const CREDENTIALS: Readonly<Record<string, Wire>> = {
  'credentials.create': {
    call: ({ client }) =>
      client.credentials.create({ name: 'worker', scopes: ['proxy:send'], hosts: ['pay.example'] }),
    request: 'POST /v1/credential',
    body: { name: 'worker', scopes: ['proxy:send'], hosts: ['pay.example'] },
  },
  'credentials.list': { call: ({ client }) => client.credentials.list(), request: 'GET /v1/credential' },
  'credentials.get': {
    call: ({ client }) => client.credentials.get({ id }),
    request: `GET /v1/credential/${id}`,
  },
  'credentials.delete': {
    call: ({ client }) => client.credentials.delete({ id }),
    request: `DELETE /v1/credential/${id}`,
  },
  'credentials.roll': {
    call: ({ client }) => client.credentials.roll({ id, overlap: '1h' }),
    request: `POST /v1/credential/${id}/roll`,
    body: { overlap: '1h' },
  },
  'jobs.list': {
    call: ({ client }) => client.jobs.list({ status: 'failed', kind: 'post', limit: 7 }),
    request: 'GET /v1/proxy/job?status=failed&kind=post&limit=7',
  },
  'jobs.pages': {
    call: ({ client }) => Array.fromAsync(client.jobs.pages({ limit: 2 })),
    request: 'GET /v1/proxy/job?limit=2',
  },
  'jobs.get': { call: ({ client }) => client.jobs.get(job), request: `GET /v1/proxy/job/${job.id}` },
  'jobs.redeliver': {
    call: ({ client }) => client.jobs.redeliver(job),
    request: `POST /v1/proxy/job/${job.id}/redeliver`,
  },
  'jobs.redeliverMany': {
    call: ({ client }) => client.jobs.redeliverMany({ kind: 'capture', after: '2026-01-01T00:00:00Z' }),
    request: 'POST /v1/proxy/job/redeliver',
    body: { kind: 'capture', after: '2026-01-01T00:00:00Z' },
  },
  'jobs.cancel': {
    call: ({ client }) => client.jobs.cancel(job),
    request: `DELETE /v1/proxy/job/${job.id}`,
  },
};
