/** Third parties on this machine: real TLS servers whose replies a test writes byte by byte. */
import type net from 'node:net';
import type tls from 'node:tls';
import { createAddressPolicy } from '../../server/outbound/addresses.ts';
import type { OutboundRequest } from '../../server/outbound/call.ts';
import { createOutbound, type Outbound, type OutboundOptions } from '../../server/outbound/https.ts';
import { type SocketServer, startSocketServer } from '../helpers/socket-server.ts';
import { type Credential, newAuthority } from './certificates.ts';

export interface Target extends Pick<SocketServer, 'port' | 'connections' | 'quiet'> {
  /** Everything that came through TLS, in characters of Latin-1. */
  received(): string;
  /** The name in the handshake and the client's common name, a line per handshake. */
  readonly greetings: string[];
  /** Ends what is kept for another request, after time for anything more that may come; then as `quiet`. */
  end(): Promise<void>;
}

export type Answer = (socket: tls.TLSSocket, text: string) => void;

const servers: SocketServer[] = [];

/** Stops every server of this file. */
export function stopTargets(): void {
  for (const server of servers.splice(0)) {
    server.stop();
  }
}

/** Answers each request whose head is complete with the same bytes and leaves the connection open. */
export function always(reply: string | Uint8Array): Answer {
  return (socket) => socket.write(reply);
}

/** The authority that outbounds of the tests trust, and a good certificate of it for `target.example`. */
export const authority = await newAuthority();
export const caPem = authority.pem;
export const good = await authority.issue();

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A TLS server; `answer` is called for each request, when its head is there. */
export async function startTarget(
  { certPem, keyPem }: Credential,
  answer: Answer,
  options: tls.TlsOptions = {},
  host = '127.0.0.1',
): Promise<Target> {
  let received = '';
  const greetings: string[] = [];
  const server = await startSocketServer(
    { host, tls: { cert: certPem, key: keyPem, ...options } },
    (socket: tls.TLSSocket) => {
      let text = '';
      let isAnswered = false;
      greetings.push(`${socket.servername || '-'} ${socket.getPeerCertificate()?.subject?.CN ?? '-'}`);
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
    },
  );
  servers.push(server);
  const { port, connections, quiet } = server;
  return {
    ...{ port, greetings, connections, quiet, received: () => received },
    end: async () => {
      await Bun.sleep(20);
      server.end();
      await quiet();
    },
  };
}

/** A TCP listener that says what `greet` says and counts who comes. */
export async function startListener(
  greet: (socket: net.Socket) => void = (socket) => socket.destroy(),
  host = '127.0.0.1',
  port = 0,
): Promise<SocketServer> {
  const server = await startSocketServer({ host, port }, greet);
  servers.push(server);
  return server;
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
