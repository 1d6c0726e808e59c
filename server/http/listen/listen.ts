import { constants } from 'node:crypto';
import http from 'node:http';
import type { Elysia } from 'elysia';
import { VaultError } from '../../core/errors.ts';
import { errorResponse } from '../reply.ts';
import { createPathTable } from './paths.ts';

/** Options of a listener; `tls` has Bun's format. */
export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly tls?: Bun.TLSOptions;
  /** Seconds without traffic after which a connection is closed; longer than the start of the slowest reply. */
  readonly idleTimeoutSeconds: number;
  /** True if other processes of the same user can listen on the port; the kernel distributes connections. */
  readonly isShared?: boolean;
  /** Called for every reply; true closes its connection. */
  readonly isDraining?: () => boolean;
  /** Called with an error that the application threw, and the request id of the reply. */
  readonly onError?: (error: unknown, requestId: string) => void;
}

// A percent-encoded passphrase of 4096 characters must fit into the head of a request. The runtime reads the limit for all
// its servers from this property.
const HEAD_BYTES_MAX = 65_536;
Reflect.set(http, 'maxHeaderSize', HEAD_BYTES_MAX);

/** Ciphers of TLS 1.2, best first: forward secrecy and authenticated encryption only. TLS 1.3 has nothing else. */
const CIPHERS = ['AES256-GCM-SHA384', 'CHACHA20-POLY1305', 'AES128-GCM-SHA256']
  .flatMap((cipher) => [`ECDHE-ECDSA-${cipher}`, `ECDHE-RSA-${cipher}`])
  .join(':');
const TLS_RULES = { ciphers: CIPHERS, secureOptions: constants.SSL_OP_CIPHER_SERVER_PREFERENCE };

/** A year (RFC 6797), without `includeSubDomains`: other hosts do not belong to the vault. */
const HSTS = 'max-age=31536000';

function errorReply(error: VaultError, { url }: { readonly url: string }, requestId = crypto.randomUUID()) {
  return errorResponse(error, requestId, URL.parse(url)?.pathname ?? url, [['Connection', 'close']]);
}

/** Paths that health checks may request in HTTP/1.0 without a Host. */
const HEALTH_TARGET = /^\/health\/(?:live|ready)\/?$/;

/** An error that the application threw has lost its request. */
const NO_PATH = { url: '' };

/** Adds a Host to a health check in HTTP/1.0; returns any other request unchanged. */
function withHost(request: Request): Request {
  const { url, method, headers } = request;
  return url.startsWith('/') && headers.get('host') === null && HEALTH_TARGET.test(url)
    ? new Request(`http://localhost${url}`, { method, headers })
    : request;
}

/** Finds an invalid Host, or a repeated header of which a front end could read another value: the runtime joins them. */
function faultOf({ url, headers }: Request): VaultError | undefined {
  if (url.startsWith('/') || headers.get('host')?.includes(',') === true) {
    return new VaultError('invalid_request', { field: 'header.Host', expected: 'must be one host' });
  }
  return headers.get('content-length')?.includes(',') === true
    ? new VaultError('invalid_request', { field: 'header.Content-Length', expected: 'must be one number' })
    : undefined;
}

/**
 * Listens for an application, instead of the framework's `listen`, which always shares its port with other processes and
 * routes a second time with other rules. The routes limit body sizes, because the runtime's limit would reply without our
 * error body. A request with an ambiguous path or head is rejected before it is routed, and its connection closed.
 */
export function listen(app: Elysia, options: ListenOptions): Bun.Server<undefined> {
  const finish = (response: Response): Response => {
    if (options.tls !== undefined) {
      response.headers.set('Strict-Transport-Security', HSTS);
    }
    if (options.isDraining?.() === true) {
      response.headers.set('Connection', 'close');
    }
    return response;
  };
  // The runtime adds the time to every reply but that to HEAD (RFC 9110, 6.6.1).
  const finishHead = (response: Response): Response => {
    response.headers.set('Date', new Date().toUTCString());
    return finish(response);
  };
  const serve = (arrived: Request): Response | Promise<Response> => {
    const request = withHost(arrived);
    const fault = faultOf(request);
    if (fault !== undefined) {
      return finish(errorReply(fault, request));
    }
    const reply: Response | Promise<Response> = app.fetch(request);
    const last = request.method === 'HEAD' ? finishHead : finish;
    return reply instanceof Promise ? reply.then(last) : last(reply);
  };
  const reject = (request: Request): Response => finish(errorReply(new VaultError('path_invalid'), request));
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
      reject,
    ),
    fetch: serve,
    error: (error) => {
      const requestId = crypto.randomUUID();
      options.onError?.(error, requestId);
      return finish(errorReply(new VaultError('internal'), NO_PATH, requestId));
    },
  });
  app.server = server;
  return server;
}

/** Milliseconds before the socket closes in which replies end their connections, so that busy ones are not cut off. */
const LAST_REPLIES_MS = 500;

export interface Listener {
  readonly port: number;
  /** Makes every reply end its connection. New connections are still accepted. */
  readonly startDraining: () => void;
  /** Drains, stops accepting, and resolves when no request is in flight and no connection is left. */
  readonly close: () => Promise<void>;
}

/**
 * Listens on a port that other servers may share. Throws the system's error for an unusable address. A connection that the
 * kernel has completed and the runtime has not accepted when the socket closes is reset, unless
 * `net.ipv4.tcp_migrate_req` lets the kernel pass it to another server on the port.
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
