import type { Lane } from '../pool/job.ts';
import type { AnyCodec, Given, Taken } from './codec.ts';

/** Time in ms that a job may be in a thread, and wait for one before; then its caller is answered without a result. */
export const DEADLINE_MS: Readonly<Record<Lane, number>> = {
  hot: 5_000,
  bulk: 20_000,
  cold: 30_000,
  guess: 10_000,
};

/** One operation of the threads, for both sides. Its name and its handler are in the tables of `workers/`. */
export interface Job<Input extends AnyCodec, Output extends AnyCodec> {
  readonly lane: Lane | ((input: Given<Input>) => Lane);
  /** The owner of a long job, for the limiter: an account, or part of it; omitted: one owner for all. Hot jobs have none. */
  readonly share?: (input: Given<Input>) => string;
  readonly input: Input;
  readonly output: Output;
}

export type AnyJob = Job<AnyCodec, AnyCodec>;

export type Jobs = Readonly<Record<string, AnyJob>>;

export type In<J extends AnyJob> = Taken<J['input']>;

export type Out<J extends AnyJob> = Given<J['output']>;

/** The handler of a job; it returns a promise only if it waits, so that other jobs can be served meanwhile. */
export type Handler<J extends AnyJob, Context> = (context: Context, input: In<J>) => Out<J> | Promise<Out<J>>;

/** A handler for each job of a group or a table. */
export type Handlers<Group extends Jobs, Context> = {
  readonly [Name in keyof Group]: Handler<Group[Name], Context>;
};

/** A job with its name, and with the number that stands for it in a frame. */
export type Numbered<J extends AnyJob> = J & { readonly name: string; readonly kind: number };

export type JobTable = Readonly<Record<string, Numbered<AnyJob>>>;

export function defineJob<Input extends AnyCodec, Output extends AnyCodec>(
  job: Job<Input, Output>,
): Job<Input, Output> {
  return job;
}

/** The share of single items, separate from the account's: a caller waits for each, but for a listing as a whole. */
export function singlesOf(aid: string): string {
  return `${aid} singles`;
}

/** Numbers jobs in their order. */
export function numberJobs<All extends Jobs>(
  jobs: All,
): { readonly [Name in keyof All]: Numbered<All[Name]> } {
  const numbered = Object.entries(jobs).map(([name, job], kind) => [name, { ...job, name, kind }]);
  // Each name has its job; the type of the entries does not show that.
  return Object.fromEntries(numbered) as { readonly [Name in keyof All]: Numbered<All[Name]> };
}
