import { collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { addGauge } from './gauges.ts';

/** The default metrics that are correct on Bun; the others are zero or wrong outside Node. */
const CORRECT_ON_BUN = [
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_cpu_seconds_total',
  'process_resident_memory_bytes',
  'process_open_fds',
  'process_max_fds',
] as const;

export interface BuildInfo {
  readonly version: string;
  readonly environment: string;
}

/** Unix time in seconds at which this process started. */
const STARTED_AT_SECONDS = Math.round(Date.now() / 1_000 - process.uptime());

/** The library's default metrics, once per process: making them walks the whole heap. */
let defaults: Registry | undefined;

/** Adds CPU time, memory, open files, the start time and the build. */
export function addProcessMetrics(registry: Registry, build: BuildInfo): void {
  if (defaults === undefined) {
    defaults = new Registry();
    collectDefaultMetrics({ register: defaults });
  }
  for (const name of CORRECT_ON_BUN) {
    registry.registerMetric(defaults.getSingleMetric(name) as Metric);
  }
  // The library omits it from the sum of several processes; the first start is that of the whole server.
  addGauge(
    registry,
    'min',
    'process_start_time_seconds',
    'Start time of the process since unix epoch in seconds.',
    () => STARTED_AT_SECONDS,
  );
  new Gauge({
    name: 'vault_build_info',
    help: 'Always 1; version and environment are in the labels.',
    labelNames: ['version', 'environment'],
    aggregator: 'first',
    registers: [registry],
  }).set({ ...build }, 1);
}

/** The interval between two measurements. */
const PROBE_MS = 20;
/** A largest delay is shown for at least one window, and less than two. */
const WINDOW_MS = 60_000;
/** Upper bounds in seconds. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Measures the delay of the event loop 50 times a second: as a histogram, from which percentiles over any time and
 * number of servers can be computed, and as the largest delay of the last one to two minutes, which no bucket shows.
 * Returns a function that stops the measurement. The timer does not keep the process alive.
 */
export function watchEventLoop(registry: Registry): () => void {
  const delays = new Histogram({
    name: 'vault_event_loop_delay_seconds',
    help: 'How late the event loop ran a timer; above 0.1 one request has delayed others.',
    buckets: BUCKETS,
    registers: [registry],
  });
  let largest = 0;
  let largestBefore = 0;
  let windowEndsAt = performance.now() + WINDOW_MS;
  let dueAt = performance.now() + PROBE_MS;
  addGauge(
    registry,
    'max',
    'vault_event_loop_delay_max_seconds',
    'Largest delay of the event loop in the last one to two minutes.',
    () => Math.max(largest, largestBefore),
  );
  const timer = setInterval(() => {
    const now = performance.now();
    const seconds = Math.max(0, now - dueAt) / 1_000;
    dueAt = now + PROBE_MS;
    delays.observe(seconds);
    if (now > windowEndsAt) {
      [largestBefore, largest, windowEndsAt] = [largest, 0, now + WINDOW_MS];
    }
    largest = Math.max(largest, seconds);
  }, PROBE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
