/** Third parties on this machine: HTTPS servers that a test scripts call by call, and asks what they received. */
import type tls from 'node:tls';
import { type Authority, type Credential, newAuthority } from '../outbound/certificates.ts';
import { startSocketServer } from './socket-server.ts';
import { createRequestReader, headerOf, type WireRequest } from './wire.ts';

/** A request that a third party received. */
export interface Received extends WireRequest {
  /** The body as UTF-8. */
  readonly text: string;
  readonly header: (name: string) => string | undefined;
  /** The common name of the client's certificate, where one was shown that the server trusts. */
  readonly client: string | undefined;
  /** Milliseconds on the clock of `performance.now`. */
  readonly at: number;
}

/** A reply of a third party. */
export interface PartyReply {
  readonly status?: number;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Uint8Array;
  /** The body is sent over and over until the other side has enough. */
  readonly endless?: boolean;
  /** The head promises one byte more than the body has: then the connection is cut, or held open. */
  readonly unfinished?: 'cut' | 'held';
  /** Called when a whole reply has been written. */
  readonly onWritten?: () => void;
}

/**
 * The reaction of a third party to a request: a reply, a bare status, `reset` (the connection is cut after the request
 * was read), or the result of a function.
 */
export type Act = number | PartyReply | 'reset' | ((request: Received) => Act | Promise<Act>);

/** Reads a request and never says anything. */
export const SILENT: Act = () => new Promise<never>(() => undefined);

/** A third party that runs. */
export interface ThirdParty {
  readonly port: number;
  /** The https URL of a path. */
  readonly url: (path: string) => string;
  /** One act for each request to a path; the last one for all that follow. Paths without a script answer 404. */
  readonly script: (path: string, ...acts: Act[]) => void;
  /** The requests to a path so far. */
  readonly calls: (path: string) => readonly Received[];
  /** The n-th request to a path, counted from 1, as soon as it is there. */
  readonly call: (path: string, n?: number) => Promise<Received>;
  /** TCP connections so far. */
  readonly connections: () => number;
  /** Closes the next connections before a byte was sent on them. */
  readonly refuse: (connections: number) => void;
  readonly stop: () => void;
}

/** The tests' own certificate authority, and a server's credential for `localhost` and 127.0.0.1. */
interface Trust {
  readonly authority: Authority;
  readonly credential: Credential;
}

let trust: Promise<Trust> | undefined;

async function newTrust(): Promise<Trust> {
  const authority = await newAuthority('Third Party Root');
  const names = [
    { type: 'dns', value: 'localhost' },
    { type: 'ip', value: '127.0.0.1' },
  ] as const;
  return { authority, credential: await authority.issue({ subject: 'CN=third party', names }) };
}

/** The trust that all third parties of this process share. */
export function thirdPartyTrust(): Promise<Trust> {
  trust ??= newTrust();
  return trust;
}

/** A third party whose act waits until the test lets it go on. */
export interface Gate {
  readonly act: (then: Act) => Act;
  readonly open: () => void;
}

/** A gate that is closed; every act behind it waits. */
export function createActGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    act: (then) => async () => {
      await promise;
      return then;
    },
    open: () => resolve(),
  };
}

