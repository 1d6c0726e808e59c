/** A third party that mostly fails, in ways that are settled beforehand, and notes what came of each request. */
import type net from 'node:net';
import tls from 'node:tls';
import { thirdPartyTrust } from '../helpers/third-party.ts';
import { createRequestReader, headerOf, type WireRequest } from '../helpers/wire.ts';

/** What the third party does with one request. */
export interface Move {
  /** `reset` and `cut` break off, without a reply and inside one; `hold` never says anything. */
  readonly kind: 'reply' | 'reset' | 'cut' | 'hold';
  readonly status?: number;
  readonly headers?: readonly string[];
  readonly body?: string;
  /** How long it takes before it does that. */
  readonly afterMs?: number;
}

/** One request that was read whole, and its end as the third party knows it. */
export interface Arrival {
  readonly path: string;
  /** Counts the requests to this path, from 1. */
  readonly n: number;
  readonly request: WireRequest;
  readonly header: (name: string) => string | undefined;
  /** Milliseconds on the clock of `performance.now`, like every time here. */
  readonly at: number;
  readonly move: Move;
  /** When a whole reply had been written; undefined when there was none. */
  repliedAt?: number;
}

/** A third party on 127.0.0.1. */
export interface Party {
  readonly url: (path: string) => string;
  readonly arrivals: readonly Arrival[];
  /** Connections that it cut before anything was said. */
  readonly refused: () => number;
  /** Resolves with the next request that is read whole, or with the next reply that is written. */
  readonly next: (what: 'request' | 'reply') => Promise<void>;
  readonly stop: () => void;
}

/** Has others wait for the next time that something happens. */
export interface Bell {
  readonly next: () => Promise<void>;
  readonly ring: () => void;
}

/** A bell that has not rung yet. */
export function createBell(): Bell {
  let bell = Promise.withResolvers<void>();
  return {
    next: () => bell.promise,
    ring: () => {
      bell.resolve();
      bell = Promise.withResolvers();
    },
  };
}

function replyText({ status = 200, headers = [], body = '' }: Move): string {
  return [
    `HTTP/1.1 ${status} Status`,
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

function answer(socket: tls.TLSSocket, arrival: Arrival, ring: () => void): void {
  const { move } = arrival;
  if (socket.destroyed || move.kind === 'hold') {
    return;
  }
  if (move.kind === 'reset') {
    socket.destroy();
  } else if (move.kind === 'cut') {
    const text = replyText(move);
    socket.end(text.slice(0, -1));
  } else {
    socket.write(replyText(move), (error) => {
      if (!error) {
        arrival.repliedAt = performance.now();
        ring();
      }
    });
  }
}

/** Starts a third party that does as `decide` says, and cuts each connection that `refuses` says so of. */
export async function startParty(
  decide: (path: string, n: number) => Move,
  refuses: () => boolean = () => false,
): Promise<Party> {
  const { credential } = await thirdPartyTrust();
  const arrivals: Arrival[] = [];
  const counts = new Map<string, number>();
  const sockets = new Set<net.Socket>();
  const bells = { request: createBell(), reply: createBell() };
  let refused = 0;

  const receive = (socket: tls.TLSSocket, request: WireRequest): void => {
    const { path } = request;
    const n = (counts.get(path) ?? 0) + 1;
    counts.set(path, n);
    const move = decide(path, n);
    const header = (name: string): string | undefined => headerOf(request, name);
    const arrival: Arrival = { path, n, request, header, at: performance.now(), move };
    arrivals.push(arrival);
    setTimeout(answer, move.afterMs ?? 0, socket, arrival, bells.reply.ring);
    bells.request.ring();
  };
  const server = tls.createServer({ cert: credential.certPem, key: credential.keyPem }, (socket) => {
    const read = createRequestReader();
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const request of read(chunk)) {
        receive(socket, request);
      }
    });
  });
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (refuses()) {
      refused += 1;
      socket.destroy();
    }
  });
  server.on('tlsClientError', () => undefined);
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: (path) => `https://127.0.0.1:${port}${path}`,
    arrivals,
    refused: () => refused,
    next: (what) => bells[what].next(),
    stop: () => {
      server.close();
      for (const socket of sockets) {
        socket.destroy();
      }
    },
  };
}
