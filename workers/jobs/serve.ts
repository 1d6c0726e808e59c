/** The thread's side of typed jobs: input from fields, handler, output to fields. */
import { whenReady } from '../crypto/primitives/not-yet.ts';
import { type FieldHandler, serveThread } from '../pool/thread.ts';
import { readAll } from './codec.ts';
import type { AnyJob, Handler, Handlers, JobTable } from './define.ts';
import { toFailure } from './failure.ts';

/**
 * Serves the jobs of a table in this thread; `endFrame` as in `serveThread`. Throws a TypeError where a job has no
 * handler, or a handler no job.
 */
export function serveJobs<Table extends JobTable, Context>(
  table: Table,
  handlers: Handlers<Table, Context>,
  context: Context,
  endFrame?: () => void,
): void {
  const strange = Object.keys(handlers).find((name) => !Object.hasOwn(table, name));
  if (strange !== undefined) {
    throw new TypeError(`no job for the handler ${strange}`);
  }
  const byKind = Object.values(table).map((job): [number, FieldHandler] => {
    const handler = handlers[job.name];
    if (handler === undefined) {
      throw new TypeError(`no handler for the job ${job.name}`);
    }
    return [job.kind, fieldHandler(job, handler, context, endFrame)];
  });
  serveThread(new Map(byKind), toFailure, endFrame);
}

function fieldHandler<Context>(
  { input, output }: AnyJob,
  handler: Handler<AnyJob, Context>,
  context: Context,
  endFrame?: () => void,
): FieldHandler {
  function toFields(result: unknown): Uint8Array[] {
    const fields: Uint8Array[] = [];
    // The type of `handlers` has matched each result with the codec of its job.
    output.write(result as never, fields);
    return fields;
  }
  return (given) => {
    // Run again, a job is its own frame.
    const result: unknown = whenReady(() => handler(context, readAll(input, given)), endFrame);
    return result instanceof Promise ? result.then(toFields) : toFields(result);
  };
}
