/** Formats the result of a run as a table for readers new to it. */
import type { ChaosResult } from './chaos.ts';
import { KINDS } from './orders.ts';
import { type Job, tellingOf } from './verdict.ts';

function isDelivered({ told }: Job): boolean {
  return told.some(({ move, repliedAt }) => move.status === 200 && repliedAt !== undefined);
}

function codeOf({ told: [first] }: Job): string {
  return first === undefined ? 'not told' : (tellingOf(first).code ?? 'reply');
}

function count<T>(things: readonly T[], test: (thing: T) => boolean): number {
  return things.filter(test).length;
}

type Row = readonly [name: string, value: number, meaning: string];

function rowsOf(result: ChaosResult, requests: number): Row[] {
  const { evidence, violations, redisKills, failedStarts, calls } = result;
  const { jobs, kills, refused, billed, left } = evidence;
  const has = (code: string): number => count(jobs, (job) => codeOf(job) === code);
  return [
    [
      'requests made',
      requests,
      KINDS.map((kind) => `${count(jobs, ({ order }) => order.kind === kind)} ${kind}`).join(', '),
    ],
    ['accepted', count(jobs, ({ accepted }) => accepted), 'the caller has an id'],
    [
      'accepted, answer lost',
      count(jobs, ({ accepted }) => !accepted),
      'the server died before the caller had the id',
    ],
    ['not accepted', requests - jobs.length, 'the server died first; nobody heard of it'],
    ['delivered', count(jobs, isDelivered), 'the webhook answered 200'],
    [
      'given up',
      count(jobs, (job) => job.told.length > 0 && !isDelivered(job)),
      'called as often as allowed, never a 200',
    ],
    ['outcome: reply', has('reply'), "the third party's reply, or the network token"],
    ['outcome: unknown', has('outcome_unknown'), 'may have arrived; said so, and not sent again'],
    ['outcome: unreachable', has('target_unreachable'), 'all attempts failed'],
    ['outcome: too slow', has('target_timeout'), ''],
    ['target requests', jobs.reduce((sum, { sent }) => sum + sent.length, 0), 'read whole by the target'],
    ['target connections cut', refused, 'before anything was said'],
    ['attempts billed', billed.proxy_attempt, 'noted before they were made, so also those that were killed'],
    ['webhook calls', calls, ''],
    ['server killed', kills.length, `${failedStarts} starts failed and were made again`],
    ['redis killed alone', redisKills, ''],
    ['left behind', left.jobs + left.queued, 'jobs and ids in the queue'],
    ['violations', violations.length, 'must be 0'],
  ];
}

/** The table: a name, a number, and what it means on each line, and the violations below. */
export function reportOf(result: ChaosResult, seed: number, requests: number): string {
  const { violations, seconds } = result;
  const rows = rowsOf(result, requests);
  const widths = [0, 1].map((n) => Math.max(...rows.map((row) => String(row[n]).length)));
  const lines = rows.map(([name, value, meaning]) =>
    `  ${name.padEnd(widths[0] ?? 0)}  ${String(value).padStart(widths[1] ?? 0)}  ${meaning}`.trimEnd(),
  );
  const title = `Requests to third parties while processes are killed: seed ${seed}, ${Math.round(seconds)} s`;
  return ['', title, '', ...lines, '', ...violations.map((violation) => `  ! ${violation}`), ''].join('\n');
}
