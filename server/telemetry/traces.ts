import { randomBytes } from 'node:crypto';
import type { ServerMetrics } from './metrics.ts';
import type { Observer, Tracing } from './observer.ts';
import { createTracer, type Tracer } from './trace.ts';
import { createSpanExport, type ExportOptions } from './trace-export.ts';

/** The traces of a server that has somewhere to send them. */
export interface Traces {
  readonly tracing: Tracing;
  /** That of the metrics, which also makes spans. */
  readonly observer: Observer;
  readonly event: Tracer['event'];
  /** Delivers what waits, within five seconds. */
  readonly close: () => Promise<void>;
}

/** Makes spans and has them sent; how many were, or were not, is a metric. */
export function createTraces(metrics: ServerMetrics, options: Omit<ExportOptions, 'onSpans'>): Traces {
  const out = createSpanExport({ ...options, onSpans: metrics.observeSpans });
  const tracer = createTracer({ add: out.add, randomHex: (bytes) => randomBytes(bytes).toString('hex') });
  return {
    tracing: tracer.tracing,
    observer: tracer.observe(metrics.observer),
    event: tracer.event,
    close: out.close,
  };
}