function headOf({ status = 200, headers = [] }: PartyReply, framing: string): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} Status`, ...lines, framing, '', ''].join('\r\n');
}

function writeEndless(socket: tls.TLSSocket, piece: Uint8Array): void {
  const more = (): void => {
    while (!socket.destroyed && socket.writable && socket.write(piece)) {
      // The socket takes more.
    }
  };
  socket.on('drain', more);
  more();
}

function writeReply(socket: tls.TLSSocket, request: Received, reply: PartyReply): void {
  const body = Buffer.from(reply.body ?? '');
  if (reply.endless === true) {
    socket.write(Buffer.from(headOf(reply, 'Connection: close'), 'latin1'));
    writeEndless(socket, body);
    return;
  }
  const { unfinished } = reply;
  const shown = request.method === 'HEAD' ? Buffer.alloc(0) : body;
  const length = body.length + (unfinished === undefined ? 0 : 1);
  const head = Buffer.from(headOf(reply, `Content-Length: ${length}`), 'latin1');
  socket.write(Buffer.concat([head, shown]), (error) => {
    if (!error && unfinished === undefined) {
      reply.onWritten?.();
    }
  });
  if (unfinished === 'held') {
    return;
  }
  if (unfinished === 'cut' || request.header('connection')?.toLowerCase() === 'close') {
    socket.end();
  }
}

async function settle(request: Received, act: Act): Promise<PartyReply | 'reset'> {
  const result = typeof act === 'function' ? await act(request) : act;
  if (typeof result === 'function') {
    return settle(request, result);
  }
  return typeof result === 'number' ? { status: result } : result;
}

function clientOf(socket: tls.TLSSocket): string | undefined {
  return socket.authorized ? String(socket.getPeerCertificate().subject.CN) : undefined;
}

interface Watcher {
  readonly path: string;
  readonly n: number;
  readonly tell: (request: Received) => void;
}

/** Records received requests and wakes the callers that wait for one. */
function createRecord() {
  const received: Received[] = [];
  const watchers = new Set<Watcher>();
  const calls = (path: string): Received[] => received.filter((request) => request.path === path);
  return {
    calls,
    add(request: Received): void {
      received.push(request);
      for (const watcher of watchers) {
        const found = watcher.path === request.path ? calls(watcher.path)[watcher.n - 1] : undefined;
        if (found !== undefined) {
          watchers.delete(watcher);
          watcher.tell(found);
        }
      }
    },
    call(path: string, n: number): Promise<Received> {
      const found = calls(path)[n - 1];
      if (found !== undefined) {
        return Promise.resolve(found);
      }
      const { promise, resolve } = Promise.withResolvers<Received>();
      watchers.add({ path, n, tell: resolve });
      return promise;
    },
  };
}

/** Options of a third party, in addition to those of its TLS server. */
export interface PartyOptions extends tls.TlsOptions {
  /** A free one when left out. */
  readonly port?: number;
  /** Reaction to paths without a script; 404 by default. */
  readonly otherwise?: Act;
  /** Asked at each connection: whether it is closed before a byte was sent on it. */
  readonly refuses?: () => boolean;
}

/** Starts a third party on 127.0.0.1. */
export async function startThirdParty(options: PartyOptions = {}): Promise<ThirdParty> {
  const { port = 0, otherwise = 404, refuses, ...own } = options;
  const { credential } = await thirdPartyTrust();
  const scripts = new Map<string, Act[]>();
  const record = createRecord();
  let refused = 0;

  const nextAct = (path: string): Act => {
    const acts = scripts.get(path) ?? [];
    return (acts.length > 1 ? acts.shift() : acts[0]) ?? otherwise;
  };
  const answer = async (socket: tls.TLSSocket, request: Received): Promise<void> => {
    const reply = await settle(request, nextAct(request.path));
    if (reply === 'reset') {
      socket.destroy();
    } else if (!socket.destroyed) {
      writeReply(socket, request, reply);
    }
  };
  const serve = (socket: tls.TLSSocket): void => {
    const read = createRequestReader();
    socket.on('data', (chunk: Buffer) => {
      for (const wire of read(chunk)) {
        const request: Received = {
          ...wire,
          text: wire.body.toString(),
          header: (name) => headerOf(wire, name),
          client: clientOf(socket),
          at: performance.now(),
        };
        // The act is taken before the request is recorded, so that a script may be changed from then on.
        const answered = answer(socket, request);
        record.add(request);
        answered.catch(() => socket.destroy());
      }
    });
  };
  const isRefused = (): boolean => {
    refused -= 1;
    return refused >= 0 || refuses?.() === true;
  };
  const server = await startSocketServer(
    { port, refuses: isRefused, tls: { cert: credential.certPem, key: credential.keyPem, ...own } },
    serve,
  );
  return {
    ...{ port: server.port, connections: server.connections, stop: server.stop },
    url: (path) => `https://127.0.0.1:${server.port}${path}`,
    script: (path, ...acts) => void scripts.set(path, acts),
    calls: record.calls,
    call: (path, n = 1) => record.call(path, n),
    refuse: (count) => {
      refused = count;
    },
  };
}
