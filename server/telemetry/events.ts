type Fields = Readonly<Record<string, unknown>>;

/** Records an event of the server in log, metrics and traces. Fields hold constants, counts and ids, no data of a caller. */
export type RecordEvent = (event: string, fields?: Fields) => void;

/** Events that an operator should look at when there are many of them. */
const WARNINGS: ReadonlySet<string> = new Set([
  'redis_away',
  'redis_unsafe',
  'job_queue_away',
  'job_queue_error',
  'job_queue_run_failed',
  'thread_down',
  'webhook_given_up',
]);

/** Events that should not happen. */
const ERRORS: ReadonlySet<string> = new Set([
  'audit_damaged',
  'audit_lost',
  'audit_checkpoint_file',
  'job_damaged',
  'job_failed',
  'drain_timeout',
  'stop_failed',
]);

/** The level of a line of the log: `error` for what has a cause in our code, `warn` for what may pass. */
export function levelOfEvent(event: string, { error, code }: Fields): 'info' | 'warn' | 'error' {
  if (error !== undefined || ERRORS.has(event)) {
    return 'error';
  }
  return WARNINGS.has(event) || (event === 'sweep' && code !== undefined) ? 'warn' : 'info';
}
