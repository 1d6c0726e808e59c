import { type ServedJob, serveThread } from '../pool/thread.ts';
import type { AnyJob, Handler, Handlers, JobTable } from './define.ts';
import { toFailure } from './failure.ts';

/** Serves the jobs of a table in this thread. `endFrame` as in `serveThread`. */
export function serveJobs<Table extends JobTable, Context>(
  table: Table,
  handlers: Handlers<Table, Context>,
  context: Context,
  endFrame?: () => void,
): void {
  const byKind = Object.values(table).map(({ name, kind, input, output }): [number, ServedJob] => {
    const handler: Handler<AnyJob, Context> | undefined = handlers[name];
    if (handler === undefined) {
      throw new TypeError(`no handler for the job ${name}`);
    }
    return [kind, { input, output, handle: (value: unknown) => handler(context, value) }];
  });
  serveThread(new Map(byKind), toFailure, endFrame);
}
