/** Constants, counts and ids; never data of a caller. */
type Fields = Readonly<Record<string, unknown>>;

/**
 * Records an event of the server in log, metrics and traces. It never throws. An event name is a constant of the
 * code.
 */
export type RecordEvent = (event: string, fields?: Fields) => void;

/** Events that need attention when they are frequent. */
const WARNINGS: ReadonlySet<string> = new Set([
  'redis_disconnected',
  'redis_unsafe',
  'memory_not_locked',
  'sad_rewrite_refused',
  'job_queue_disconnected',
  'job_queue_error',
  'job_queue_run_failed',
  'thread_down',
  'server_process_down',
  'webhook_abandoned',
]);

/** Events that always need attention. */
const ERRORS: ReadonlySet<string> = new Set([
  'audit_integrity_failed',
  'sad_rewrite_failed',
  'audit_events_lost',
  'audit_sink_failed',
  'audit_stream_failed',
  'audit_checkpoint_write_failed',
  'log_heads_fault',
  'job_integrity_failed',
  'job_failed',
  'drain_timeout',
  'stop_failed',
  'rolling_restart_failed',
]);

/**
 * The level of a log line: `error` for an unexpected error (field `error`) and for events that always need attention,
 * `warn` for those that need it when they are frequent, otherwise `info`.
 */
export function levelOfEvent(event: string, { error, code }: Fields): 'info' | 'warn' | 'error' {
  if (error !== undefined || ERRORS.has(event)) {
    return 'error';
  }
  return WARNINGS.has(event) || (event === 'sweep' && code !== undefined) ? 'warn' : 'info';
}
