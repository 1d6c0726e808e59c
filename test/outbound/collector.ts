/** A collector of syslog messages on loopback. */
import type { Socket } from 'node:net';
import { startSocketServer } from '../helpers/socket-server.ts';
import type { Credential } from './certificates.ts';

export interface Collector {
  readonly port: number;
  /** All that came, over any connection. */
  readonly received: () => string;
  readonly whenReceived: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** What it does; by default it reads everything, and closes when the sender does. */
export interface Manners {
  readonly tls?: Credential;
  readonly onConnection?: (socket: Socket) => void;
  readonly onData?: (socket: Socket) => void;
  readonly onEnd?: (socket: Socket) => unknown;
}

export async function startCollector(manners: Manners = {}): Promise<Collector> {
  const { tls, onConnection, onData, onEnd = (socket: Socket) => socket.end() } = manners;
  const { promise, resolve } = Promise.withResolvers<void>();
  let text = '';
  const take = (socket: Socket): void => {
    socket.on('data', (bytes) => {
      text += String(bytes);
      resolve();
      onData?.(socket);
    });
    socket.on('end', () => onEnd(socket));
    onConnection?.(socket);
  };
  const credential = tls && { cert: tls.certPem, key: tls.keyPem };
  const { port, stop, quiet } = await startSocketServer(
    { host: 'localhost', allowHalfOpen: true, tls: credential },
    take,
  );
  return {
    ...{ port, received: () => text, whenReceived: () => promise },
    stop: async () => {
      stop();
      await quiet();
    },
  };
}

/** The texts of counted frames; rejects a frame that is cut, or anything between them. */
export function textsOf(frames: string): readonly string[] {
  const texts: string[] = [];
  for (let at = 0; at < frames.length; ) {
    const space = frames.indexOf(' ', at);
    const end = space + 1 + Number(frames.slice(at, space));
    if (!(end <= frames.length)) {
      throw new Error(`no frame at ${at}`);
    }
    const message = frames.slice(space + 1, end);
    texts.push(message.slice(message.indexOf(' audit - ') + 9));
    at = end;
  }
  return texts;
}
