import { writeSync } from 'node:fs';
import type { ErrorCode } from '../core/errors.ts';

/** One line of the log. It holds route templates, codes and counts, never anything a caller sent but its name. */
export interface LogLine {
  readonly time: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly request_id?: string;
  readonly method?: string;
  readonly route?: string;
  readonly status?: number;
  readonly ms?: number;
  readonly account?: string;
  readonly code?: ErrorCode;
  /** The class of an unknown error and where it was thrown; its message may hold data and is left out. */
  readonly error?: string;
  readonly stack?: readonly string[];
  /** The same of what caused it, where the error names that. */
  readonly cause?: object;
}

const FLUSH_MS = 100;
const FLUSH_BYTES = 64 * 1_024;

/** Where log lines go: one JSON object a line, written a tenth of a second later at the latest. */
export interface LogSink {
  readonly write: (line: object) => void;
  readonly flush: () => void;
}

/** Gathers lines, so that a busy server makes few system calls. A reader that went away costs the lines only. */
export function createLogSink(fd: number): LogSink {
  let waiting: string[] = [];
  let size = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) {
      return;
    }
    const bytes = Buffer.from(waiting.join(''));
    waiting = [];
    size = 0;
    try {
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(fd, bytes, at);
      }
    } catch {
      // Nobody reads the log any more; there is nowhere to say so.
    }
  };

  return {
    write(line) {
      const text = `${JSON.stringify(line)}\n`;
      waiting.push(text);
      size += text.length;
      if (size > FLUSH_BYTES) {
        flush();
      }
      timer ??= setTimeout(flush, FLUSH_MS);
    },
    flush,
  };
}
