/** Asynchronous requests to third parties, and webhooks of captures. */

import type { CallOptions } from '../transport/call.ts';
import { needText } from '../transport/needed.ts';
import {
  fetchPage,
  get,
  type Page,
  type Pages,
  pagesOf,
  readJson,
  remove,
  sendJson,
} from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  CancelJob,
  Job,
  ListJobs,
  Message,
  ReadJob,
  Redelivered,
  RedeliverJob,
  RedeliverJobs,
} from '../transport/types.ts';

/**
 * Asynchronous requests to third parties, and webhooks of captures: how far they are, and what to do about them.
 * @see /guide/jobs
 */
export interface JobCalls {
  /**
   * One page of jobs, newest first; at most 256 unless `limit` says otherwise. A page of a narrow filter may be empty and
   * still have a next one.
   * @see /guide/jobs
   * @throws `cursor_invalid`
   * @example
   * const { data } = await client.jobs.list({ status: 'failed', after: '2026-01-01T00:00:00Z' });
   */
  readonly list: (query?: ListJobs, options?: CallOptions) => Promise<Page<Job[]>>;
  /**
   * All jobs, page by page, from `next_token` where one is given. New jobs do not change the pages.
   * @see /guide/jobs
   * @throws `cursor_invalid`
   * @example
   * for await (const { data } of client.jobs.pages({ status: 'unknown' })) {
   *   const ids = data.map(({ id }) => id);
   * }
   */
  readonly pages: (query?: ListJobs, options?: CallOptions) => Pages<Job[]>;
  /**
   * One job, by the id that the request was accepted with.
   * @see /guide/jobs
   * @throws `job_not_found`
   * @example
   * const { status, attempts } = await client.jobs.get({ id: 'kLTVMUsdDPoVaCqL3bPlMt' });
   */
  readonly get: (job: ReadJob, options?: CallOptions) => Promise<Job>;
  /**
   * Calls the webhook of a job that has ended once more, with the same body and id. The request is not sent again. The call
   * is retried only if the service has rejected it without any effect.
   * @see /guide/jobs
   * @throws `job_cancelled`, `job_not_finished`, `job_not_found`, `jobs_full`
   * @example
   * await client.jobs.redeliver({ id: 'kLTVMUsdDPoVaCqL3bPlMt' });
   */
  readonly redeliver: (job: RedeliverJob, options?: CallOptions) => Promise<Job>;
  /**
   * Calls the webhooks of up to 1,000 jobs that have ended once more, those that have failed unless `status` says otherwise. With
   * `next_token` of the reply the same call goes on with older jobs. The call is retried only if the service has rejected it
   * without any effect.
   * @see /guide/jobs
   * @throws `cursor_invalid`, `jobs_full`
   * @example
   * const { redelivered } = await client.jobs.redeliverMany({ after: '2026-01-01T00:00:00Z' });
   */
  readonly redeliverMany: (filter?: RedeliverJobs, options?: CallOptions) => Promise<Redelivered>;
  /**
   * Cancels a job of which nothing was begun: it is never sent. Also throws `job_started` if an earlier attempt, whose reply
   * was lost, has succeeded.
   * @see /guide/jobs
   * @throws `job_not_found`, `job_started`
   * @example
   * await client.jobs.cancel({ id: 'kLTVMUsdDPoVaCqL3bPlMt' });
   */
  readonly cancel: (job: CancelJob, options?: CallOptions) => Promise<Message>;
}

const path = ['proxy', 'job'] as const;

/** The path of one job. */
function pathOf(id: string): readonly string[] {
  return [...path, needText({ id }).id];
}

/** The calls of jobs. */
export function createJobCalls(transport: Transport): JobCalls {
  const list: JobCalls['list'] = (query, options) =>
    fetchPage(transport, { method: 'GET', path, repeat: 'always', query, options });

  return {
    list,
    pages: pagesOf(list),
    get: async ({ id }, options) => get(transport, pathOf(id), {}, options),
    redeliver: async ({ id }, options) =>
      readJson(transport, {
        method: 'POST',
        path: [...pathOf(id), 'redeliver'],
        repeat: 'when_rejected',
        options,
      }),
    redeliverMany: async (filter = {}, options) =>
      sendJson(transport, 'POST', [...path, 'redeliver'], 'when_rejected', filter, options),
    cancel: async ({ id }, options) => remove(transport, pathOf(id), {}, options),
  };
}
