/** The fields of a log line: constants of the code, counts and ids; never data of a caller. */
type Fields = Readonly<Record<string, unknown>>;

/** Records an event of the server in log, metrics and traces; never throws. Its name is a constant of the code. */
export type RecordEvent = (event: string, fields?: Fields) => void;

/** Events that need attention when they are frequent. */
const WARNINGS: ReadonlySet<string> = new Set([
  'redis_disconnected',
  'redis_refuses_writes',
  'redis_unsafe',
  'memory_not_locked',
  'sad_rewrite_refused',
  'job_queue_disconnected',
  'job_queue_error',
  'job_queue_run_failed',
  'thread_down',
  'server_process_down',
  'webhook_abandoned',
  'expiring_failed',
  'events_failed',
  'event_subscription_paused',
  'oidc_signin_failed',
  'oidc_account_unknown',
]);

/** Events that always need attention. */
const ERRORS: ReadonlySet<string> = new Set([
  'audit_integrity_failed',
  'sad_rewrite_failed',
  'reseal_failed',
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

interface EventCounter {
  readonly name: string;
  /** The text of the `# HELP` line. */
  readonly help: string;
  readonly label: string;
  /** The value of the label for one line. */
  readonly labelValue: (fields: Fields) => string;
  /** The name of a histogram of the field `ms`, in seconds. */
  readonly duration?: string;
}

/** `2xx` for a status, otherwise the error code. */
function statusOrCode({ status, code }: Fields): string {
  return typeof status === 'number' ? `${Math.trunc(status / 100)}xx` : String(code ?? 'unknown');
}

/** The events with a counter by result. `vault_events_total` counts every event by its name. */
export const EVENT_COUNTERS: Readonly<Record<string, EventCounter>> = {
  proxy_attempt: {
    name: 'vault_proxy_attempts_total',
    help: 'Attempts to send a request to a third party, by status class or error code.',
    label: 'result',
    labelValue: statusOrCode,
    duration: 'vault_proxy_attempt_duration_seconds',
  },
  proxy_finished: {
    name: 'vault_proxy_jobs_total',
    help: 'Finished asynchronous requests by result: reply, stored, unstored, or an error code.',
    label: 'result',
    labelValue: ({ outcome, code }) => String(code ?? outcome ?? 'unknown'),
  },
  webhook_attempt: {
    name: 'vault_webhook_attempts_total',
    help: 'Attempts to deliver a webhook: delivered, or the status class or error code.',
    label: 'result',
    // A receiver may reply with a status that does not count as delivery.
    labelValue: (fields) => (fields['delivered'] === true ? 'delivered' : statusOrCode(fields)),
    duration: 'vault_webhook_attempt_duration_seconds',
  },
  sweep: {
    name: 'vault_sweeps_total',
    help: 'Sweeps that finish interrupted operations, by result.',
    label: 'result',
    labelValue: ({ code }) => (code === undefined ? 'ok' : 'failed'),
    duration: 'vault_sweep_duration_seconds',
  },
  thread_down: {
    name: 'vault_worker_thread_failures_total',
    help: 'Worker threads that failed and were replaced, by cause.',
    label: 'cause',
    labelValue: ({ cause }) => String(cause),
  },
};
