import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Metrics } from '../deps.ts';

/** Request metrics and the registry that other parts add their own to. */
export interface MetricsWithRegistry extends Metrics {
  readonly registry: Registry;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/**
 * Makes the metrics of one server: duration and count of requests by route template, method and status class
 * (`vault_http_request_duration_seconds`), the delay of the event loop, memory, CPU time and open files. Labels
 * come from the code alone, never from a request.
 */
export const createMetrics = (): MetricsWithRegistry => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'vault_http_request_duration_seconds',
    help: 'How long requests took, by route template, method and status class.',
    labelNames: ['route', 'method', 'status'],
    buckets: SECONDS,
    registers: [registry],
  });
  return {
    registry,
    render: () => registry.metrics(),
    observeRequest: (route, method, status, seconds) => {
      durations.observe({ route, method, status: `${Math.trunc(status / 100)}xx` }, seconds);
    },
  };
};
