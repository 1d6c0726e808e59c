import http from 'node:http';
import type { Elysia } from 'elysia';
import { VaultError } from './errors.ts';
import { errorResponse } from './plugins/errors.ts';

/** Where and how to listen; `tls` is as Bun takes it. */
export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly tls?: Bun.TLSOptions;
  /** Seconds without traffic after which a connection ends; longer than the slowest reply takes to begin. */
  readonly idleTimeoutSeconds: number;
}

// A passphrase of 4096 characters, percent-encoded, must fit into the head of a request. The runtime reads its
// limit from here, for all its servers.
const HEAD_BYTES_MAX = 65_536;
Reflect.set(http, 'maxHeaderSize', HEAD_BYTES_MAX);

const refuse = (code: 'invalid_request' | 'internal'): Response =>
  errorResponse(new VaultError(code), crypto.randomUUID(), [['Connection', 'close']]);

/**
 * Listens for an application. Instead of the framework's own `listen`, which shares its port with other
 * processes and routes a second time with rules of its own. Body sizes are the routes' to limit: the
 * runtime's limit would answer without a body of ours. A request without a usable Host has no URL: 400.
 */
export const listen = (app: Elysia, options: ListenOptions): Bun.Server<undefined> => {
  const server = Bun.serve({
    hostname: options.hostname,
    port: options.port,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    idleTimeout: options.idleTimeoutSeconds,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    reusePort: false,
    development: false,
    fetch: (request) => (request.url.startsWith('/') ? refuse('invalid_request') : app.fetch(request)),
    error: () => refuse('internal'),
  });
  app.server = server;
  return server;
};
