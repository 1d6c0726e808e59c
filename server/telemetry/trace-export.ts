import { encodeSpans, type Resource, type Span } from './otlp.ts';

const WAITING_MAX = 4_096;
const BATCH_MAX = 512;
const PAUSE_MS = 1_000;
const ANSWER_MS = 5_000;

/** Where spans go, and what the server says of itself. */
export interface ExportOptions {
  /** The URL of OTLP/HTTP traces, `/v1/traces` included. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Resource;
  /** Hears how many spans were delivered or given up. */
  readonly onSpans: (outcome: 'exported' | 'dropped', count: number) => void;
}

/** Takes spans at once, and delivers them when it can. */
export interface SpanExport {
  readonly add: (span: Span) => void;
  /** Delivers what waits, within five seconds. */
  readonly close: () => Promise<void>;
}

/**
 * Sends spans in batches, one request at a time. A receiver that is away, refuses or hangs costs the spans: of those
 * that wait at most 4096 are kept, nothing is sent twice, and nobody ever waits for it.
 */
export function createSpanExport({ url, headers, resource, onSpans }: ExportOptions): SpanExport {
  let waiting: Span[] = [];
  let sending: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const deliver = async (batch: readonly Span[]): Promise<void> => {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: encodeSpans(batch, resource),
        redirect: 'error',
        signal: AbortSignal.timeout(ANSWER_MS),
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
    if (sending === undefined && waiting.length > 0) {
      const batch = waiting.slice(0, BATCH_MAX);
      waiting = waiting.slice(BATCH_MAX);
      sending = deliver(batch).finally(() => {
        sending = undefined;
        schedule();
      });
    }
    return sending ?? Promise.resolve();
  };

  const schedule = (): void => {
    if (waiting.length > 0 && timer === undefined && sending === undefined) {
      timer = setTimeout(flush, waiting.length >= BATCH_MAX ? 0 : PAUSE_MS);
      timer.unref();
    }
  };

  return {
    add(span) {
      if (waiting.length >= WAITING_MAX) {
        onSpans('dropped', 1);
        return;
      }
      waiting.push(span);
      schedule();
    },
    async close() {
      await sending;
      await flush();
      clearTimeout(timer);
    },
  };
}
