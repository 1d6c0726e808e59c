import { version } from '../../package.json';
import type { Config } from '../config/config.ts';
import { keepContextAtTickEnd } from '../core/tick-end.ts';
import { levelOfEvent, type RecordEvent } from '../telemetry/events.ts';
import { createLogSink } from '../telemetry/log-sink.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { SpanExport } from '../telemetry/trace-export.ts';
import { Tracer } from '../telemetry/tracer.ts';
import { appendCheckpoint } from './audit-record.ts';

/** Log, metrics and traces of a server. */
export type Telemetry = ReturnType<typeof openTelemetry>;

/**
 * Opens log, metrics and, if configured, traces. `recordEvent` feeds all of them; it also appends signed checkpoints
 * to the configured file.
 */
export function openTelemetry(config: Config) {
  const log = createLogSink(process.stdout.fd);
  const metrics = new Metrics({ version, environment: config.env });
  const spans =
    config.traces &&
    new SpanExport({
      url: config.traces.url,
      headers: config.traces.headers.expose(),
      resource: { version, environment: config.env },
      onSpans: metrics.observeSpans,
    });
  const tracer = spans && new Tracer((span) => spans.add(span));
  if (tracer !== undefined) {
    // Calls that many requests share run at the end of a tick.
    keepContextAtTickEnd();
  }
  const recordEvent: RecordEvent = (event, fields = {}) => {
    metrics.observeEvent(event, fields);
    tracer?.event(event, fields);
    log.write({ time: new Date().toISOString(), level: levelOfEvent(event, fields), event, ...fields });
    if (event === 'audit_checkpoint' || event === 'log_heads_checkpoint') {
      appendCheckpoint(config.auditCheckpointFile, fields, () =>
        recordEvent('audit_checkpoint_write_failed'),
      );
    }
  };
  const observer = tracer?.observe(metrics.observer) ?? metrics.observer;
  return { log, metrics, spans, tracer, observer, recordEvent };
}
