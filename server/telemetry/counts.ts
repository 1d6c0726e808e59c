import type { Counts } from './observer.ts';

/** A counter with one label, whose values are those of the code. */
export interface CountRow {
  readonly name: string;
  readonly help: string;
  readonly label: string;
}

/** The counters of what has no line in the log, see `Counts`. */
export const COUNTS: Readonly<Record<keyof Counts, CountRow>> = {
  sign_in: {
    name: 'vault_sign_ins_total',
    help: 'Sign-ins of accounts by how they ended.',
    label: 'outcome',
  },
  unlock: {
    name: 'vault_unlocks_total',
    help: 'Openings of keys by how they ended: warm without Argon2id, cold with it.',
    label: 'outcome',
  },
  operation: {
    name: 'vault_operations_total',
    help: 'Billable operations, over all accounts.',
    label: 'operation',
  },
};

type Fields = Readonly<Record<string, unknown>>;

/** What the lines of one event are counted as. */
export interface EventRow extends CountRow {
  /** What one line counts as. */
  readonly of: (fields: Fields) => string;
  /** The name of a histogram of the lines' `ms`. */
  readonly duration?: string;
}

/** `2xx` for a status, else the code of the failure: one of the constants of the code. */
const resultOf = ({ status, code }: Fields): string =>
  typeof status === 'number' ? `${Math.trunc(status / 100)}xx` : String(code ?? 'unknown');

const webhookResult = (fields: Fields): string =>
  fields['delivered'] === true ? 'delivered' : resultOf(fields);

/** Counters by event. Every event is also counted by its name alone, in `vault_events_total`. */
export const EVENT_COUNTS: Readonly<Record<string, EventRow>> = {
  proxy_attempt: {
    name: 'vault_proxy_attempts_total',
    help: 'Attempts to send a request to a third party, by status class or code of failure.',
    label: 'result',
    of: resultOf,
    duration: 'vault_proxy_attempt_duration_seconds',
  },
  proxy_finished: {
    name: 'vault_proxy_jobs_total',
    help: 'Asynchronous requests by how they ended: reply, stored, unstored, or a code of failure.',
    label: 'outcome',
    of: ({ outcome, code }) => String(code ?? outcome ?? 'unknown'),
  },
  webhook_call: {
    name: 'vault_webhook_calls_total',
    help: 'Calls of webhooks: delivered, or the status class or code of the failure.',
    label: 'result',
    of: webhookResult,
    duration: 'vault_webhook_call_duration_seconds',
  },
  sweep: {
    name: 'vault_sweeps_total',
    help: 'Rounds that finish what an interruption left behind, by how they ended.',
    label: 'outcome',
    of: ({ code }) => (code === undefined ? 'ok' : 'failed'),
    duration: 'vault_sweep_duration_seconds',
  },
  thread_down: {
    name: 'vault_worker_threads_lost_total',
    help: 'Threads that were lost, and replaced, by cause.',
    label: 'cause',
    of: ({ cause }) => String(cause),
  },
};
