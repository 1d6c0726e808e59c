import { collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';

/**
 * The default metrics that are correct on Bun; the others are zero or wrong outside Node. The heap's figures are those of
 * the last garbage collection, and external memory leaves buffers out.
 */
const CORRECT_ON_BUN = [
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_cpu_seconds_total',
  'process_resident_memory_bytes',
  'process_open_fds',
  'process_max_fds',
] as const;

/** The labels of `vault_build_info`. */
export interface BuildInfo {
  readonly version: string;
  readonly environment: string;
}

/** Unix time in seconds at which this process started. */
const STARTED_AT_SECONDS = Math.round(Date.now() / 1_000 - process.uptime());

/** The library's default metrics, once per process: making them walks the whole heap. */
let defaults: Registry | undefined;

function processDefaults(): Registry {
  if (defaults === undefined) {
    defaults = new Registry();
    collectDefaultMetrics({ register: defaults });
  }
  return defaults;
}

/** Adds CPU time, memory, open files, the start time and the build. */
export function addProcessMetrics(registry: Registry, build: BuildInfo): void {
  for (const name of CORRECT_ON_BUN) {
    registry.registerMetric(processDefaults().getSingleMetric(name) as Metric);
  }
  // The library leaves it out of the sum of several processes; the first start is that of the whole server.
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since unix epoch in seconds.',
    aggregator: 'min',
    registers: [registry],
  }).set(STARTED_AT_SECONDS);
  new Gauge({
    name: 'vault_build_info',
    help: 'Always 1; version and environment are in the labels.',
    labelNames: ['version', 'environment'],
    aggregator: 'first',
    registers: [registry],
  }).set({ ...build }, 1);
}
