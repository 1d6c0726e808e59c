import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, randomBytes } from 'node:crypto';
import type { Observer } from './observer.ts';
import type { Span, SpanAttributes, StartedSpan } from './otlp.ts';

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
}

/** A span that has just ended, without the ids of its trace. */
interface EndedSpan {
  readonly name: string;
  readonly kind: Span['kind'];
  /** A time of `performance.now()`. */
  readonly startedAt: number;
  readonly hasFailed: boolean;
  readonly attributes?: SpanAttributes;
  /** The id that its children know; a new one by default. */
  readonly spanId?: string;
}

/** The end of a request, for its span: constants of the code, and the request id. */
interface RequestEnd {
  /** The route template, never a path. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  /** The error code; undefined for a successful reply. */
  readonly code: string | undefined;
  readonly requestId: string;
}

// A trace id without a letter could be a card number; version 00 has nothing after the flags.
const TRACEPARENT = /^00-(?=[0-9]*[a-f])([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
/** Sizes of ids (W3C Trace Context). */
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
/** Events that report a call to a third party, and the names of their spans. */
const SPANS_BY_EVENT: Readonly<Record<string, string>> = {
  proxy_attempt: 'proxy attempt',
  webhook_attempt: 'webhook attempt',
};

/**
 * Creates spans of requests and of their parts. Names and attributes are constants of the code, except the ids of requests
 * and jobs. A caller's trace is continued, but never passed on to third parties: it would show them which requests belong
 * together.
 */
export class Tracer {
  /** The span in which the current code runs. */
  private readonly current = new AsyncLocalStorage<SpanContext>();

  constructor(private readonly add: (span: Span) => void) {}

  /**
   * Starts the span of a request, in the trace that its `traceparent` (W3C Trace Context) names; a malformed one counts as
   * absent. Undefined when the caller does not record its trace.
   */
  start(traceparent: string | null): StartedSpan | undefined {
    const [, traceId, parentId, flags = '01'] = TRACEPARENT.exec(traceparent ?? '') ?? [];
    const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
    return isSampled
      ? {
          traceId: traceId ?? randomHex(TRACE_BYTES),
          spanId: randomHex(SPAN_BYTES),
          parentId,
          startMs: wallMs(performance.now()),
        }
      : undefined;
  }

  /** Runs work of a request; the spans of its steps and calls are children of `span`. */
  within<T>(span: SpanContext, work: () => Promise<T>): Promise<T> {
    return this.current.run(span, work);
  }

  /** Ends and exports a span, once. Only a status of 500 or more has failed, as OpenTelemetry specifies for servers. */
  end(span: StartedSpan, { route, method, status, code, requestId }: RequestEnd): void {
    this.add({
      ...span,
      name: `${method} ${route}`,
      kind: 'server',
      endMs: wallMs(performance.now()),
      hasFailed: status >= 500,
      attributes: {
        'http.route': route,
        'http.request.method': method,
        'http.response.status_code': status,
        'vault.code': code,
        'vault.request_id': requestId,
      },
    });
  }

  /** Extends an observer so that steps, Redis commands and jobs also create spans. */
  observe(observer: Observer): Observer {
    return {
      ...observer,
      step: (name, work) => this.runStep(name, work),
      redisCall: (command, startedAt, hasFailed) => {
        observer.redisCall(command, startedAt, hasFailed);
        const attributes: SpanAttributes = { 'db.system.name': 'redis', 'db.operation.name': command };
        this.addChild({ name: `redis ${command}`, kind: 'client', startedAt, hasFailed, attributes });
      },
      threadCall: (job, startedAt, hasFailed) =>
        this.addChild({ name: `thread ${job}`, kind: 'internal', startedAt, hasFailed }),
    };
  }

  /**
   * Creates a span for an event that reports a call to a third party; ignores other events. Outside a request its trace is
   * derived from the job. The event has no URL and no data, so neither has the span.
   */
  event(event: string, fields: Readonly<Record<string, unknown>>): void {
    const name = SPANS_BY_EVENT[event];
    const job = asText(fields['job']);
    if (name === undefined || job === undefined) {
      return;
    }
    const endMs = wallMs(performance.now());
    const parent = this.current.getStore();
    this.add({
      traceId: parent?.traceId ?? traceOfJob(job),
      spanId: randomHex(SPAN_BYTES),
      parentId: parent?.spanId,
      name,
      kind: 'client',
      startMs: endMs - (asNumber(fields['ms']) ?? 0),
      endMs,
      hasFailed: fields['code'] !== undefined,
      attributes: {
        'vault.request_id': asText(fields['request_id']),
        'vault.job': job,
        'vault.attempt': asNumber(fields['attempt']),
        'vault.code': asText(fields['code']),
        'http.response.status_code': asNumber(fields['status']),
      },
    });
  }

  /** Runs `work` within a new span, the parent of the spans inside it. */
  private async runStep<T>(name: string, work: () => Promise<T>): Promise<T> {
    const parent = this.current.getStore();
    if (parent === undefined) {
      return work();
    }
    const startedAt = performance.now();
    const spanId = randomHex(SPAN_BYTES);
    let hasFailed = true;
    try {
      const result = await this.current.run({ traceId: parent.traceId, spanId }, work);
      hasFailed = false;
      return result;
    } finally {
      this.addChild({ name, kind: 'internal', startedAt, hasFailed, spanId }, parent);
    }
  }

  /** Adds a span that ends now; does nothing outside a traced request. */
  private addChild(ended: EndedSpan, parent = this.current.getStore()): void {
    if (parent === undefined) {
      return;
    }
    const { startedAt, ...rest } = ended;
    this.add({
      ...{ spanId: randomHex(SPAN_BYTES), attributes: {}, ...rest },
      traceId: parent.traceId,
      parentId: parent.spanId,
      startMs: wallMs(startedAt),
      endMs: wallMs(performance.now()),
    });
  }
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** Milliseconds since 1970 of a time of `performance.now()`. */
function wallMs(at: number): number {
  return performance.timeOrigin + at;
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The trace id of a job: the same for its attempts on every server. */
function traceOfJob(job: string): string {
  return createHash('sha256')
    .update(`trace ${job}`)
    .digest('hex')
    .slice(0, 2 * TRACE_BYTES);
}
