/** The host's side of typed jobs: a method for each, from its input to its output. */
import type { Given, Taken } from '../../workers/jobs/codec.ts';
import { readAll } from '../../workers/jobs/codec.ts';
import { type AnyJob, DEADLINE_MS, type Numbered } from '../../workers/jobs/define.ts';
import type { Pool } from '../../workers/pool/pool.ts';
import { toVaultError } from './lanes.ts';

type Table = Readonly<Record<string, Numbered<AnyJob>>>;

/** A job whose input has no members is called without one. */
type InputOf<G> = keyof G extends never ? [] : [input: G];

/** Each job of a table as a method. It rejects with a VaultError; `internal` has the cause from the thread. */
export type JobClient<Jobs extends Table> = {
  readonly [Name in keyof Jobs]: (
    ...input: InputOf<Given<Jobs[Name]['input']>>
  ) => Promise<Taken<Jobs[Name]['output']>>;
};

/** The methods for the jobs of a table, run by one pool. */
export function createJobClient<Jobs extends Table>(pool: Pick<Pool, 'run'>, jobs: Jobs): JobClient<Jobs> {
  const methods = Object.values(jobs).map((job) => [job.name, (input: never) => runJob(pool, job, input)]);
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
  try {
    return readAll(output, await pool.run({ kind, fields, lane, account, deadlineMs: DEADLINE_MS[lane] }));
  } catch (error) {
    throw toVaultError(error);
  }
}
