import { isIP, connect as openTcp, type Socket } from 'node:net';
import { connect as openTls } from 'node:tls';

/** A collector of RFC 5424 messages, over TCP or TLS. */
export interface SyslogTarget {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

/** A message: its time in ms since 1970 (undefined: unknown), and its text in ASCII. */
export interface SyslogMessage {
  readonly timeMs: number | undefined;
  readonly text: string;
}

/** Facility authpriv (10), severity informational (6). */
const PRIORITY = 10 * 8 + 6;
/** The longest time without progress. */
const IDLE_MS = 10_000;
/** The longest time of a delivery: less than the lease of the delivering server. */
const LIMIT_MS = 50_000;

/** The messages as frames of RFC 6587 (octet counting). `hostname` is this machine, 1 to 255 visible characters. */
export function framesOf(messages: readonly SyslogMessage[], hostname: string): Buffer {
  const frames = messages.map(({ timeMs, text }) => {
    const time = timeMs === undefined ? '-' : new Date(timeMs).toISOString();
    const message = `<${PRIORITY}>1 ${time} ${hostname} cardvault - audit - ${text}`;
    return `${Buffer.byteLength(message)} ${message}`;
  });
  return Buffer.from(frames.join(''));
}

function open({ host, port, tls }: SyslogTarget): { readonly socket: Socket; readonly ready: string } {
  // One closed half means that all was sent; the other one, that all was read.
  if (!tls) {
    return { socket: openTcp({ host, port, allowHalfOpen: true }), ready: 'connect' };
  }
  const named = isIP(host) === 0 ? { servername: host } : {};
  const options = {
    host,
    port,
    allowHalfOpen: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2' as const,
  };
  return { socket: openTls({ ...options, ...named }), ready: 'secureConnect' };
}

/**
 * Sends messages over a new connection, and closes its sending half. Resolves when the collector has then closed the other
 * half: it has read everything. Rejects after an error, 10 s without progress, or `limitMs` in all: a collector that goes on
 * sending bytes must not block the delivery.
 */
export function sendSyslog(
  target: SyslogTarget,
  frames: Buffer,
  signal: AbortSignal,
  limitMs = LIMIT_MS,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { socket, ready } = open(target);
    let isSent = false;
    const fail = (error: unknown): void => {
      reject(error);
      socket.destroy();
    };
    const stop = (): void => fail(new DOMException('stopped', 'AbortError'));
    const idle = (): void => fail(Object.assign(new Error('no progress'), { code: 'ETIMEDOUT' }));
    socket.setTimeout(IDLE_MS, idle);
    const limit = setTimeout(idle, limitMs);
    socket.once(ready, () => {
      socket.end(frames, () => {
        isSent = true;
      });
    });
    socket.on('error', fail);
    socket.once('end', () => {
      if (isSent) {
        resolve();
        socket.destroy();
      } else {
        fail(Object.assign(new Error('closed early'), { code: 'ECONNRESET' }));
      }
    });
    socket.once('close', () => {
      clearTimeout(limit);
      signal.removeEventListener('abort', stop);
      reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
    });
    socket.resume();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) {
      stop();
    }
  });
}
