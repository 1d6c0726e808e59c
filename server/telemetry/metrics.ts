import { Counter, Gauge, Registry } from 'prom-client';
import type { ErrorCode } from '../core/errors.ts';
import { COUNTS, EVENT_COUNTS } from './counts.ts';
import { Durations } from './durations.ts';
import { watchEventLoop } from './event-loop.ts';
import { addFigures, type Figures } from './figures.ts';
import type { Counts, Observer } from './observer.ts';
import { addProcessMetrics, type BuildInfo } from './process-metrics.ts';

export interface Metrics {
  /** Notes that a request has come; `observeRequest` follows, once. */
  readonly beginRequest: () => void;
  /** All metrics in the Prometheus text format. */
  readonly render: () => Promise<string>;
  /** Counts one answered request. `route` is the template (`/v1/vault`), never a path. */
  readonly observeRequest: (
    route: string,
    method: string,
    status: number,
    seconds: number,
    code: ErrorCode | undefined,
  ) => void;
}

/** The metrics of one server, and the ends that its parts feed. */
export interface ServerMetrics extends Metrics {
  readonly observer: Observer;
  /** Counts a line of the log that is not of a request. Its fields never become labels as they are. */
  readonly observeEvent: (event: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Adds what is asked for at a scrape, once the vault is open. */
  readonly watch: (figures: Figures) => void;
  readonly observeSpans: (outcome: 'exported' | 'dropped', count: number) => void;
  readonly close: () => void;
}

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
const STEP_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const STATUS_CLASSES = ['', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const LABEL = /^[a-z0-9_]{1,40}$/;

const counterOf = (registry: Registry, name: string, help: string, ...labelNames: string[]) =>
  new Counter({ name, help, labelNames, registers: [registry] });

const durationsOf = (
  registry: Registry,
  name: string,
  help: string,
  bounds: readonly number[],
  ...labelNames: string[]
) => new Durations(registry, { name, help, bounds, labelNames });

/** Requests: how many are in hand, how long they took, why they were refused. */
function requestMetrics(registry: Registry): Pick<Metrics, 'beginRequest' | 'observeRequest'> {
  const durations = durationsOf(
    registry,
    'vault_http_request_duration_seconds',
    'How long requests took, by route template, method and status class.',
    REQUEST_SECONDS,
    'route',
    'method',
    'status',
  );
  const refusals = counterOf(
    registry,
    'vault_refusals_total',
    'Requests that were refused, by code.',
    'code',
  );
  let inHand = 0;
  new Gauge({
    name: 'vault_http_requests_in_hand',
    help: 'Requests whose reply has not begun.',
    registers: [registry],
    collect() {
      this.set(inHand);
    },
  });
  return {
    beginRequest: () => {
      inHand += 1;
    },
    observeRequest: (route, method, status, seconds, code) => {
      inHand -= 1;
      durations.add(seconds, route, method, STATUS_CLASSES[Math.trunc(status / 100)] ?? '');
      if (code !== undefined) {
        refusals.inc({ code });
      }
    },
  };
}

/** What the parts of the vault tell while they work. */
function createObserver(registry: Registry): Observer {
  const counters = Object.fromEntries(
    Object.entries(COUNTS).map(([key, { name, help, label }]) => [
      key,
      { label, counter: counterOf(registry, name, help, label) },
    ]),
  ) as Readonly<Record<keyof Counts, { readonly label: string; readonly counter: Counter }>>;
  const calls = durationsOf(
    registry,
    'vault_redis_command_duration_seconds',
    'How long Redis took to answer, by command or script.',
    STEP_SECONDS,
    'command',
  );
  const callErrors = counterOf(
    registry,
    'vault_redis_command_errors_total',
    'Commands and scripts that Redis refused, or did not answer.',
    'command',
  );
  const ran = durationsOf(
    registry,
    'vault_worker_job_duration_seconds',
    'How long jobs were in a thread, by lane; cold is Argon2id.',
    STEP_SECONDS,
    'lane',
  );
  const waited = durationsOf(
    registry,
    'vault_worker_job_wait_seconds',
    'How long jobs waited for a thread, by lane.',
    STEP_SECONDS,
    'lane',
  );
  const refused = counterOf(
    registry,
    'vault_worker_jobs_refused_total',
    'Jobs that got no thread, or lost it, by lane and code.',
    'lane',
    'code',
  );
  return {
    step: (_name, work) => work(),
    count: (name, what, times = 1) => {
      const { counter, label } = counters[name];
      // A counter cannot go back; what came to nothing is rare, and told by the bill exactly.
      if (times > 0) {
        counter.inc({ [label]: what }, times);
      }
    },
    redisCall: (command, startedAt, hasFailed) => {
      calls.add((performance.now() - startedAt) / 1_000, command);
      if (hasFailed) {
        callErrors.inc({ command });
      }
    },
    threadJob: (lane, waitedMs, ranMs, code) => {
      if (code === 'overloaded' || code === 'internal') {
        refused.inc({ lane, code });
        return;
      }
      waited.add(waitedMs / 1_000, lane);
      ran.add(ranMs / 1_000, lane);
    },
  };
}

/** Counts events by name, and those with a row of their own by what they came to. */
function createEventCounter(registry: Registry): ServerMetrics['observeEvent'] {
  const events = counterOf(
    registry,
    'vault_events_total',
    'Lines of the log but for requests, by event.',
    'event',
  );
  const rows = new Map(
    Object.entries(EVENT_COUNTS).map(([event, row]) => [
      event,
      {
        row,
        counter: counterOf(registry, row.name, row.help, row.label),
        durations:
          row.duration === undefined
            ? undefined
            : durationsOf(registry, row.duration, `Its duration: ${row.help}`, REQUEST_SECONDS),
      },
    ]),
  );
  // Names of events and codes are constants of the code; should one ever be made of data, it is not shown.
  const safe = (text: string): string => (LABEL.test(text) ? text : 'other');
  return (event, fields) => {
    events.inc({ event: safe(event) });
    const found = rows.get(event);
    if (found === undefined) {
      return;
    }
    found.counter.inc({ [found.row.label]: safe(found.row.of(fields)) });
    if (typeof fields['ms'] === 'number') {
      found.durations?.add(fields['ms'] / 1_000);
    }
  };
}

/**
 * Makes the metrics of one server. Labels come from the code alone, never from a request: route templates, methods,
 * codes, names of commands and events. So the number of series is bounded whatever anybody sends.
 */
export function createMetrics(build: BuildInfo = { version: '', environment: 'staging' }): ServerMetrics {
  const registry = new Registry();
  addProcessMetrics(registry, build);
  const stopWatching = watchEventLoop(registry);
  const spans = counterOf(
    registry,
    'vault_trace_spans_total',
    'Spans that were exported or dropped.',
    'outcome',
  );
  let refresh = async (): Promise<void> => undefined;
  return {
    ...requestMetrics(registry),
    observer: createObserver(registry),
    observeEvent: createEventCounter(registry),
    watch: (figures) => {
      refresh = addFigures(registry, figures);
    },
    render: async () => {
      await refresh();
      return registry.metrics();
    },
    observeSpans: (outcome, count) => spans.inc({ outcome }, count),
    close: stopWatching,
  };
}
