import { encodeSpans, type Resource, type Span } from './otlp.ts';

/** The most queued spans; further ones are dropped. */
const QUEUED_MAX = 4_096;
const BATCH_MAX = 512;
const BATCH_DELAY_MS = 1_000;
const TIMEOUT_MS = 5_000;

interface ExportOptions {
  /** The URL of OTLP/HTTP traces, including `/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Resource;
  /** Receives the number of spans that were exported or dropped. */
  readonly onSpans: (result: 'exported' | 'dropped', count: number) => void;
}

/**
 * Sends spans in batches, one request at a time, in the format of OTLP/HTTP with JSON. While the collector is
 * unreachable, slow or rejects spans, spans are dropped: at most 4096 are queued, and none is sent twice.
 */
export class SpanExport {
  private queued: Span[] = [];
  private sending: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: ExportOptions) {}

  /** Queues a span. Never waits and never throws. */
  add(span: Span): void {
    if (this.queued.length >= QUEUED_MAX) {
      this.options.onSpans('dropped', 1);
      return;
    }
    this.queued.push(span);
    this.schedule();
  }

  /** Exports the queued spans, within five seconds. */
  async close(): Promise<void> {
    await this.sending;
    await this.flush();
    clearTimeout(this.timer);
  }

  private schedule(): void {
    const { length } = this.queued;
    if (length > 0 && this.timer === undefined && this.sending === undefined) {
      this.timer = setTimeout(() => this.flush(), length >= BATCH_MAX ? 0 : BATCH_DELAY_MS);
      this.timer.unref();
    }
  }

  private async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.sending === undefined && this.queued.length > 0) {
      const batch = this.queued.splice(0, BATCH_MAX);
      this.sending = this.deliver(batch).finally(() => {
        this.sending = undefined;
        this.schedule();
      });
    }
    await this.sending;
  }

  private async deliver(batch: readonly Span[]): Promise<void> {
    const { url, headers, resource, onSpans } = this.options;
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
  }
}
