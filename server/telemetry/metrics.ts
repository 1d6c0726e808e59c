import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ErrorCode } from '../core/errors.ts';
import { COUNTERS, EVENT_COUNTERS } from './counters.ts';
import { watchEventLoop } from './event-loop.ts';
import type { Figures } from './figures.ts';
import { addGauges, type GaugeSources } from './gauges.ts';
import type { Observer } from './observer.ts';
import { addProcessMetrics, type BuildInfo } from './process-metrics.ts';

/** The metrics of HTTP requests. */
export interface Metrics {
  /** Counts a request as in flight; exactly one `observeRequest` follows. */
  readonly startRequest: () => void;
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

/** The metrics of one server, and the functions that feed them. */
export interface ServerMetrics extends Metrics {
  readonly observer: Observer;
  /** Counts a log line other than a request's. Its fields never become labels unchecked. */
  readonly observeEvent: (event: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Adds the gauges, once the vault is open. */
  readonly watch: (sources: GaugeSources) => void;
  /** All metrics as data, for another process to add up. */
  readonly collect: () => Promise<Figures>;
  readonly observeSpans: (result: 'exported' | 'dropped', count: number) => void;
  readonly close: () => void;
}

/** Upper bounds in seconds for whole requests and for calls to third parties. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** Upper bounds in seconds for single steps: Redis commands and jobs of threads. */
const STEP_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
/** Label values by the first digit of a status. */
const STATUS_CLASSES = ['', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;
/** What a label value that comes from an event must look like. */
const LABEL = /^[a-z0-9_]{1,40}$/;

/** Counts one value of the label, `times` times. */
type Count = (value: string, times?: number) => void;

/** A counter with one label. Counts are added to the library's counter only at a scrape, which is cheaper for each of them. */
function addCounts(registry: Registry, name: string, help: string, label: string): Count {
  const counts = new Map<string, number>();
  new Counter({
    ...{ name, help },
    labelNames: [label],
    registers: [registry],
    collect() {
      for (const [value, times] of counts) {
        this.inc({ [label]: value }, times);
      }
      counts.clear();
    },
  });
  return (value, times = 1) => void counts.set(value, (counts.get(value) ?? 0) + times);
}

/** Durations, errors and the number in flight of HTTP requests. */
function addRequestMetrics(registry: Registry): Pick<Metrics, 'startRequest' | 'observeRequest'> {
  const durations = new Durations(registry, {
    name: 'vault_http_request_duration_seconds',
    help: 'Duration of requests, by route template, method and status class.',
    bounds: REQUEST_SECONDS,
    labelNames: ['route', 'method', 'status'],
  });
  const countError = addCounts(registry, 'vault_http_errors_total', 'Error replies, by error code.', 'code');
  let inFlight = 0;
  new Gauge({
    name: 'vault_http_requests_in_flight',
    help: 'Requests whose reply has not started.',
    registers: [registry],
    collect() {
      this.set(inFlight);
    },
  });
  return {
    startRequest: () => {
      inFlight += 1;
    },
    observeRequest: (route, method, status, seconds, code) => {
      inFlight -= 1;
      durations.add(seconds, route, method, STATUS_CLASSES[Math.trunc(status / 100)] ?? '');
      if (code !== undefined) {
        countError(code);
      }
    },
  };
}

/** The counters of `COUNTERS`, as one function. */
function addObservedCounters(registry: Registry): Observer['count'] {
  const counters = new Map(
    Object.entries(COUNTERS).map(([key, row]) => [key, addCounts(registry, row.name, row.help, row.label)]),
  );
  return (name, result, times = 1) => {
    // A reading of nothing makes no series.
    if (times > 0) {
      counters.get(name)?.(result, times);
    }
  };
}

/** Durations and errors of Redis commands; the label is the name of a command or script, never a key. */
function addRedisCalls(registry: Registry): Observer['redisCall'] {
  const durations = new Durations(registry, {
    name: 'vault_redis_command_duration_seconds',
    help: 'Duration of Redis commands and scripts, by name.',
    bounds: STEP_SECONDS,
    labelNames: ['command'],
  });
  const countError = addCounts(
    registry,
    'vault_redis_command_errors_total',
    'Redis commands and scripts that failed or had no answer, by name.',
    'command',
  );
  return (command, startedAt, hasFailed) => {
    durations.add((performance.now() - startedAt) / 1_000, command);
    if (hasFailed) {
      countError(command);
    }
  };
}

/**
 * Durations of jobs, separately for waiting and running. Rejected and lost jobs have no duration, so only their
 * errors are counted.
 */
function addThreadJobs(registry: Registry): Observer['threadJob'] {
  const run = new Durations(registry, {
    name: 'vault_worker_job_duration_seconds',
    help: 'Time that jobs spent in a worker thread, by lane; cold and guess are Argon2id.',
    bounds: STEP_SECONDS,
    labelNames: ['lane'],
  });
  const queued = new Durations(registry, {
    name: 'vault_worker_job_queue_duration_seconds',
    help: 'Time that jobs waited for a worker thread, by lane.',
    bounds: STEP_SECONDS,
    labelNames: ['lane'],
  });
  const errors = new Counter({
    name: 'vault_worker_job_errors_total',
    help: 'Jobs that were rejected or lost their worker thread, by lane and error code.',
    labelNames: ['lane', 'code'],
    registers: [registry],
  });
  return (lane, waitedMs, ranMs, code) => {
    if (code === 'overloaded' || code === 'internal') {
      errors.inc({ lane, code });
      return;
    }
    queued.add(waitedMs / 1_000, lane);
    run.add(ranMs / 1_000, lane);
  };
}

/** Counts events by name, and those of `EVENT_COUNTERS` by result. */
function addEventCounters(registry: Registry): ServerMetrics['observeEvent'] {
  const countEvent = addCounts(
    registry,
    'vault_events_total',
    'Log lines other than those of requests, by event.',
    'event',
  );
  const rows = new Map(
    Object.entries(EVENT_COUNTERS).map(([event, row]) => [
      event,
      {
        row,
        count: addCounts(registry, row.name, row.help, row.label),
        durations:
          row.duration === undefined
            ? undefined
            : new Durations(registry, {
                name: row.duration,
                help: `Duration. ${row.help}`,
                bounds: REQUEST_SECONDS,
                labelNames: [],
              }),
      },
    ]),
  );
  // Event names and codes are constants of the code; this guards against one that is ever built from data.
  const safe = (text: string): string => (LABEL.test(text) ? text : 'other');
  return (event, fields) => {
    countEvent(safe(event));
    const found = rows.get(event);
    if (found === undefined) {
      return;
    }
    found.count(safe(found.row.labelValue(fields)));
    if (typeof fields['ms'] === 'number') {
      found.durations?.add(fields['ms'] / 1_000);
    }
  };
}

/**
 * Creates the metrics of one server. Labels are constants of the code, never data of a request: route templates, methods,
 * codes, names of commands and events. So the number of series is bounded, whatever is sent.
 */
export function createMetrics(build: BuildInfo = { version: '', environment: 'staging' }): ServerMetrics {
  const registry = new Registry();
  addProcessMetrics(registry, build);
  const stopWatching = watchEventLoop(registry);
  const countSpans = addCounts(
    registry,
    'vault_trace_spans_total',
    'Spans of traces, exported or dropped.',
    'result',
  );
  let refresh = async (): Promise<void> => undefined;
  return {
    ...addRequestMetrics(registry),
    observer: {
      step: (_name, work) => work(),
      count: addObservedCounters(registry),
      redisCall: addRedisCalls(registry),
      threadJob: addThreadJobs(registry),
    },
    observeEvent: addEventCounters(registry),
    watch: (sources) => {
      refresh = addGauges(registry, sources);
    },
    render: async () => {
      await refresh();
      return registry.metrics();
    },
    collect: async () => {
      await refresh();
      return registry.getMetricsAsJSON();
    },
    observeSpans: countSpans,
    close: stopWatching,
  };
}

/** The observations of one set of labels: the count of each bucket, not cumulative, and their sum. */
interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: Float64Array;
  sum: number;
}

interface DurationsOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds in seconds, ascending. */
  readonly bounds: readonly number[];
  readonly labelNames: readonly string[];
}

/**
 * A histogram of durations in seconds. An observation costs one map look-up by label values, where the library's histogram
 * validates and hashes its labels each time (7% of the main thread's time on a busy server). A scrape shows the same.
 */
export class Durations extends Histogram {
  readonly #options: DurationsOptions;
  readonly #series = new Map<string, Series>();

