import { randomBytes } from 'node:crypto';
import type { ServerMetrics } from './metrics.ts';
import type { Observer, Tracing } from './observer.ts';
import { createSpanExport, type ExportOptions } from './trace-export.ts';
import { createTracer, type Tracer } from './tracer.ts';

/** The traces of a server that exports them. */
export interface Traces {
  readonly tracing: Tracing;
  /** The observer of the metrics, extended so that it also creates spans. */
  readonly observer: Observer;
  /** Creates a span for an event that reports a call to a third party. */
  readonly event: Tracer['event'];
  /** Exports the queued spans, within five seconds. */
  readonly close: () => Promise<void>;
}

/** Creates spans and exports them; `vault_trace_spans_total` counts exported and dropped ones. */
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
