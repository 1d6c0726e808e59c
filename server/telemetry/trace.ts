import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { Observer, Tracing } from './observer.ts';
import type { Attributes, Span } from './otlp.ts';

/** The span that is under way, as its children see it. */
interface Place {
  readonly traceId: string;
  readonly spanId: string;
}

/** The span of a request: its end is told when its reply is known. */
interface RequestPlace extends Place {
  readonly parentId: string | undefined;
  readonly startMs: number;
}

/** Traces of one server. */
export interface Tracer {
  readonly tracing: Tracing;
  /** The observer that also makes spans. */
  readonly observe: (observer: Observer) => Observer;
  /** Makes a span of an event that tells of a call of a third party. */
  readonly event: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** What spans are made with. */
export interface TracerParts {
  readonly add: (span: Span) => void;
  /** As many random bytes in hex. */
  readonly randomHex: (bytes: number) => string;
}

// A trace id without a letter could be a card number; the mark of version 00 and the flags end the header.
const TRACEPARENT = /^00-(?=[0-9]*[a-f])([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const SPANS_BY_EVENT: Readonly<Record<string, string>> = {
  proxy_attempt: 'proxy attempt',
  webhook_call: 'webhook call',
};

const wallMs = (at: number): number => performance.timeOrigin + at;

const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The attempts of one accepted request, on whatever server, are one trace. */
const traceOfJob = (job: string): string =>
  createHash('sha256')
    .update(`trace ${job}`)
    .digest('hex')
    .slice(0, 2 * TRACE_BYTES);

const attemptAttributes = (fields: Readonly<Record<string, unknown>>): Attributes => ({
  'vault.request_id': asText(fields['request_id']),
  'vault.job': asText(fields['job']),
  'vault.attempt': asNumber(fields['attempt']),
  'vault.code': asText(fields['code']),
  'http.response.status_code': asNumber(fields['status']),
});

/** Reads a `traceparent`. One that is not sane, or whose caller does not record, gives no parent or no trace. */
const readParent = (header: string | null): Place | 'unsampled' | undefined => {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(header ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) {
    return undefined;
  }
  return (Number.parseInt(flags ?? '', 16) & 1) === 1 ? { traceId, spanId } : 'unsampled';
};

/**
 * Makes spans of requests, and of what is done for them. Their names and attributes are constants of the code, but for
 * the ids of requests and jobs. A trace is taken over from a caller, and never sent on to third parties, whom it would
 * tell what belongs together.
 */
export function createTracer({ add, randomHex }: TracerParts): Tracer {
  const current = new AsyncLocalStorage<Place>();
  const requests = new AsyncLocalStorage<RequestPlace>();

  const child = (
    name: string,
    kind: Span['kind'],
    startedAt: number,
    hasFailed: boolean,
    attributes: Attributes = {},
    { spanId = randomHex(SPAN_BYTES), parent = current.getStore() } = {},
  ): void => {
    if (parent === undefined) {
      return;
    }
    const { traceId, spanId: parentId } = parent;
    const times = { startMs: wallMs(startedAt), endMs: wallMs(performance.now()) };
    add({ traceId, spanId, parentId, name, kind, ...times, hasFailed, attributes });
  };

  const step: Observer['step'] = async (name, work) => {
    const parent = current.getStore();
    if (parent === undefined) {
      return work();
    }
    const startedAt = performance.now();
    const place = { traceId: parent.traceId, spanId: randomHex(SPAN_BYTES) };
    let hasFailed = true;
    try {
      const result = await current.run(place, work);
      hasFailed = false;
      return result;
    } finally {
      child(name, 'internal', startedAt, hasFailed, {}, { spanId: place.spanId, parent });
    }
  };

  const tracing: Tracing = {
    begin(traceparent, work) {
      const parent = readParent(traceparent);
      if (parent === 'unsampled') {
        return work();
      }
      const traceId = parent?.traceId ?? randomHex(TRACE_BYTES);
      const spanId = randomHex(SPAN_BYTES);
      const place = { traceId, spanId, parentId: parent?.spanId, startMs: wallMs(performance.now()) };
      return requests.run(place, () => current.run(place, work));
    },
    end({ route, method, status, code, requestId }) {
      const place = requests.getStore();
      if (place === undefined) {
        return;
      }
      const attributes: Attributes = {
        'http.route': route,
        'http.request.method': method,
        'http.response.status_code': status,
        'vault.code': code,
        'vault.request_id': requestId,
      };
      const name = `${method} ${route}`;
      add({
        ...place,
        name,
        kind: 'server',
        endMs: wallMs(performance.now()),
        hasFailed: status >= 500,
        attributes,
      });
    },
  };

  return {
    tracing,
    observe: (observer) => ({
      ...observer,
      step,
      redisCall(name, startedAt, hasFailed) {
        observer.redisCall(name, startedAt, hasFailed);
        const attributes: Attributes = { 'db.system.name': 'redis', 'db.operation.name': name };
        child(`redis ${name}`, 'client', startedAt, hasFailed, attributes);
      },
      threadCall: (kind, startedAt, hasFailed) => child(`thread ${kind}`, 'internal', startedAt, hasFailed),
    }),
    event(event, fields) {
      const name = SPANS_BY_EVENT[event];
      const job = asText(fields['job']);
      if (name === undefined || job === undefined) {
        return;
      }
      const endMs = wallMs(performance.now());
      const parent = current.getStore();
      add({
        traceId: parent?.traceId ?? traceOfJob(job),
        spanId: randomHex(SPAN_BYTES),
        parentId: parent?.spanId,
        name,
        kind: 'client',
        startMs: endMs - (asNumber(fields['ms']) ?? 0),
        endMs,
        hasFailed: fields['code'] !== undefined,
        attributes: attemptAttributes(fields),
      });
    },
  };
}
