/** What a job is to both sides of the threads: its lane, its share of it, and the codecs of its input and output. */
import type { Lane } from '../pool/job.ts';
import type { AnyCodec, Given, Taken } from './codec.ts';

/** How long a job may be in a thread, and wait for one before, until its caller is answered without a result, ms. */
export const DEADLINE_MS: Readonly<Record<Lane, number>> = {
  hot: 5_000,
  bulk: 20_000,
  cold: 30_000,
  guess: 10_000,
};

/** One operation of the threads. Its name and its handler stand in the tables of `workers/`. */
export interface Job<Input extends AnyCodec, Output extends AnyCodec> {
  /** See `Lane`. */
  readonly lane: Lane | ((input: Given<Input>) => Lane);
  /** The account, or part of it, whose fair share of the lane a job uses; omitted: one share for all. */
  readonly share?: (input: Given<Input>) => string;
  readonly input: Input;
  readonly output: Output;
}

/** Any job. */
export type AnyJob = Job<AnyCodec, AnyCodec>;

/** Jobs by name. */
export type Jobs = Readonly<Record<string, AnyJob>>;

/** What the handler of a job gets. */
export type In<J extends AnyJob> = Taken<J['input']>;

/** What the handler of a job gives. */
export type Out<J extends AnyJob> = Given<J['output']>;

/** The handler of a job: the result, or a promise of it where the work is done outside of the thread's own stack. */
export type Handler<J extends AnyJob, Context> = (context: Context, input: In<J>) => Out<J> | Promise<Out<J>>;

/** A handler for each job of a group or a table. */
export type Handlers<Group extends Jobs, Context> = {
  readonly [Name in keyof Group]: Handler<Group[Name], Context>;
};

/** A job with its name, and with the number that stands for it in a frame. */
export type Numbered<J extends AnyJob> = J & { readonly name: string; readonly kind: number };

/** Numbered jobs by name. */
export type JobTable = Readonly<Record<string, Numbered<AnyJob>>>;

/** Defines a job. */
export function defineJob<Input extends AnyCodec, Output extends AnyCodec>(
  job: Job<Input, Output>,
): Job<Input, Output> {
  return job;
}

/** The share of single items, beside the account's own: a caller waits for each, but for a listing as a whole. */
export function singlesOf(aid: string): string {
  return `${aid} singles`;
}

type Merged<Groups extends readonly Jobs[]> = Groups extends readonly [
  infer First,
  ...infer Rest extends readonly Jobs[],
]
  ? First & Merged<Rest>
  : unknown;
type NumberedJobs<All> = {
  readonly [Name in keyof All]: All[Name] extends AnyJob ? Numbered<All[Name]> : never;
};

/** Puts all jobs into one table. The order gives their numbers; a name that comes twice throws a TypeError. */
export function numberJobs<const Groups extends readonly Jobs[]>(
  ...groups: Groups
): NumberedJobs<Merged<Groups>> {
  const jobs: Record<string, Numbered<AnyJob>> = {};
  for (const [name, job] of groups.flatMap((group) => Object.entries(group))) {
    if (Object.hasOwn(jobs, name)) {
      throw new TypeError(`two jobs are named ${name}`);
    }
    jobs[name] = { ...job, name, kind: Object.keys(jobs).length };
  }
  // The loop has given each name its job; the type only says so name by name.
  return jobs as NumberedJobs<Merged<Groups>>;
}
