import { type Static, Type } from '@sinclair/typebox';
import { BodyTime } from '../schema/body-time.ts';
import { NextToken, ShownReference, Timestamp, Token } from '../schema/common.ts';
import { FilterTime, Limit } from '../schema/kinds.ts';

export const JOB_KINDS = ['post', 'get', 'network_token', 'capture', 'event'] as const;
export const JOB_STATUSES = [
  'waiting',
  'sending',
  'reporting',
  'done',
  'failed',
  'unknown',
  'cancelled',
] as const;

const Kind = Type.Union(
  JOB_KINDS.map((kind) => Type.Literal(kind)),
  {
    description:
      'What it does: an asynchronous request of `POST /proxy/post`, `/proxy/get` or `/proxy/network_token`, the webhook of a capture, or the delivery of an event.',
    examples: ['post'],
  },
);
export type JobKind = Static<typeof Kind>;

const Status = Type.Union(
  JOB_STATUSES.map((status) => Type.Literal(status)),
  {
    description:
      '`waiting`: nothing was begun. `sending`: the request is sent, perhaps repeatedly. `reporting`: its webhook is called. `done`: there was a reply, and it was reported. `failed`: there was none, or its report could not be delivered. `unknown`: the request may have arrived, and no reply came. `cancelled`: it was never sent.',
    examples: ['done'],
  },
);
export type JobStatus = Static<typeof Status>;

const JobId = Type.String({
  description: 'The id that the request was accepted with, which third parties know as X-Vault-Request-Id.',
  examples: ['kLTVMUsdDPoVaCqL3bPlMt'],
});

/** The path of a job. Any other text is a job that does not exist. */
export const JobPath = Type.Object({ id: JobId });

export const JobQuery = Type.Object({
  status: Type.Optional(Status),
  kind: Type.Optional(Kind),
  after: Type.Optional(FilterTime('Only jobs that were accepted at or after this time (UTC).')),
  before: Type.Optional(FilterTime('Only jobs that were accepted before this time (UTC).')),
  limit: Limit(256),
  next_token: Type.Optional(NextToken),
});

/** The statuses of jobs whose report can be delivered again. */
const REPORTED = ['done', 'failed', 'unknown'] as const;

export const RedeliverJobsBody = Type.Object(
  {
    status: Type.Optional(
      Type.Union(
        REPORTED.map((status) => Type.Literal(status)),
        {
          description: 'The status of the jobs; those that have failed, if it is left out.',
        },
      ),
    ),
    kind: Type.Optional(Kind),
    after: BodyTime('Only jobs that were accepted at or after this time.'),
    before: BodyTime('Only jobs that were accepted before this time.'),
    next_token: Type.Optional(NextToken),
  },
  {
    $id: 'RedeliverJobs',
    description: 'Which reports are delivered again.',
    examples: [{ status: 'failed', after: '2026-01-01T00:00:00Z' }],
  },
);

export const Redelivered = Type.Object(
  {
    redelivered: Type.Integer({
      minimum: 0,
      description: 'The number of reports that are delivered again.',
      examples: [3],
    }),
    next_token: Type.Optional(
      Type.String({ description: 'There may be more jobs: send the request again with it.' }),
    ),
  },
  { $id: 'Redelivered' },
);
export type RedeliverJobs = Static<typeof RedeliverJobsBody>;
export type Redelivered = Static<typeof Redelivered>;

const Attempt = Type.Object(
  {
    at: Timestamp('When it began.'),
    ms: Type.Integer({ minimum: 0, description: 'How long it took, in milliseconds.', examples: [153] }),
    status_code: Type.Optional(Type.Integer({ description: 'The status of the reply.', examples: [200] })),
    error: Type.Optional(
      Type.String({ description: 'The error code, where there was no reply.', examples: ['target_timeout'] }),
    ),
  },
  { $id: 'JobAttempt', description: 'One attempt that has ended.' },
);

export const Job = Type.Object(
  {
    id: JobId,
    kind: Kind,
    status: Status,
    host: Type.String({
      description: 'The host that it calls; of a capture or an event that of the webhook.',
      examples: ['api.payments.example'],
    }),
    token: Type.Optional(Token),
    reference: Type.Optional(ShownReference),
    attempts: Type.Array(Attempt, { description: 'The attempts to send the request, the oldest first.' }),
    webhook: Type.Optional(
      Type.Object(
        {
          url: Type.String({
            description: 'The URL that the outcome is sent to.',
            examples: ['https://shop.example/hook'],
          }),
          attempts: Type.Array(Attempt, { description: 'Its calls, the oldest first.' }),
          next_at: Type.Optional(Timestamp('When it is called again.')),
        },
        { description: 'What is told of the outcome.' },
      ),
    ),
    actor: Type.String({
      description:
        'Who asked for it, as in the security log: `account/NAME`, `credential/ID`, `person/ID` or `endpoint/ID`. Empty for jobs of earlier versions.',
      examples: ['credential/cred_Zm9vYmFyYmF6cXV4cXV1eA'],
    }),
    created_at: Timestamp('When it was accepted.'),
    finished_at: Type.Optional(Timestamp('When it ended.')),
  },
  {
    $id: 'Job',
    description:
      'An asynchronous request, the webhook of a capture, or the delivery of an event. It contains no card data.',
  },
);
export type Job = Static<typeof Job>;

export const JobList = Type.Array(Job, { $id: 'JobList', description: 'Newest first.' });
