import './tracing-channel.ts';
import Redis, { type Cluster } from 'ioredis';
import { StartError } from '../../core/errors.ts';
import { type NodeOptions, openCluster } from './cluster.ts';

/** The address of Redis: one server (by URL or Unix socket), or some nodes of a Cluster. */
export type RedisTarget =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'cluster'; readonly urls: readonly string[] };

/** A connection with the client of the library, for the job queue. */
export interface RawRedis {
  readonly client: Redis | Cluster;
  /** Closes the connection permanently, even while Redis is unreachable. */
  close(): void;
}

/** The description of a Redis that rejects the user name or password. */
const CREDENTIALS_REJECTED = 'it rejects the user name or password';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; nothing listens on this address',
  ECONNRESET: 'the connection was reset; check that both sides use TLS, or neither',
  ENOENT: 'the socket does not exist',
  EACCES: 'this user has no permission to open the socket',
  ENOTFOUND: 'the host name cannot be resolved',
  ETIMEDOUT: 'the connection timed out',
};

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/**
 * Says why Redis cannot be reached, without address, user name or password. Undefined for an error that only says that
 * there was no reply.
 */
function describeConnectionError(error: unknown): string | undefined {
  const lastNode = member(error, 'lastNodeError');
  if (lastNode !== undefined) {
    return describeConnectionError(lastNode);
  }
  const message = String(member(error, 'message') ?? '');
  if (/\b(NOAUTH|WRONGPASS|NOPERM)\b/.test(message)) {
    return CREDENTIALS_REJECTED;
  }
  if (/^LOADING\b/.test(message)) {
    return 'it is still loading its data';
  }
  const code = member(error, 'code');
  return typeof code === 'string' && /^E?[A-Z_]{3,40}$/.test(code) ? (DESCRIPTIONS[code] ?? code) : undefined;
}

function reconnectMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 5), 1_000);
}

const COMMON = {
  protocol: 2,
  // A command that cannot be sent, or has no reply in time, fails. It is never sent again automatically: a write whose
  // reply was lost may have been executed.
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 2_000,
  connectTimeout: 2_000,
  socketTimeout: 6_000,
  keepAlive: 5_000,
  retryStrategy: reconnectMs,
} satisfies NodeOptions;

/** For blocking commands, of at most ten seconds, that are sent when Redis is reachable again. */
const PATIENT = {
  connectTimeout: COMMON.connectTimeout,
  keepAlive: COMMON.keepAlive,
  maxRetriesPerRequest: null,
  socketTimeout: 15_000,
} satisfies NodeOptions;

/** The address of one server. */
export type ServerTarget = Exclude<RedisTarget, { readonly kind: 'cluster' }>;

/** Opens a connection to one server; it does not wait for Redis. */
export function connectServer(target: ServerTarget, options: NodeOptions = COMMON): Redis {
  return target.kind === 'socket'
    ? new Redis({ ...options, path: target.path })
    : new Redis(target.url, options);
}

/** Opens the connections to a Cluster; it does not wait for them. */
export function connectCluster(urls: readonly string[], options: NodeOptions = COMMON): Cluster {
  return openCluster(urls, options);
}

/** Reports changes of the connection, once each, however many errors belong to one change. */
export function watchLink(
  client: Redis | Cluster,
  report: ((state: 'disconnected' | 'reconnected') => void) | undefined,
) {
  let state: 'reconnected' | 'disconnected' | 'closed' = 'reconnected';
  const change = (to: 'disconnected' | 'reconnected'): void => {
    if (state !== 'closed' && state !== to) {
      state = to;
      report?.(to);
    }
  };
  client.on('close', () => change('disconnected'));
  client.on('ready', () => change('reconnected'));
  return {
    end: () => {
      state = 'closed';
    },
  };
}

/**
 * Opens a separate connection and does not wait for Redis. With `patient`, commands wait for Redis and may block; otherwise
 * they fail within two seconds. Errors are events of the client.
 */
export function openRawRedis(target: RedisTarget, patient: boolean): RawRedis {
  let isClosed = false;
  const options: NodeOptions = {
    ...(patient ? PATIENT : COMMON),
    // A client that is closed without a socket would wait for one forever: its next attempt must fail.
    retryStrategy: (times) => (isClosed ? null : reconnectMs(times)),
  };
  const client =
    target.kind === 'cluster' ? connectCluster(target.urls, options) : connectServer(target, options);
  client.on('error', () => undefined);
  return {
    client,
    close() {
      isClosed = true;
      client.once('ready', () => client.disconnect());
      if (client.status === 'ready') {
        client.disconnect();
      }
    },
  };
}

/**
 * Resolves when Redis answers; retries for `timeoutMs`, then throws a `StartError`. Rejected credentials are not retried.
 */
export async function waitUntilReady(
  client: Redis | Cluster,
  ping: () => Promise<unknown>,
  timeoutMs: number,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  let cause: unknown;
  client.on('error', (error) => {
    cause = error;
  });
  for (;;) {
    try {
      await ping();
      return;
    } catch (error) {
      const reasons = [error, cause].map(describeConnectionError);
      if (Date.now() > end || reasons.includes(CREDENTIALS_REJECTED)) {
        client.disconnect();
        const [ofCommand, ofConnection] = reasons;
        throw new StartError(
          `Redis does not answer: ${ofConnection ?? ofCommand ?? 'no connection'}. Check VAULT_REDIS_URL.`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
