import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { Observer, RequestEnd, RequestSpan, Tracing } from './observer.ts';
import type { Span, SpanAttributes } from './otlp.ts';

/** The ids of a span that may have children. */
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

/** Creates the spans of one server. */
export interface Tracer {
  readonly tracing: Tracing;
  /** The observer, extended so that it also creates spans. */
  readonly observe: (observer: Observer) => Observer;
  /** Creates a span for an event that reports a call to a third party; ignores other events. */
  readonly event: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** What a tracer needs. */
export interface TracerOptions {
  readonly add: (span: Span) => void;
  /** That many random bytes, in hex. */
  readonly randomHex: (bytes: number) => string;
}

/** The options, and the span in which the current code runs. */
interface TracerState extends TracerOptions {
  readonly current: AsyncLocalStorage<SpanContext>;
}

/** What a `traceparent` asks for; `unsampled`: the caller does not record this trace, so neither does this server. */
type ParentResult =
  | { readonly kind: 'none' }
  | { readonly kind: 'unsampled' }
  | { readonly kind: 'sampled'; readonly parent: SpanContext };

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

/** Attributes of a call to a third party. The event has no URL and no data, so neither has the span. */
function attemptAttributes(fields: Readonly<Record<string, unknown>>): SpanAttributes {
  return {
    'vault.request_id': asText(fields['request_id']),
    'vault.job': asText(fields['job']),
    'vault.attempt': asNumber(fields['attempt']),
    'vault.code': asText(fields['code']),
    'http.response.status_code': asNumber(fields['status']),
  };
}

/** Reads a `traceparent` (W3C Trace Context); a malformed one counts as absent. */
function readParent(header: string | null): ParentResult {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(header ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) {
    return { kind: 'none' };
  }
  const isSampled = (Number.parseInt(flags ?? '', 16) & 1) === 1;
  return isSampled ? { kind: 'sampled', parent: { traceId, spanId } } : { kind: 'unsampled' };
}

/** Adds a span that ends now; does nothing outside a traced request. */
function addChild(state: TracerState, parent: SpanContext | undefined, ended: EndedSpan): void {
  if (parent === undefined) {
    return;
  }
  const { name, kind, startedAt, hasFailed, attributes = {} } = ended;
  state.add({
    traceId: parent.traceId,
    spanId: ended.spanId ?? state.randomHex(SPAN_BYTES),
    parentId: parent.spanId,
    name,
    kind,
    startMs: wallMs(startedAt),
    endMs: wallMs(performance.now()),
    hasFailed,
    attributes,
  });
}

/** Runs `work` with a span of its own, which becomes the parent of the spans inside it. */
async function runStep<T>(state: TracerState, name: string, work: () => Promise<T>): Promise<T> {
  const parent = state.current.getStore();
  if (parent === undefined) {
    return work();
  }
  const startedAt = performance.now();
  const spanId = state.randomHex(SPAN_BYTES);
  let hasFailed = true;
  try {
    const result = await state.current.run({ traceId: parent.traceId, spanId }, work);
    hasFailed = false;
    return result;
  } finally {
    addChild(state, parent, { name, kind: 'internal', startedAt, hasFailed, spanId });
  }
}

/** Starts the span of a request; undefined when the caller's trace is not sampled. */
function beginRequest(state: TracerState, traceparent: string | null): RequestSpan | undefined {
  const found = readParent(traceparent);
  if (found.kind === 'unsampled') {
    return undefined;
  }
  const parent = found.kind === 'sampled' ? found.parent : undefined;
  return {
    traceId: parent?.traceId ?? state.randomHex(TRACE_BYTES),
    spanId: state.randomHex(SPAN_BYTES),
    parentId: parent?.spanId,
    startMs: wallMs(performance.now()),
  };
}

/**
 * Ends the span of a request. Only a status of 500 or more counts as failed, as OpenTelemetry specifies for servers.
 */
function endRequest(state: TracerState, span: RequestSpan, end: RequestEnd): void {
  const { route, method, status, code, requestId } = end;
  state.add({
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

/**
 * Adds a span for an event that reports a call to a third party. Outside a request its trace is derived from the job.
 */
function addAttempt(state: TracerState, event: string, fields: Readonly<Record<string, unknown>>): void {
  const name = SPANS_BY_EVENT[event];
  const job = asText(fields['job']);
  if (name === undefined || job === undefined) {
    return;
  }
  const endMs = wallMs(performance.now());
  const parent = state.current.getStore();
  state.add({
    traceId: parent?.traceId ?? traceOfJob(job),
    spanId: state.randomHex(SPAN_BYTES),
    parentId: parent?.spanId,
    name,
    kind: 'client',
    startMs: endMs - (asNumber(fields['ms']) ?? 0),
    endMs,
    hasFailed: fields['code'] !== undefined,
    attributes: attemptAttributes(fields),
  });
}

/** Extends an observer so that steps, Redis commands and jobs also create spans. */
function observeWith(state: TracerState, observer: Observer): Observer {
  return {
    ...observer,
    step: (name, work) => runStep(state, name, work),
    redisCall(command, startedAt, hasFailed) {
      observer.redisCall(command, startedAt, hasFailed);
      const attributes: SpanAttributes = { 'db.system.name': 'redis', 'db.operation.name': command };
      const name = `redis ${command}`;
      addChild(state, state.current.getStore(), { name, kind: 'client', startedAt, hasFailed, attributes });
    },
    threadCall(job, startedAt, hasFailed) {
      const name = `thread ${job}`;
      addChild(state, state.current.getStore(), { name, kind: 'internal', startedAt, hasFailed });
    },
  };
}

/**
 * Creates spans of requests and of their parts. Names and attributes are constants of the code, except the ids of requests
 * and jobs. A caller's trace is continued, but never passed on to third parties: it would show them which requests belong
 * together.
 */
export function createTracer(options: TracerOptions): Tracer {
  const state: TracerState = {
    ...options,
    current: new AsyncLocalStorage(),
  };
  return {
    tracing: {
      start: (traceparent) => beginRequest(state, traceparent),
      within: (span, work) => state.current.run(span, work),
      end: (span, end) => endRequest(state, span, end),
    },
    observe: (observer) => observeWith(state, observer),
    event: (event, fields) => addAttempt(state, event, fields),
  };
}
