import { open } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { AuditSink } from '../core/settings.ts';
import { framesOf, sendSyslog } from '../outbound/syslog.ts';
import type { SinkEvent } from './event.ts';

const LINE_FEED = 0x0a;

function linesOf(events: readonly SinkEvent[]): string {
  return events.map(({ text }) => `${text}\n`).join('');
}

/** Appends lines to a file and syncs it to disk. The file is opened each time, so that it may be moved away. */
async function appendLines(path: string, lines: string): Promise<void> {
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    await (size === 0 ? undefined : file.read(last, 0, 1, size - 1));
    // A full disk or a crash may have left a part of a line.
    const isTorn = size > 0 && last[0] !== LINE_FEED;
    await file.writeFile(isTorn ? `\n${lines}` : lines);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Writes lines to standard output; resolves when its reader has room for them. */
function printLines(lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(lines, (error) => (error ? reject(error) : resolve()));
  });
}

/** Opens a sink: the function resolves when the sink has accepted all events, as far as it confirms that. */
export function openAuditSink(
  sink: AuditSink,
): (events: readonly SinkEvent[], signal: AbortSignal) => Promise<void> {
  switch (sink.kind) {
    case 'stdout':
      return (events) => printLines(linesOf(events));
    case 'file':
      return (events) => appendLines(sink.path, linesOf(events));
    case 'syslog': {
      const host =
        hostname()
          .replaceAll(/[^\x21-\x7e]/g, '')
          .slice(0, 255) || '-';
      return (events, signal) => sendSyslog(sink, framesOf(events, host), signal);
    }
  }
}
