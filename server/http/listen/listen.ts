import { constants } from 'node:crypto';
import http from 'node:http';
import type { Elysia } from 'elysia';
import { VaultError } from '../../core/errors.ts';
import { errorResponse } from '../reply.ts';
import { createPathTable } from './paths.ts';

/** Where and how to listen; `tls` has Bun's format. */
export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly tls?: Bun.TLSOptions;
  /** Seconds without traffic after which a connection is closed; longer than the slowest reply takes to start. */
  readonly idleTimeoutSeconds: number;
  /** Whether other processes of the same user may listen on the same port; the kernel distributes connections. */
  readonly isShared?: boolean;
  /** Called for every reply: whether it closes its connection. */
  readonly isDraining?: () => boolean;
  /** Called with what the application threw instead of answering, and with the id that the reply has. */
  readonly onError?: (error: unknown, requestId: string) => void;
}

// A passphrase of 4096 characters, percent-encoded, must fit into the head of a request. The runtime reads its
// limit from here, for all its servers.
const HEAD_BYTES_MAX = 65_536;
Reflect.set(http, 'maxHeaderSize', HEAD_BYTES_MAX);

/**
 * What TLS 1.2 may use, best first: forward secrecy and authenticated encryption alone, so no key exchange by static RSA
 * and no CBC. TLS 1.3 has nothing else. The runtime takes neither an older version nor finite-field Diffie-Hellman.
 */
const CIPHERS = ['AES256-GCM-SHA384', 'CHACHA20-POLY1305', 'AES128-GCM-SHA256']
  .flatMap((cipher) => [`ECDHE-ECDSA-${cipher}`, `ECDHE-RSA-${cipher}`])
  .join(':');
/** The order is the server's. */
const TLS_RULES = { ciphers: CIPHERS, secureOptions: constants.SSL_OP_CIPHER_SERVER_PREFERENCE };

/** A year (RFC 6797), without `includeSubDomains`: other hosts are not the vault's to decide about. */
const HSTS = 'max-age=31536000';

function errorReply(error: VaultError, requestId: string = crypto.randomUUID()): Response {
  return errorResponse(error, requestId, [['Connection', 'close']]);
}

/** What health checks may ask for in HTTP/1.0 without a Host, literally: no other path could be read from it. */
const HEALTH_TARGET = /^\/health\/(?:live|ready)\/?$/;

/** A request in HTTP/1.0 for health without a Host, as one with a Host; any other as it is. */
function withHost(request: Request): Request {
  const { url, method, headers } = request;
  return url.startsWith('/') && headers.get('host') === null && HEALTH_TARGET.test(url)
    ? new Request(`http://localhost${url}`, { method, headers })
    : request;
}

/**
 * What is wrong with the head of a request that the runtime lets through: a Host that is none, or several fields of a name
 * that must stand once, which it joins with commas. A front end could take the other one.
 */
function faultOf({ url, headers }: Request): VaultError | undefined {
  if (url.startsWith('/') || headers.get('host')?.includes(',') === true) {
    return new VaultError('invalid_request', { field: 'header.Host', expected: 'must be one host' });
  }
  return headers.get('content-length')?.includes(',') === true
    ? new VaultError('invalid_request', { field: 'header.Content-Length', expected: 'must be one number' })
    : undefined;
}

/** Headers of every reply on a socket: they depend on the connection, not on the request. */
function createFinish({ tls, isDraining }: ListenOptions) {
  return (response: Response): Response => {
    if (tls !== undefined) {
      response.headers.set('Strict-Transport-Security', HSTS);
    }
    if (isDraining?.() === true) {
      response.headers.set('Connection', 'close');
    }
    return response;
  };
}

/** The runtime has the time in every reply but that to HEAD (RFC 9110, 6.6.1). */
function withDate(response: Response): Response {
  response.headers.set('Date', new Date().toUTCString());
  return response;
}

/**
 * Listens for an application, instead of the framework's own `listen`, which always shares its port with other
 * processes and routes a second time with its own rules. The routes limit body sizes, because the runtime's limit
 * would answer without our error body. A request whose path or head can be read in two ways is refused before it is routed,
 * and its connection closed.
 */
export function listen(app: Elysia, options: ListenOptions): Bun.Server<undefined> {
  const finish = createFinish(options);
  const finishHead = (response: Response): Response => finish(withDate(response));
  const serve = (arrived: Request): Response | Promise<Response> => {
    const request = withHost(arrived);
    const fault = faultOf(request);
    if (fault !== undefined) {
      return finish(errorReply(fault));
    }
    const reply: Response | Promise<Response> = app.fetch(request);
    const last = request.method === 'HEAD' ? finishHead : finish;
    return reply instanceof Promise ? reply.then(last) : last(reply);
  };
  const refuse = (): Response => finish(errorReply(new VaultError('path_invalid')));
  const server = Bun.serve({
    hostname: options.hostname,
    port: options.port,
    ...(options.tls === undefined ? {} : { tls: { ...options.tls, ...TLS_RULES } }),
    idleTimeout: options.idleTimeoutSeconds,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    reusePort: options.isShared === true,
    development: false,
    routes: createPathTable(
      app.routes.map(({ path }) => path),
      serve,
      refuse,
    ),
    fetch: serve,
    error: (error) => {
      const requestId = crypto.randomUUID();
      options.onError?.(error, requestId);
      return finish(errorReply(new VaultError('internal'), requestId));
    },
  });
  app.server = server;
  return server;
}

/**
 * How long replies end their connections before the socket closes: a connection that is used more often than that is
 * never cut off between two requests. Milliseconds.
 */
const LAST_REPLIES_MS = 500;

/** A socket that accepts connections, until it is closed. */
export interface Listener {
  readonly port: number;
  /** From now on every reply ends its connection. New connections are still accepted. */
  readonly startDraining: () => void;
  /** Drains, stops accepting, and resolves when every request in flight is answered and no connection is left. */
  readonly close: () => Promise<void>;
}

/**
 * Listens on a port that other servers may share. Throws the system's error when the address cannot be listened on.
 * A connection that the kernel has completed and the runtime has not accepted when the socket closes is reset, unless
 * `net.ipv4.tcp_migrate_req` lets the kernel hand it to another server on the port.
 */
export function openListener(app: Elysia, options: ListenOptions): Listener {
  let isDraining = false;
  const server = listen(app, { ...options, isShared: true, isDraining: () => isDraining });
  const startDraining = (): void => {
    isDraining = true;
  };
  return {
    port: server.port ?? options.port,
    startDraining,
    close: async () => {
      startDraining();
      await Bun.sleep(LAST_REPLIES_MS);
      await server.stop();
    },
  };
}
