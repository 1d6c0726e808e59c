import './tracing-channel.ts';
import { createHash } from 'node:crypto';
import Redis, { Cluster } from 'ioredis';
import { StartError, VaultError } from '../../core/errors.ts';
import { type NodeOptions, openCluster } from './cluster.ts';
import { CREDENTIALS_REJECTED, describeConnectionError } from './connection-error.ts';
import { isOwnFault, type ScriptPlace, scriptFault } from './script-fault.ts';
import { createReplicaWait, createSend, type SentReply } from './send.ts';

/** The address of Redis: one server (by URL or Unix socket), or some nodes of a Cluster. */
export type RedisTarget =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'cluster'; readonly urls: readonly string[] };

type Argument = string | number | Uint8Array;

/** A Lua script. It is called by its SHA-1, and sent in full only if Redis does not have it yet. */
export interface Script extends ScriptPlace {
  readonly text: string;
  readonly sha: string;
}

/** Joins the parts of a script; its name is in the first line of the last part, after the flags. */
export function script(...parts: readonly string[]): Script {
  const text = parts.join('\n');
  const [, name = 'script'] = /^(?:#!.*\n)?-- ([a-z-]+)\n/.exec(parts.at(-1) ?? '') ?? [];
  const linesBefore = parts.slice(0, -1).join('\n').split('\n').length;
  return {
    name,
    linesBefore: parts.length > 1 ? linesBefore : 0,
    text,
    sha: createHash('sha1').update(text).digest('hex'),
  };
}

/** The connection of the stores to Redis. It throws a VaultError for every failure that a request may cause. */
export interface RedisLink {
  /** Runs a read-only command; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
  /** Runs a script; binary replies. With replicas configured, it resolves when they have the write, else it throws. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a script whose effects may be lost; binary replies. It does not wait for replicas. */
  runUnreplicated(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a writing command, with the guarantees of `run`. */
  write(name: string, args: readonly Argument[]): Promise<unknown>;
  /** All nodes of a Cluster, including replicas; otherwise the one server. */
  nodes(): readonly RedisNode[];
  /** Whether `nodes` are those of a Cluster. */
  readonly isCluster: boolean;
  isConnected(): boolean;
  close(): Promise<void>;
}

/** One server, for commands that every node must answer. */
export interface RedisNode {
  /** Its address, for operators. */
  readonly name: string;
  /** Whether it is a replica of another node of the Cluster. */
  readonly isReplica: boolean;
  /** Runs a command that names no key; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
}

/** A connection with the client of the library, for the job queue. */
export interface RawRedis {
  readonly client: Redis | Cluster;
  /** Closes the connection permanently, even while Redis is unreachable. */
  close(): void;
}

const UNAVAILABLE =
  /^(OOM|MISCONF|READONLY|LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|NOPERM|NOREPLICAS|BUSY|UNKILLABLE|NOAUTH|WRONGPASS)\b/;

/** Whether Redis forbids or does not know the command. */
export function isForbiddenCommand(error: unknown): boolean {
  return error instanceof Error && /^(NOPERM|ERR unknown command)/.test(error.message);
}

/** The VaultError for a failure of Redis, with the place of a script's failure; an error that is a bug is returned unchanged. */
export function toVaultError(error: unknown, script?: ScriptPlace): unknown {
  if (error instanceof VaultError || !(error instanceof Error)) {
    return error;
  }
  if (error.name !== 'ReplyError') {
    return new VaultError('store_unavailable');
  }
  if (UNAVAILABLE.test(error.message)) {
    return new VaultError('store_unavailable');
  }
  const cause = script && scriptFault(error, script);
  // Scripts only read what our scripts wrote. A value of another type was written by somebody else.
  if (!isOwnFault(error.message) && /WRONGTYPE|not an integer|user_script/.test(error.message)) {
    return new VaultError('integrity_failed', { cause });
  }
  return cause === undefined ? error : new VaultError('internal', { cause });
}

function asArgument(value: Argument): string | number | Buffer {
  if (typeof value !== 'object' || Buffer.isBuffer(value)) {
    return value;
  }
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

function reconnectMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 5), 1_000);
}

const COMMON = {
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

function connect(target: RedisTarget, options: NodeOptions): Redis | Cluster {
  if (target.kind === 'socket') {
    return new Redis({ ...options, path: target.path });
  }
  if (target.kind === 'url') {
    return new Redis(target.url, options);
  }
  return openCluster(target.urls, options);
}

/**
 * Opens a separate connection and does not wait for Redis. With `patient`, commands wait for Redis and may block; otherwise
 * they fail within two seconds. Errors are events of the client.
 */
export function openRawRedis(target: RedisTarget, patient: boolean): RawRedis {
  let isClosed = false;
  const client = connect(target, {
    ...(patient ? PATIENT : COMMON),
    // A client that is closed without a socket would wait for one forever: its next attempt must fail.
    retryStrategy: (times) => (isClosed ? null : reconnectMs(times)),
  });
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
async function waitUntilReady(client: Redis | Cluster, timeoutMs: number): Promise<void> {
  const end = Date.now() + timeoutMs;
  let cause: unknown;
  client.on('error', (error) => {
    cause = error;
  });
  for (;;) {
    try {
      await client.call('PING');
      // Otherwise the first requests would wait for the connections to their nodes.
      const masters = client instanceof Cluster ? client.nodes('master') : [];
      await Promise.allSettled(masters.map((node) => node.ping()));
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

function nodesOf(client: Redis | Cluster): readonly RedisNode[] {
  const node = (redis: Redis, isReplica: boolean): RedisNode => ({
    name: redis.options.path ?? `${redis.options.host}:${redis.options.port}`,
    isReplica,
    async command(name, args) {
      try {
        return await redis.callBuffer(name, ...args.map(asArgument));
      } catch (error) {
        throw name === 'SCAN' && isForbiddenCommand(error) ? error : toVaultError(error);
      }
    },
  });
  return client instanceof Cluster
    ? [
        ...client.nodes('master').map((redis) => node(redis, false)),
        ...client.nodes('slave').map((redis) => node(redis, true)),
      ]
    : [node(client, false)];
}

/** Options of a connection. */
export interface LinkOptions {
  /** How many replicas must confirm a write before it counts as done; 0 = none. */
  readonly replicas: number;
  /** Called with the name of each command and script that has finished or failed. */
  readonly onCall?: (name: string, startedAt: number, hasFailed: boolean) => void;
  /** Called once when the connection is lost, and once when it is restored. */
  readonly onLink?: (state: 'disconnected' | 'reconnected') => void;
}

/** Reports changes of the connection, once each, however many errors belong to one change. */
function watchLink(client: Redis | Cluster, report: LinkOptions['onLink']) {
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

/** Opens a connection and waits until Redis answers. Throws a `StartError` if it does not within 30 s. */
export async function openRedis(target: RedisTarget, options: LinkOptions): Promise<RedisLink> {
  const client = connect(target, COMMON);
  const send = createSend(client);
  await waitUntilReady(client, 30_000);
  const link = watchLink(client, options.onLink);

  const call = async (name: string, args: readonly Argument[], wanted?: Script): Promise<SentReply> => {
    const label = wanted?.name ?? name;
    const startedAt = performance.now();
    try {
      const sent = await send(name, args.map(asArgument));
      options.onCall?.(label, startedAt, false);
      return sent;
    } catch (error) {
      options.onCall?.(label, startedAt, !isUnknownScript(error));
      throw isUnknownScript(error) ? error : toVaultError(error, wanted);
    }
  };
  const evalsha = async (
    wanted: Script,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<SentReply> => {
    const rest = [keys.length, ...keys, ...args];
    try {
      return await call('EVALSHA', [wanted.sha, ...rest], wanted);
    } catch (error) {
      if (!isUnknownScript(error)) {
        throw error;
      }
    }
    return await call('EVAL', [wanted.text, ...rest], wanted);
  };
  const waitForReplicas = createReplicaWait(options.replicas, options.onCall);
  const replicated = async (sent: SentReply): Promise<unknown> => {
    if (options.replicas > 0 && !(await waitForReplicas(sent).catch(() => false))) {
      throw new VaultError('store_unavailable');
    }
    return sent.reply;
  };

  return {
    command: async (name, args) => (await call(name, args)).reply,
    run: async (wanted, keys, args) => replicated(await evalsha(wanted, keys, args)),
    runUnreplicated: async (wanted, keys, args) => (await evalsha(wanted, keys, args)).reply,
    write: async (name, args) => replicated(await call(name, args)),
    nodes: () => nodesOf(client),
    isCluster: client instanceof Cluster,
    isConnected: () => client.status === 'ready',
    close: async () => {
      link.end();
      client.disconnect();
    },
  };
}
