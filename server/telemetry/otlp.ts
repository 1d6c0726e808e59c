/** The attributes that a span may have. The export omits all others. */
export const SPAN_ATTRIBUTES = [
  'http.route',
  'http.request.method',
  'http.response.status_code',
  'db.system.name',
  'db.operation.name',
  'vault.request_id',
  'vault.job',
  'vault.code',
  'vault.attempt',
] as const;

type AttributeName = (typeof SPAN_ATTRIBUTES)[number];
/** Values of attributes; undefined ones, and texts that are not plain ASCII of at most 128 characters, are not exported. */
export type SpanAttributes = { readonly [Name in AttributeName]?: string | number | undefined };

/** A span that has not ended. Ids in hex (W3C Trace Context), times in milliseconds since 1970. */
export interface StartedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the first span of a trace. */
  readonly parentId: string | undefined;
  readonly startMs: number;
}

export interface Span extends StartedSpan {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly endMs: number;
  readonly hasFailed: boolean;
  readonly attributes: SpanAttributes;
}

export interface Resource {
  readonly version: string;
  readonly environment: string;
}

/** `SpanKind` of the OTLP specification (opentelemetry-proto, trace.proto). */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
/** `STATUS_CODE_ERROR` of the same specification. */
const STATUS_ERROR = 2;
/** Printable ASCII of at most 128 characters. */
const PLAIN = /^[\x20-\x7e]{1,128}$/;

/** OTLP/JSON writes 64-bit integers as strings. Microseconds are as exact as the clock. */
function nanos(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

interface Pair {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

function text(key: string, value: string): Pair {
  return { key, value: { stringValue: value } };
}

/** No pair for an undefined value, or for a text that is not `PLAIN`. */
function attributeOf(key: AttributeName, value: string | number | undefined): readonly Pair[] {
  if (typeof value === 'number') {
    return [{ key, value: { intValue: String(Math.trunc(value)) } }];
  }
  return value !== undefined && PLAIN.test(value) ? [text(key, value)] : [];
}

function spanOf(span: Span) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentId,
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: nanos(span.startMs),
    endTimeUnixNano: nanos(span.endMs),
    attributes: SPAN_ATTRIBUTES.flatMap((name) => attributeOf(name, span.attributes[name])),
    status: span.hasFailed ? { code: STATUS_ERROR } : {},
  };
}

/** The body of an OTLP/HTTP request in JSON (opentelemetry-proto, ExportTraceServiceRequest). */
export function encodeSpans(spans: readonly Span[], { version, environment }: Resource): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: {
          attributes: [
            text('service.name', 'cardvault'),
            text('service.version', version),
            text('deployment.environment.name', environment),
          ],
        },
        scopeSpans: [{ scope: { name: 'cardvault' }, spans: spans.map(spanOf) }],
      },
    ],
  });
}
