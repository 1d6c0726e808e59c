/** A connection that is kept for one request after the other, and tells exactly how each one ended. */
import { connect, type Socket } from 'node:net';

export interface Reply {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** One HTTP/1.1 caller on a port of this machine, which opens connections as it needs them. */
export interface Caller {
  /**
   * Sends a request and gives its reply. Rejects when the connection ends before the reply has: nothing is sent a
   * second time.
   */
  readonly send: (method: string, path: string, headers: string, body?: string) => Promise<Reply>;
  /** Connections begun so far. */
  readonly connections: () => number;
  readonly end: () => void;
}

/** A whole reply at the beginning of what has come; lengths in bytes, as latin1 has one character for each. */
function parseReply(text: string): Reply | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) {
    return undefined;
  }
  const head = text.slice(0, end);
  const rest = text.slice(end + 4);
  const status = Number(head.split(' ')[1]);
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) {
    return rest.length < Number(length) ? undefined : { status, head, body: rest.slice(0, Number(length)) };
  }
  return /^transfer-encoding: chunked/im.test(head) && !rest.endsWith('0\r\n\r\n')
    ? undefined
    : { status, head, body: rest };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.setEncoding('latin1');
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

function exchange(socket: Socket, request: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let text = '';
    const settle = (act: () => void): void => {
      socket.off('data', take).off('error', fail).off('close', fail);
      act();
    };
    const take = (chunk: string): void => {
      text += chunk;
      const reply = parseReply(text);
      if (reply !== undefined) {
        settle(() => resolve(reply));
      }
    };
    const fail = (error?: unknown): void =>
      settle(() =>
        reject(new Error(`the connection ended (${error instanceof Error ? error.message : 'closed'})`)),
      );
    socket.on('data', take).on('error', fail).on('close', fail);
    socket.write(request);
  });
}

export function createCaller(port: number): Caller {
  let socket: Socket | undefined;
  let opened = 0;
  const drop = (): void => {
    socket?.destroy();
    socket = undefined;
  };
  const fresh = async (): Promise<Socket> => {
    // One that is reset before it is there counts: the kernel had completed it for a socket that was just closed.
    opened += 1;
    const made = await open(port);
    made.on('error', () => undefined);
    // What the server has ended between two requests is not used for the next one.
    made.on('end', () => made === socket && drop());
    made.on('close', () => made === socket && drop());
    socket = made;
    return made;
  };
  return {
    async send(method, path, headers, body = '') {
      const used = socket ?? (await fresh());
      const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
      const reply = await exchange(
        used,
        `${method} ${path} HTTP/1.1\r\nHost: vault.test\r\n${headers}${length}\r\n${body}`,
      );
      if (/^connection: close/im.test(reply.head)) {
        drop();
      }
      return reply;
    },
    connections: () => opened,
    end: drop,
  };
}
