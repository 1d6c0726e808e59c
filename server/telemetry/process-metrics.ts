import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** The default metrics that are correct on Bun; the others are zero or wrong outside Node. */
const CORRECT_ON_BUN: ReadonlySet<string> = new Set([
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_cpu_seconds_total',
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'process_open_fds',
  'process_max_fds',
  'nodejs_heap_size_used_bytes',
  'nodejs_external_memory_bytes',
]);

/** The labels of `vault_build_info`. */
export interface BuildInfo {
  readonly version: string;
  readonly environment: string;
}

/** Adds CPU time, memory, open files, the start time and the build. */
export function addProcessMetrics(registry: Registry, build: BuildInfo): void {
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    if (!CORRECT_ON_BUN.has(name)) {
      registry.removeSingleMetric(name);
    }
  }
  new Gauge({
    name: 'vault_build_info',
    help: 'Always 1; version and environment are in the labels.',
    labelNames: ['version', 'environment'],
    registers: [registry],
  }).set({ ...build }, 1);
}
