import { encodeSpans, type Resource, type Span } from './otlp.ts';

/** The most queued spans; further ones are dropped. */
const QUEUED_MAX = 4_096;
/** The most spans of one request. */
const BATCH_MAX = 512;
/** How long an incomplete batch waits for more spans. */
const BATCH_DELAY_MS = 1_000;
/** The time limit of one request to the collector. */
const TIMEOUT_MS = 5_000;

/** Where spans are sent, and the resource that they name. */
export interface ExportOptions {
  /** The URL of OTLP/HTTP traces, including `/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Resource;
  /** Receives the number of spans that were exported or dropped. */
  readonly onSpans: (result: 'exported' | 'dropped', count: number) => void;
}

/** Queues spans and exports them in the background. */
export interface SpanExport {
  /** Never waits and never throws. */
  readonly add: (span: Span) => void;
  /** Exports the queued spans, within five seconds. */
  readonly close: () => Promise<void>;
}

/**
 * Sends spans in batches, one request at a time, in the format of OTLP/HTTP with JSON. While the collector is
 * unreachable, slow or rejects spans, spans are dropped: at most 4096 are queued, and none is sent twice.
 */
export function createSpanExport({ url, headers, resource, onSpans }: ExportOptions): SpanExport {
  let queued: Span[] = [];
  let sending: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const deliver = async (batch: readonly Span[]): Promise<void> => {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: encodeSpans(batch, resource),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await response.body?.cancel();
      onSpans(response.ok ? 'exported' : 'dropped', batch.length);
    } catch {
      onSpans('dropped', batch.length);
    }
  };

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (sending === undefined && queued.length > 0) {
      const batch = queued.slice(0, BATCH_MAX);
      queued = queued.slice(BATCH_MAX);
      sending = deliver(batch).finally(() => {
        sending = undefined;
        schedule();
      });
    }
    return sending ?? Promise.resolve();
  };

  const schedule = (): void => {
    if (queued.length > 0 && timer === undefined && sending === undefined) {
      timer = setTimeout(flush, queued.length >= BATCH_MAX ? 0 : BATCH_DELAY_MS);
      timer.unref();
    }
  };

  return {
    add(span) {
      if (queued.length >= QUEUED_MAX) {
        onSpans('dropped', 1);
        return;
      }
      queued.push(span);
      schedule();
    },
    async close() {
      await sending;
      await flush();
      clearTimeout(timer);
    },
  };
}
