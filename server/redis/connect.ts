import './tracing-channel.ts';
import { rootCertificates } from 'node:tls';
import Redis, { Cluster, type RedisOptions } from 'ioredis';
import StandaloneConnector from 'ioredis/built/connectors/StandaloneConnector';
import { pause } from '../core/concurrency.ts';
import { StartError } from '../core/errors.ts';
import type { RedisCredentials, SentinelGroup } from '../core/settings.ts';
import { describeConnectionError, isLasting } from './connection-error.ts';

/** The library gives clients another type with `replyMapping`, which is not used. */
type NodeOptions = Omit<RedisOptions, 'replyMapping'>;

/** Texts in PEM for TLS: authorities besides the built-in ones, and the certificate of this client with its key. */
export interface TlsFiles {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

interface SentinelTarget extends SentinelGroup {
  readonly kind: 'sentinel';
  readonly tls?: TlsFiles | undefined;
}

/** The nodes of a Cluster that are known from the start; one is enough. */
export interface ClusterTarget {
  readonly kind: 'cluster';
  readonly urls: readonly string[];
  readonly tls?: TlsFiles | undefined;
}

/** The address of Redis: one server (by URL, Unix socket or Sentinels), or some nodes of a Cluster. */
export type RedisTarget =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string; readonly tls?: TlsFiles | undefined }
  | SentinelTarget
  | ClusterTarget;

/** A connection with the client of the library, for the job queue. */
export interface RawRedis {
  readonly client: Redis | Cluster;
  /** Closes the connection permanently, even while Redis is unreachable. */
  close(): void;
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

/**
 * The library's connector of one address or socket, which a failover may move to another server. Once it was connected to a primary, it
 * accepts no replica: reads would be old there, and no write would succeed.
 */
class PrimaryConnector extends StandaloneConnector {
  #hasPrimary = false;

  /** The library passes the options of the client, as `unknown`. */
  constructor(options: unknown) {
    super(options as RedisOptions);
  }

