/** Third parties on this machine: real TLS servers whose replies a test writes byte by byte. */
import net from 'node:net';
import tls from 'node:tls';
import { createAddressPolicy } from '../../server/outbound/addresses.ts';
import type { OutboundRequest } from '../../server/outbound/call.ts';
import { createOutbound, type Outbound, type OutboundOptions } from '../../server/outbound/https.ts';
import type { Credential } from './certificates.ts';

export interface Target {
  readonly port: number;
  /** TCP connections so far. */
  connections(): number;
  /** Everything that came through TLS, in characters of Latin-1. */
  received(): string;
  /** The name in the handshake and the client's common name, a line per handshake. */
  readonly greetings: string[];
  /** Settles when every connection so far is closed. */
  quiet(): Promise<void>;
  /** Ends what is kept for another request, after time for anything more that may come; then as `quiet`. */
  end(): Promise<void>;
}

export type Answer = (socket: tls.TLSSocket, text: string) => void;

const servers: net.Server[] = [];

async function listen(server: net.Server, host = '127.0.0.1', port = 0): Promise<number> {
  servers.push(server);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, resolve);
  await promise;
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Stops every server of this file. */
export function stopTargets(): void {
  for (const server of servers.splice(0)) {
    server.close();
  }
}

/** Answers each request whose head is complete with the same bytes and leaves the connection open. */
export function always(reply: string | Uint8Array): Answer {
  return (socket) => socket.write(reply);
}

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A TLS server; `answer` is called for each request, when its head is there. */
export async function startTarget(
  { certPem, keyPem }: Credential,
  answer: Answer,
  options: tls.TlsOptions = {},
  host = '127.0.0.1',
): Promise<Target> {
  let received = '';
  const open = new Set<Promise<unknown>>();
  const sockets = new Set<tls.TLSSocket>();
  let connections = 0;
  const greetings: string[] = [];
  const server = tls.createServer({ cert: certPem, key: keyPem, ...options }, (socket) => {
    let text = '';
    let isAnswered = false;
    greetings.push(`${socket.servername || '-'} ${socket.getPeerCertificate()?.subject?.CN ?? '-'}`);
    socket.on('error', () => undefined);
    const closed = Promise.withResolvers<void>();
    open.add(closed.promise);
    sockets.add(socket);
    socket.on('close', () => closed.resolve());
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      text += chunk.toString('latin1');
      const headEnd = text.indexOf('\r\n\r\n');
      if (headEnd >= 0 && !isAnswered) {
        isAnswered = true;
        answer(socket, text);
      }
      const bodyLength = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0);
      if (headEnd >= 0 && text.length >= headEnd + 4 + bodyLength) {
        text = '';
        isAnswered = false;
      }
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.on('tlsClientError', () => undefined);
  const port = await listen(server, host);
  return {
    port,
    greetings,
    connections: () => connections,
    received: () => received,
    quiet: async () => {
      await Promise.all(open);
    },
    end: async () => {
      await Bun.sleep(20);
      for (const socket of sockets) {
        socket.end();
      }
      await Promise.all(open);
    },
  };
}

/** A TCP listener that says what `greet` says and counts who comes. */
export async function startListener(
  greet: (socket: net.Socket) => void = (socket) => socket.destroy(),
  host = '127.0.0.1',
  port = 0,
): Promise<{ readonly port: number; connections(): number }> {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    greet(socket);
  });
  return { port: await listen(server, host, port), connections: () => connections };
}

/** An outbound that may reach this machine and takes every name for it. */
export function localOutbound(options: Partial<OutboundOptions> = {}): Outbound {
  return createOutbound({
    policy: createAddressPolicy({ allow: ['127.0.0.0/8'] }),
    resolve: async () => ['127.0.0.1'],
    ...options,
  });
}

/** A small POST to `target.example` at this port. */
export function postTo(port: number, changes: Partial<OutboundRequest> = {}): OutboundRequest {
  return {
    method: 'POST',
    owner: 'account',
    url: `https://target.example:${port}/pay?x=1`,
    headers: [['X-Key', 'third party key']],
    body: Buffer.from('4111111111111111'),
    deadlineMs: 5000,
    ...changes,
  };
}
