import type { Counts } from './observer.ts';

/** A counter with one label, whose values are constants of the code. */
interface CounterRow {
  readonly name: string;
  /** The text of the `# HELP` line. */
  readonly help: string;
  /** The name of the label. */
  readonly label: string;
}

/** The counters that `Observer.count` feeds, see `Counts`. */
export const COUNTERS: Readonly<Record<keyof Counts, CounterRow>> = {
  sign_in: {
    name: 'vault_sign_ins_total',
    help: 'Sign-ins of accounts by result.',
    label: 'result',
  },
  unlock: {
    name: 'vault_unlocks_total',
    help: 'Unlocks of keys by result; warm is without Argon2id, cold is with Argon2id.',
    label: 'result',
  },
  operation: {
    name: 'vault_operations_total',
    help: 'Billable operations, over all accounts.',
    label: 'operation',
  },
};

/** The fields of a log line; only constants of the code may become label values. */
type Fields = Readonly<Record<string, unknown>>;

/** How the log lines of one event are counted. */
interface EventCounterRow extends CounterRow {
  /** The value of the label for one line. */
  readonly labelValue: (fields: Fields) => string;
  /** The name of a histogram of the field `ms`, in seconds. */
  readonly duration?: string;
}

/** `2xx` for a status, otherwise the error code. */
function statusOrCode({ status, code }: Fields): string {
  return typeof status === 'number' ? `${Math.trunc(status / 100)}xx` : String(code ?? 'unknown');
}

/** `delivered`, otherwise as `statusOrCode`: a receiver may reply with a status that does not count as delivery. */
function webhookResult(fields: Fields): string {
  return fields['delivered'] === true ? 'delivered' : statusOrCode(fields);
}

/** The events that have a counter of their own. `vault_events_total` counts every event by its name. */
export const EVENT_COUNTERS: Readonly<Record<string, EventCounterRow>> = {
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
    labelValue: webhookResult,
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
