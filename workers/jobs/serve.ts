/** The thread's side of typed jobs: input from fields, handler, output to fields. */
import { type FieldHandler, serveThread } from '../pool/thread.ts';
import { readAll } from './codec.ts';
import { toFailure } from './context.ts';
import type { AnyJob, In, Jobs, Numbered, Out } from './define.ts';

/** The handler of a job: the result, or a promise of it for what takes its time outside of the thread. */
export type Handler<J extends AnyJob, Context> = (context: Context, input: In<J>) => Out<J> | Promise<Out<J>>;

/** A handler for each job of a table. */
export type Handlers<Table extends Jobs, Context> = {
  readonly [Name in keyof Table]: Handler<Table[Name], Context>;
};

/** Serves the jobs of a table in this thread. A job without a handler throws a TypeError. */
export function serveJobs<Table extends Readonly<Record<string, Numbered<AnyJob>>>, Context>(
  table: Table,
  handlers: Handlers<Table, Context>,
  context: Context,
): void {
  serveThread(new Map(fieldHandlers(table, handlers, context)), toFailure);
}

/** The handlers as the pool knows them, by the numbers of their jobs. */
export function fieldHandlers<Table extends Readonly<Record<string, Numbered<AnyJob>>>, Context>(
  table: Table,
  handlers: Handlers<Table, Context>,
  context: Context,
): (readonly [kind: number, handler: FieldHandler])[] {
  return Object.values(table).map((job) => {
    const handler = handlers[job.name];
    if (handler === undefined) {
      throw new TypeError(`no handler for the job ${job.name}`);
    }
    return [job.kind, fieldHandler(job, handler, context)];
  });
}

function fieldHandler<Context>(
  { input, output }: AnyJob,
  handler: Handler<AnyJob, Context>,
  context: Context,
): FieldHandler {
  function toFields(result: unknown): Uint8Array[] {
    const fields: Uint8Array[] = [];
    // The type of `handlers` has matched each result with the codec of its job.
    output.write(result as never, fields);
    return fields;
  }
  return (given) => {
    const result: unknown = handler(context, readAll(input, given));
    return result instanceof Promise ? result.then(toFields) : toFields(result);
  };
}
