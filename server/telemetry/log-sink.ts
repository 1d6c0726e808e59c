import { writeSync } from 'node:fs';
import type { ErrorCode } from '../core/errors.ts';

/** A log line of a request: route templates, codes and counts, and no data of a caller but the account name. */
export interface LogLine {
  readonly time: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly request_id?: string;
  readonly method?: string;
  readonly route?: string;
  readonly status?: number;
  readonly ms?: number;
  readonly account?: string | undefined;
  readonly credential?: string | undefined;
  readonly person?: string | undefined;
  readonly code?: ErrorCode | undefined;
  /** The place of the error in a rejected request, such as `query.user`; never a value. */
  readonly field?: string | undefined;
  /** The class of an unexpected error; its message may contain data and is omitted. */
  readonly error?: string;
  /** At most twelve stack frames, without messages. */
  readonly stack?: readonly string[];
  /** The cause that the error names: class and frames, without a message. */
  readonly cause?: object;
}

const FLUSH_MS = 100;
/** A larger buffer is written immediately. */
const FLUSH_BYTES = 64 * 1_024;
/** The size of one system call: up to it, lines of several processes on one pipe are not mixed (PIPE_BUF). */
const PIECE_BYTES = 4_096;

/** Joins lines to pieces of whole lines, each as long as one system call writes, or one longer line. */
function piecesOf(lines: readonly string[]): readonly string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const line of lines) {
    if (piece !== '' && piece.length + line.length > PIECE_BYTES) {
      pieces.push(piece);
      piece = '';
    }
    piece += line;
  }
  return [...pieces, piece];
}

/**
 * Creates a sink on a file descriptor, whose lines name this process. Writing is synchronous; lines are dropped if the reader
 * of the descriptor is gone.
 */
export function createLogSink(fd: number) {
  const { pid } = process;
  let buffered: string[] = [];
  let size = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (buffered.length === 0) {
      return;
    }
    const lines = buffered;
    buffered = [];
    size = 0;
    try {
      for (const piece of piecesOf(lines)) {
        const bytes = Buffer.from(piece);
        for (let at = 0; at < bytes.length; ) {
          at += writeSync(fd, bytes, at);
        }
      }
    } catch {
      // The reader of the log is gone, and no other place to report this exists.
    }
  };

  return {
    /** Writes a line as one JSON object, at most 100 ms later. */
    write(line: object): void {
      const text = `${JSON.stringify({ ...line, pid })}\n`;
      buffered.push(text);
      size += text.length;
      if (size > FLUSH_BYTES) {
        flush();
      }
      timer ??= setTimeout(flush, FLUSH_MS);
    },
    flush,
  };
}
