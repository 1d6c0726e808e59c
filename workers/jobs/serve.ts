import { whenReady } from '../crypto/primitives/not-yet.ts';
import { type FieldHandler, serveThread } from '../pool/thread.ts';
import { readAll } from './codec.ts';
import type { AnyJob, Handler, Handlers, JobTable } from './define.ts';
import { toFailure } from './failure.ts';

/** Serves the jobs of a table in this thread: input from fields, handler, output to fields. `endFrame` as in `serveThread`. */
export function serveJobs<Table extends JobTable, Context>(
  table: Table,
  handlers: Handlers<Table, Context>,
  context: Context,
  endFrame?: () => void,
): void {
  const byKind = Object.values(table).map(({ name, kind, input, output }): [number, FieldHandler] => {
    const handler: Handler<AnyJob, Context> | undefined = handlers[name];
    if (handler === undefined) {
      throw new TypeError(`no handler for the job ${name}`);
    }
    const toFields = (result: unknown): Uint8Array[] => {
      const fields: Uint8Array[] = [];
      // The type of `handlers` has matched each result with the codec of its job.
      output.write(result as never, fields);
      return fields;
    };
    const serve: FieldHandler = (given) => {
      // Run again, a job is a frame by itself.
      const result: unknown = whenReady(() => handler(context, readAll(input, given)), endFrame);
      return result instanceof Promise ? result.then(toFields) : toFields(result);
    };
    return [kind, serve];
  });
  serveThread(new Map(byKind), toFailure, endFrame);
}
