import { connect } from 'node:net';
import { infoField } from '../../redis/info.ts';

/** The time limit of a reply to INFO. */
const ANSWER_MS_MAX = 1000;

/** A redis-server that answered on a Unix socket. The connection stays open, so that its end is noticed. */
export interface RedisPeer {
  readonly pid: number;
  /** It still loads its data, and therefore rejects commands. */
  readonly loading: boolean;
  /** Resolves when the connection ends, which means that the server has ended. */
  readonly closed: Promise<void>;
  close(): void;
}

/** The body of a RESP bulk string; undefined while it is incomplete. INFO is ASCII, so characters count as bytes. */
function bulkBody(reply: string): string | undefined {
  const [head = '', length] = /^\$(\d+)\r\n/.exec(reply) ?? [];
  const end = head.length + Number(length);
  return length !== undefined && reply.length >= end ? reply.slice(head.length, end) : undefined;
}

/** Connects to a Unix socket and sends INFO. Undefined without a reply of a Redis within a second. Never rejects. */
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
        pid: Number(infoField(info, 'process_id')),
        loading: infoField(info, 'loading') === '1',
        closed,
        close: () => socket.destroy(),
      });
    });
    socket.write('INFO\r\n');
  });
}
