import { Counter, Histogram, Registry } from 'prom-client';
import type { ErrorCode } from '../core/errors.ts';
import { EVENT_COUNTERS } from './events.ts';
import type { Figures } from './figures.ts';
import { addGauge, addGauges, type GaugeSources } from './gauges.ts';
import type { Observer } from './observer.ts';
import { addProcessMetrics, type BuildInfo, watchEventLoop } from './process-metrics.ts';

/** Upper bounds in seconds for whole requests and for calls to third parties. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** Upper bounds in seconds for single steps: Redis commands and jobs of threads. */
const STEP_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
/** Label values by the first digit of a status. */
const STATUS_CLASSES = ['', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;
/** The format of label values that come from an event. */
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

/** Counts for the observer: sign-ins, unlocks and billable operations. */
function addObservedCounters(registry: Registry): Observer['count'] {
  const counters = {
    sign_in: addCounts(registry, 'vault_sign_ins_total', 'Sign-ins of accounts by result.', 'result'),
    unlock: addCounts(
      registry,
      'vault_unlocks_total',
      'Unlocks of keys by result; warm is without Argon2id, cold is with Argon2id.',
      'result',
    ),
    operation: addCounts(
      registry,
      'vault_operations_total',
      'Billable operations, over all accounts.',
      'operation',
    ),
  };
  return (name, result, times = 1) => {
    // A reading of nothing makes no series.
    if (times > 0) {
      counters[name](result, times);
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

/** Durations of jobs, waiting and running. Rejected and lost jobs have none, so only their errors are counted. */
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
function addEventCounters(
  registry: Registry,
): (event: string, fields: Readonly<Record<string, unknown>>) => void {
  const countEvent = addCounts(
    registry,
    'vault_events_total',
    'Log lines other than those of requests, by event.',
    'event',
  );
  const rows = new Map(
    Object.entries(EVENT_COUNTERS).map(([event, { name, help, label, labelValue, duration }]) => {
      const count = addCounts(registry, name, help, label);
      const options = { help: `Duration. ${help}`, bounds: REQUEST_SECONDS, labelNames: [] };
      const durations = duration && new Durations(registry, { name: duration, ...options });
      return [event, { labelValue, count, durations }] as const;
    }),
  );
  // Event names and codes are constants of the code; this guards against one that is ever built from data.
  const safe = (text: string): string => (LABEL.test(text) ? text : 'other');
  return (event, fields) => {
    countEvent(safe(event));
    const found = rows.get(event);
    if (found === undefined) {
      return;
    }
    found.count(safe(found.labelValue(fields)));
    if (found.durations && typeof fields['ms'] === 'number') {
      found.durations.add(fields['ms'] / 1_000);
    }
  };
}

/**
 * The metrics of one server. Labels are constants of the code, never data of a request: route templates, methods, codes,
 * names of commands and events. So the number of series is bounded.
 */
export class Metrics {
  private readonly registry = new Registry();
  readonly observeSpans = addCounts(
    this.registry,
    'vault_trace_spans_total',
    'Spans of traces, exported or dropped.',
    'result',
  );
  private readonly requests = new Durations(this.registry, {
    name: 'vault_http_request_duration_seconds',
    help: 'Duration of requests, by route template, method and status class.',
    bounds: REQUEST_SECONDS,
    labelNames: ['route', 'method', 'status'],
  });
  private readonly countError = addCounts(
    this.registry,
    'vault_http_errors_total',
    'Error replies, by error code.',
    'code',
  );
  readonly observer: Observer = {
    step: (_name, work) => work(),
    count: addObservedCounters(this.registry),
    redisCall: addRedisCalls(this.registry),
    threadJob: addThreadJobs(this.registry),
  };
  /** Counts a log line other than a request's. Its fields never become labels unchecked. */
  readonly observeEvent = addEventCounters(this.registry);
  private inFlight = 0;
  private refresh = async (): Promise<void> => undefined;
  private readonly stopWatching: () => void;

  constructor(build: BuildInfo = { version: '', environment: 'staging' }) {
    addProcessMetrics(this.registry, build);
    this.stopWatching = watchEventLoop(this.registry);
    addGauge(
      this.registry,
      'sum',
      'vault_http_requests_in_flight',
      'Requests whose reply has not started.',
      () => this.inFlight,
    );
  }

  /** Counts a request as in flight; exactly one `observeRequest` follows. */
  startRequest(): void {
    this.inFlight += 1;
  }

  /** Counts one answered request. `route` is the template (`/v1/vault`), never a path. */
  observeRequest(
    route: string,
    method: string,
    status: number,
    seconds: number,
    code: ErrorCode | undefined,
  ): void {
    this.inFlight -= 1;
    this.requests.add(seconds, route, method, STATUS_CLASSES[Math.trunc(status / 100)] ?? '');
    if (code !== undefined) {
      this.countError(code);
    }
  }

  watch(sources: GaugeSources): void {
    this.refresh = addGauges(this.registry, sources);
  }

  /** Returns all metrics in the Prometheus text format. */
  async render(): Promise<string> {
    await this.refresh();
    return this.registry.metrics();
  }

  /** Returns all metrics as data, for another process to add up. */
  async collect(): Promise<Figures> {
    await this.refresh();
    return this.registry.getMetricsAsJSON();
  }

  close(): void {
    this.stopWatching();
  }
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
