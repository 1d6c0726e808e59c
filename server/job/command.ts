import { CommandError, defineCommand, type Result, type Table, type Values } from '../cli/command.ts';
import { ACCOUNT, checkAccount, contextOf, type OperatorNeeds, withCommandErrors } from '../cli/operator.ts';
import { VaultError } from '../core/errors.ts';
import { bodyTimeOf } from '../schema/body-time.ts';
import { compileJsonBody } from '../schema/json-body.ts';
import type { JobListing } from './listing.ts';
import { type Job, type RedeliverJobs, RedeliverJobsBody } from './schema.ts';

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

const REDELIVER_MANY = {
  ...ACCOUNT,
  status: { kind: 'text', value: 'STATUS', help: 'done, failed or unknown (failed)' },
  kind: { kind: 'text', value: 'KIND', help: 'post, get, network_token or capture (all)' },
  after: { kind: 'text', value: 'TIME', help: 'jobs accepted at or after YYYY-MM-DDThh:mm:ssZ' },
  before: { kind: 'text', value: 'TIME', help: 'jobs accepted before YYYY-MM-DDThh:mm:ssZ' },
} as const;

const readFilter = compileJsonBody(RedeliverJobsBody, { refuseUnknown: true, parameters: [] });

/** Returns the filter of the options; rejects it as the API would. */
function filterOf({ status, kind, after, before }: Values<typeof REDELIVER_MANY>): RedeliverJobs {
  try {
    // Compiled from the schema of the type.
    const filter = readFilter(Buffer.from(JSON.stringify({ status, kind, after, before }))) as RedeliverJobs;
    bodyTimeOf('after', filter.after);
    bodyTimeOf('before', filter.before);
    return filter;
  } catch (error) {
    throw error instanceof VaultError ? new CommandError(error.message, 2) : error;
  }
}

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

/** The report of how many jobs were taken, also where the account had no room for the rest. */
function redeliveredResult(redelivered: number, isFull: boolean): Result {
  const reports = `${redelivered.toLocaleString('en-GB')} report${redelivered === 1 ? '' : 's'}`;
  const rest = isFull ? ' Too many jobs wait: run the command again later for the others.' : '';
  return {
    data: { redelivered, complete: !isFull },
    shown: `${reports} will be delivered again.${rest}`,
    failed: isFull,
  };
}

const redeliverJobs = defineCommand({
  words: ['job', 'redeliver-many'],
  options: REDELIVER_MANY,
  summary: 'Delivers the reports of all jobs that have failed again, or of those that the options name.',
  audit: { action: 'job.redeliver', account: 'option', object: () => 'job' },
  opens: 'vault',
  check: ({ options }) => {
    checkAccount(options);
    filterOf(options);
  },
  async run({ options, signal }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const filter = filterOf(options);
    let redelivered = 0;
    let nextToken: string | undefined;
    do {
      signal.throwIfAborted();
      try {
        const from = nextToken === undefined ? {} : { next_token: nextToken };
        const page = await needs.jobListing.redeliverAll(ctx, { ...filter, ...from });
        redelivered += page.redelivered;
        nextToken = page.next_token;
      } catch (error) {
        if (error instanceof VaultError && error.code === 'jobs_full') {
          return redeliveredResult(redelivered, true);
        }
        throw error;
      }
    } while (nextToken !== undefined);
    return redeliveredResult(redelivered, false);
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

export const jobCommands = [listJobs, showJob, redeliverJob, redeliverJobs, cancelJob];