  constructor(registry: Registry, options: DurationsOptions) {
    const { name, help, bounds, labelNames } = options;
    super({ name, help, buckets: [...bounds], labelNames: [...labelNames], registers: [registry] });
    this.#options = options;
  }

  /** Adds one observation. `values` are those of the labels in the order of `labelNames`. */
  add(seconds: number, ...values: readonly string[]): void {
    // One text for all values finds a series with one look-up.
    const key = values.length === 1 ? (values[0] ?? '') : values.join('\0');
    const series = this.#series.get(key) ?? this.#addSeries(key, values);
    const { bounds } = this.#options;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) {
      at += 1;
    }
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += seconds;
  }

  #addSeries(key: string, values: readonly string[]): Series {
    const { bounds, labelNames } = this.#options;
    const labels = Object.fromEntries(labelNames.map((name, at) => [name, values[at] ?? '']));
    const series: Series = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 };
    this.#series.set(key, series);
    return series;
  }

  #valuesOf({ labels, counts, sum }: Series) {
    const { name, bounds } = this.#options;
    let total = 0;
    const buckets = [...bounds, '+Inf'].map((le, at) => {
      total += counts[at] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels: labels, value: total };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: {}, sharedLabels: labels, value: sum },
      { metricName: `${name}_count`, labels: {}, sharedLabels: labels, value: total },
    ];
  }

  /** Called by the registry at a scrape; for data the library then adds the shared labels to those of each value. */
  async getForPromString() {
    const { name, help } = this.#options;
    const values = [...this.#series.values()].flatMap((series) => this.#valuesOf(series));
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}
