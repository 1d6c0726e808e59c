import { defineCommand, type Result, type Table, type Values } from '../cli/command.ts';
import { ACCOUNT, checkAccount, contextOf, type OperatorNeeds, withCommandErrors } from '../cli/operator.ts';
import type { JobListing } from './listing.ts';
import type { Job } from './schema.ts';

interface Needs extends OperatorNeeds {
  readonly jobListing: JobListing;
}

const LIST = {
  ...ACCOUNT,
  status: {
    kind: 'text',
    value: 'STATUS',
    help: 'waiting, sending, reporting, done, failed, unknown or cancelled (all)',
  },
  limit: { kind: 'number', value: 'N', help: 'the newest of them (100)', minimum: 1, maximum: 10_000 },
} as const;

function attemptText(attempts: Job['attempts']): string {
  const last = attempts.at(-1);
  return last === undefined ? '0' : `${attempts.length}, last ${last.status_code ?? last.error ?? ''}`;
}

function tableOf(jobs: readonly Job[]): Table {
  return {
    columns: ['Job', 'Kind', 'Status', 'Host', 'Attempts', 'Webhook', 'Accepted'],
    rows: jobs.map((job) => [
      ...[job.id, job.kind, job.status, job.host, attemptText(job.attempts)],
      ...[job.webhook === undefined ? '' : attemptText(job.webhook.attempts), job.created_at],
    ]),
    empty: 'There are no such jobs.',
  };
}

function detailsOf(job: Job): readonly Table[] {
  const { attempts, webhook } = job;
  const rowsOf = (list: Job['attempts']) =>
    list.map(({ at, ms, status_code, error }) => [at, `${ms} ms`, String(status_code ?? error ?? '')]);
  const columns = ['Begun', 'Took', 'Outcome'];
  return [
    tableOf([job]),
    { heading: 'Attempts', columns, rows: rowsOf(attempts), empty: 'No attempt has ended.' },
    {
      heading: 'Calls of the webhook',
      columns,
      rows: rowsOf(webhook?.attempts ?? []),
      empty: 'No call has ended.',
    },
  ];
}

function resultOf(job: Job, shown: Result['shown']): Result {
  return { data: job, shown, entry: { object: `job/${job.id}`, change: undefined } };
}

const listJobs = defineCommand({
  words: ['job', 'list'],
  options: LIST,
  summary: 'Lists asynchronous requests and webhooks of captures of an account, newest first.',
  opens: 'vault',
  check: ({ options }) => checkAccount(options),
  async run({ options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const limit = options.limit ?? 100;
    const status = options.status as Job['status'] | undefined;
    const jobs: Job[] = [];
    let nextToken: string | undefined;
    do {
      const query = { status, next_token: nextToken };
      const page = await needs.jobListing.list(ctx, query, limit - jobs.length);
      jobs.push(...page.jobs);
      nextToken = page.nextToken;
    } while (nextToken !== undefined && jobs.length < limit);
    return { data: jobs, shown: tableOf(jobs) };
  },
});

/** Common members of commands on one job. */
const ONE_JOB = {
  argument: 'ID',
  options: ACCOUNT,
  opens: 'vault',
  check: ({ options }: { readonly options: Values<typeof ACCOUNT> }) => checkAccount(options),
} as const;

const showJob = defineCommand({
  ...ONE_JOB,
  words: ['job', 'show'],
  summary: 'Shows a job with its attempts.',
  async run({ argument: id, options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const job = await withCommandErrors(() => needs.jobListing.read(ctx, id));
    return resultOf(job, detailsOf(job));
  },
});

const redeliverJob = defineCommand({
  ...ONE_JOB,
  words: ['job', 'redeliver'],
  summary: 'Delivers the report of a job that has ended again.',
  audit: { action: 'job.redeliver', account: 'option' },
  async run({ argument: id, options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const job = await withCommandErrors(() => needs.jobListing.redeliver(ctx, id));
    return resultOf(job, `The report of job ${id} will be delivered again.`);
  },
});

const cancelJob = defineCommand({
  ...ONE_JOB,
  words: ['job', 'cancel'],
  summary: 'Cancels a job of which nothing was begun.',
  audit: { action: 'job.cancel', account: 'option' },
  async run({ argument: id, options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const { jobListing } = needs;
    await withCommandErrors(() => jobListing.cancel(ctx, id));
    return resultOf(await jobListing.read(ctx, id), `Job ${id} was cancelled.`);
  },
});

export const jobCommands = [listJobs, showJob, redeliverJob, cancelJob];
