import { connect } from 'node:net';

const ANSWER_MS_MAX = 1000;

/** A redis-server that answered on a unix socket; the connection stays open to notice its end. */
export interface RedisPeer {
  readonly pid: number;
  /** Whether it still reads its data from disk and answers no commands yet. */
  readonly loading: boolean;
  /** Resolves when the connection ends, which is when the server is gone. */
  readonly closed: Promise<void>;
  close(): void;
}

/** The body of a RESP bulk string once all of it has come. INFO is plain ASCII. */
function bulkBody(reply: string): string | undefined {
  const [head = '', length] = /^\$(\d+)\r\n/.exec(reply) ?? [];
  const end = head.length + Number(length);
  return length !== undefined && reply.length >= end ? reply.slice(head.length, end) : undefined;
}

function field(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
}

/**
 * Asks whoever listens on the socket who it is. `undefined` when nobody listens there (no file, or a file
 * that an earlier server left behind), or when the answer is not that of a Redis or takes over a second.
 */
export function reachRedis(socketPath: string): Promise<RedisPeer | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const closed = new Promise<void>((resolveClosed) => socket.once('close', () => resolveClosed()));
    const giveUp = () => {
      socket.destroy();
      resolve(undefined);
    };
    let reply = '';
    socket.setEncoding('latin1');
    socket.setTimeout(ANSWER_MS_MAX, giveUp);
    socket.on('error', giveUp);
    socket.once('close', giveUp);
    socket.on('data', (chunk) => {
      reply += chunk;
      const info = bulkBody(reply);
      if (info === undefined) {
        return;
      }
      socket.setTimeout(0);
      socket.unref();
      resolve({
        pid: field(info, 'process_id'),
        loading: field(info, 'loading') === 1,
        closed,
        close: () => socket.destroy(),
      });
    });
    socket.write('INFO\r\n');
  });
}
