import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** What the runtime knows of itself. The rest of the usual set is zero, or wrong, outside Node. */
const TRUE_HERE: ReadonlySet<string> = new Set([
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

/** What a server is. */
export interface BuildInfo {
  readonly version: string;
  readonly environment: string;
}

/** Adds CPU time, memory, open files and what is running. */
export function addProcessMetrics(registry: Registry, build: BuildInfo): void {
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    if (!TRUE_HERE.has(name)) {
      registry.removeSingleMetric(name);
    }
  }
  new Gauge({
    name: 'vault_build_info',
    help: 'Always 1; what runs is in the labels.',
    labelNames: ['version', 'environment'],
    registers: [registry],
  }).set({ ...build }, 1);
}
