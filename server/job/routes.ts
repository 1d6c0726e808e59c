import { untilClosed } from '../core/byte-stream.ts';
import { objectOf } from '../http/audit.ts';
import { nextTokenHeader } from '../http/reply.ts';
import { defineRoute } from '../http/route.ts';
import type { Limiter } from '../limits/limiter.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message, NO_QUERY } from '../schema/common.ts';
import type { JobListing } from './listing.ts';
import { Job, JobList, JobPath, JobQuery, Redelivered, RedeliverJobsBody } from './schema.ts';

interface Needs {
  readonly limiter: Limiter;
  readonly jobListing: JobListing;
}

const COMMON = {
  noun: 'job',
  auth: 'basic',
  passphrase: 'none',
  body: { kind: 'none' },
  meter: [],
  idempotent: false,
} as const;

const listJobs = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/proxy/job',
  operationId: 'listJobs',
  scope: 'job:read',
  summary: 'List jobs',
  description:
    'Lists asynchronous requests, webhooks of captures and deliveries of events, newest first: those that go on, and those that have ended, for as long as the operator keeps them (of deliveries the newest 10,000). A page may have fewer jobs than `limit`, or none: continue while the reply has X-Vault-Next-Token.',
  query: JobQuery,
  response: JobList,
  errors: ['cursor_invalid'],
  meter: ['list'],
  handle: async ({ ctx, query }, services: Needs) => {
    const { limit, ...filter } = query;
    if (limit < 0) {
      const end = await services.limiter.hold('list', ctx.account.aid);
      try {
        return { stream: untilClosed(await services.jobListing.listAll(ctx, filter), end) };
      } catch (error) {
        end();
        throw error;
      }
    }
    const { jobs, nextToken } = await services.jobListing.list(ctx, filter, limit);
    return { json: jobs, headers: nextTokenHeader(nextToken) };
  },
});

const readJob = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/proxy/job/{id}',
  operationId: 'readJob',
  scope: 'job:read',
  summary: 'Read a job',
  description: 'Returns one job: how far it is, and its attempts.',
  params: JobPath,
  query: NO_QUERY,
  response: Job,
  errors: ['job_not_found'],
  handle: async ({ ctx, params }, services: Needs) => ({
    json: await services.jobListing.read(ctx, params.id),
  }),
});

const redeliverJob = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/proxy/job/{id}/redeliver',
  operationId: 'redeliverJob',
  scope: 'job:write',
  summary: 'Deliver the report of a job again',
  description:
    'Calls the webhook of a job that has ended once more, with the same body and the same id, repeatedly if it fails. The request itself is not sent again.',
  params: JobPath,
  query: NO_QUERY,
  response: Job,
  errors: ['job_not_found', 'job_not_finished', 'job_cancelled', 'jobs_full'],
  audit: { action: 'job.redeliver', of: 'all', object: ({ params }) => objectOf('job', params.id) },
  handle: async ({ ctx, params }, services: Needs) => ({
    json: await services.jobListing.redeliver(ctx, params.id),
  }),
});

const redeliverJobs = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/proxy/job/redeliver',
  operationId: 'redeliverJobs',
  scope: 'job:write',
  summary: 'Deliver reports of many jobs again',
  description:
    'Calls the webhooks of up to 1,000 jobs that have ended once more, newest first, as `redeliver` of one job does. With `next_token` of the reply the same request goes on with older jobs.',
  query: NO_QUERY,
  body: { kind: 'json', schema: RedeliverJobsBody, bytesMax: BODY_BYTES.short },
  response: Redelivered,
  errors: ['cursor_invalid', 'jobs_full'],
  audit: { action: 'job.redeliver', of: 'all', object: () => 'job' },
  handle: async ({ ctx, body }, services: Needs) => ({
    json: await services.jobListing.redeliverAll(ctx, body),
  }),
});

const cancelJob = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/proxy/job/{id}',
  operationId: 'cancelJob',
  scope: 'job:write',
  summary: 'Cancel a job',
  description:
    'Cancels a job of which nothing was begun: it will never be sent, and its webhook is not called. With an attempt begun: 409 `job_started`.',
  params: JobPath,
  query: NO_QUERY,
  response: Message,
  errors: ['job_not_found', 'job_started'],
  audit: { action: 'job.cancel', of: 'all', object: ({ params }) => objectOf('job', params.id) },
  handle: async ({ ctx, params }, services: Needs) => {
    await services.jobListing.cancel(ctx, params.id);
    return { json: { message: 'The job was cancelled.' } };
  },
});

export const JOB_ROUTES = [listJobs, readJob, redeliverJobs, redeliverJob, cancelJob];