  /** Called by the library with the parsed reply to INFO, before a connection is used. */
  override check(info: { readonly role?: string }): boolean {
    this.#hasPrimary ||= info.role === 'master';
    return !this.#hasPrimary || info.role !== 'slave';
  }
}

export type ServerTarget = Exclude<RedisTarget, ClusterTarget>;

function tlsOptions({ ca, cert, key }: TlsFiles = {}): NonNullable<NodeOptions['tls']> {
  return {
    ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}

/** User name and password as the library takes them; none where the texts are empty. */
function authOptions({ username, password }: RedisCredentials): NodeOptions {
  return { ...(username && { username }), ...(password && { password }) };
}

/** Sends the credentials of the servers to a Sentinel that requires some, if no others are configured. */
function signInToSentinels(client: Redis, { credentials, sentinelCredentials }: SentinelTarget): void {
  client.on('sentinelError', (error: unknown) => {
    if (sentinelCredentials === undefined && String(error).includes('NOAUTH')) {
      client.options.sentinelUsername = credentials.username;
      client.options.sentinelPassword = credentials.password;
    }
  });
}

function connectBySentinels(target: SentinelTarget, options: NodeOptions): Redis {
  const { sentinels, name, database, isTls, credentials, sentinelCredentials } = target;
  const tls = tlsOptions(target.tls);
  const client = new Redis({
    ...options,
    ...authOptions(credentials),
    ...{ sentinels: sentinels.map((sentinel) => ({ ...sentinel })), name, db: database },
    ...(isTls ? { tls, sentinelTLS: tls, enableTLSForSentinelMode: true } : {}),
    ...(sentinelCredentials && {
      sentinelUsername: sentinelCredentials.username,
      sentinelPassword: sentinelCredentials.password,
    }),
    sentinelCommandTimeout: COMMON.commandTimeout,
    sentinelRetryStrategy: options.retryStrategy ?? reconnectMs,
  });
  signInToSentinels(client, target);
  return client;
}

/** Opens a connection to one server; it does not wait for Redis. */
export function connectServer(target: ServerTarget, options: NodeOptions = COMMON): Redis {
  switch (target.kind) {
    case 'socket':
      return new Redis({ ...options, path: target.path, Connector: PrimaryConnector });
    case 'sentinel':
      return connectBySentinels(target, options);
    case 'url': {
      const tls = target.url.startsWith('rediss:') ? { tls: tlsOptions(target.tls) } : {};
      return new Redis(target.url, { ...options, ...tls, Connector: PrimaryConnector });
    }
  }
}

/**
 * Opens a client of a Cluster; it does not wait for Redis. A command whose connection was lost may have been executed and is
 * never sent again. Every failure refreshes the slot table, so that the client finds a promoted replica as soon as the Cluster
 * knows it.
 */
export function connectCluster({ urls, tls }: ClusterTarget, options: NodeOptions = COMMON): Cluster {
  // Nodes that the Cluster announces are reached with the protocol and credentials of the first URL.
  const { protocol, username, password } = new URL(urls[0] ?? '');
  const client = new Cluster([...urls], {
    redisOptions: {
      ...options,
      ...(username ? { username: decodeURIComponent(username) } : {}),
      ...(password ? { password: decodeURIComponent(password) } : {}),
      ...(protocol === 'rediss:' ? { tls: tlsOptions(tls) } : {}),
    },
    // Commands wait while a node is being connected, up to the command timeout.
    enableOfflineQueue: true,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // Certificates are issued for names.
    dnsLookup: (name, done) => done(null, name),
    clusterRetryStrategy: (times) => {
      const pause = options.retryStrategy?.(times);
      return typeof pause === 'number' ? pause : null;
    },
  });
  client.on('node error', () => refreshSlots(client));
  client.on('-node', () => refreshSlots(client));
  return client;
}

/** The shortest time between two refreshes of the slot table, while requests fail. */
const REFRESH_MS = 100;
const refreshed = new WeakMap<Cluster, number>();
const planned = new WeakSet<Cluster>();

/** Refreshes the slot table: now, or after REFRESH_MS if it was refreshed recently. */
export function refreshSlots(client: Cluster): void {
  const pause = (refreshed.get(client) ?? -REFRESH_MS) + REFRESH_MS - performance.now();
  if (client.status !== 'ready' || planned.has(client)) {
    return;
  }
  if (pause > 0) {
    planned.add(client);
    setTimeout(() => {
      planned.delete(client);
      refreshSlots(client);
    }, pause).unref();
    return;
  }
  refreshed.set(client, performance.now());
  client.refreshSlotsCache();
}

function isTlsTarget(target: RedisTarget): boolean {
  switch (target.kind) {
    case 'socket':
      return false;
    case 'sentinel':
      return target.isTls;
    case 'url':
      return target.url.startsWith('rediss:');
    case 'cluster':
      return target.urls[0]?.startsWith('rediss:') === true;
  }
}

/** Opens a connection, without a wait for Redis. With `patient`, commands wait for Redis; otherwise they fail within 2 s. */
export function openRawRedis(target: RedisTarget, patient: boolean): RawRedis {
  let isClosed = false;
  const options: NodeOptions = {
    ...(patient ? PATIENT : COMMON),
    // A client that is closed without a socket would wait for one forever: its next attempt must fail.
    retryStrategy: (times) => (isClosed ? null : reconnectMs(times)),
    // After a failover without a lost connection: the next connection is to the new primary.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  };
  const client = target.kind === 'cluster' ? connectCluster(target, options) : connectServer(target, options);
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

/** The time limits of a start: for Redis to be reachable, and for one that is loading its data. */
const REACHABLE_MS = 6_000;
const LOADED_MS = 30_000;

/** Keeps the reason for a missing connection. A timeout on the last connection is kept when Redis accepts another. */
function rememberErrors(client: Redis | Cluster): () => unknown {
  let cause: unknown;
  client.on('error', (error) => {
    // The error of the last Sentinel is more precise.
    if (!String(error).includes('All sentinels are unreachable')) {
      cause = error;
    }
  });
  client.on('sentinelError', (error) => {
    cause = error;
  });
  client.on('connect', () => {
    if (!/Command timed out|Socket timeout/.test(String(cause))) {
      cause = undefined;
    }
  });
  return () => cause;
}

function unreachable(client: Redis | Cluster, reason: string): StartError {
  client.disconnect();
  const hint = reason.includes('VAULT_') ? '' : ' Check VAULT_REDIS_URL.';
  return new StartError(`Redis does not answer: ${reason}.${hint}`);
}

/** Resolves when Redis answers. Retries temporary failures for 6 s, and for 30 s while Redis loads its data. */
export async function waitUntilReady(
  client: Redis | Cluster,
  ping: () => Promise<unknown>,
  target: RedisTarget,
): Promise<void> {
  const startedAt = Date.now();
  const usesTls = isTlsTarget(target);
  const causeOf = rememberErrors(client);
  for (;;) {
    const failure = await ping().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    const cause = causeOf();
    const reasons = [cause, failure?.error].map((error) => describeConnectionError(error, usesTls));
    const lasting = reasons.find(isLasting);
    if (lasting !== undefined) {
      throw unreachable(client, lasting);
    }
    if (failure === undefined) {
      return;
    }
    const isLoading = cause === undefined && client.status === 'connect';
    if (Date.now() - startedAt > (isLoading ? LOADED_MS : REACHABLE_MS)) {
      const unknown = isLoading ? 'it is still loading its data' : 'it is not ready';
      throw unreachable(client, reasons.find((reason) => reason !== undefined) ?? unknown);
    }
    await pause(20);
  }
}
