/** The host's side of typed jobs: a method for each, from its input to its output. */
import { type Given, readAll, type Taken } from '../../workers/jobs/codec.ts';
import { type AnyJob, DEADLINE_MS, type JobTable, type Numbered } from '../../workers/jobs/define.ts';
import type { Pool } from '../../workers/pool/pool.ts';

/** Receives each job that has ended: its name, when it started (`performance.now()`), and whether it failed. */
export type JobReport = (name: string, startedAt: number, hasFailed: boolean) => void;

/** A job whose input has no members is called without one. */
type Arguments<Input> = keyof Input extends never ? [] : [input: Input];

/**
 * Each job of a table as a method. It rejects with a VaultError: that of the handler, `overloaded` when no thread has
 * touched the job, or `internal`, whose cause names class and frames of the error in the thread.
 */
export type JobClient<Jobs extends JobTable> = {
  readonly [Name in keyof Jobs]: (
    ...input: Arguments<Given<Jobs[Name]['input']>>
  ) => Promise<Taken<Jobs[Name]['output']>>;
};

/** The methods for the jobs of a table, run by one pool. */
export function createJobClient<Jobs extends JobTable>(
  pool: Pick<Pool, 'run'>,
  jobs: Jobs,
  report?: JobReport,
): JobClient<Jobs> {
  const run = report === undefined ? runJob : observed(report);
  const methods = Object.values(jobs).map((job) => [job.name, (input: never) => run(pool, job, input)]);
  // Each name has the method of its job; the loop cannot say so name by name.
  return Object.fromEntries(methods) as JobClient<Jobs>;
}

async function runJob(
  pool: Pick<Pool, 'run'>,
  { kind, lane: laneOf, share, input, output }: Numbered<AnyJob>,
  value: never,
): Promise<unknown> {
  const fields: Uint8Array[] = [];
  input.write(value, fields);
  const lane = typeof laneOf === 'function' ? laneOf(value) : laneOf;
  const account = share === undefined ? '' : share(value);
  return readAll(output, await pool.run({ kind, fields, lane, account, deadlineMs: DEADLINE_MS[lane] }));
}

function observed(report: JobReport): typeof runJob {
  return async (pool, job, value) => {
    const startedAt = performance.now();
    let hasFailed = true;
    try {
      const result = await runJob(pool, job, value);
      hasFailed = false;
      return result;
    } finally {
      report(job.name, startedAt, hasFailed);
    }
  };
}
