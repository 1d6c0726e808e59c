type Fields = Readonly<Record<string, unknown>>;

/** Records an event of the server in log, metrics and traces. Fields hold constants, counts and ids, no data of a caller. */
export type RecordEvent = (event: string, fields?: Fields) => void;

/** Events that need attention when they are frequent. */
const WARNINGS: ReadonlySet<string> = new Set([
  'redis_disconnected',
  'redis_unsafe',
  'job_queue_disconnected',
  'job_queue_error',
  'job_queue_run_failed',
  'thread_down',
  'webhook_abandoned',
]);

/** Events that always need attention. */
const ERRORS: ReadonlySet<string> = new Set([
  'audit_integrity_failed',
  'audit_events_lost',
  'audit_checkpoint_write_failed',
  'job_integrity_failed',
  'job_failed',
  'drain_timeout',
  'stop_failed',
]);

/** The level of a log line. A line with the field `error` (an unexpected error) has the level `error`. */
export function levelOfEvent(event: string, { error, code }: Fields): 'info' | 'warn' | 'error' {
  if (error !== undefined || ERRORS.has(event)) {
    return 'error';
  }
  return WARNINGS.has(event) || (event === 'sweep' && code !== undefined) ? 'warn' : 'info';
}
