import './tracing-channel.ts';
import { createHash } from 'node:crypto';
import Redis, { Cluster } from 'ioredis';
import { StartError, VaultError } from '../../core/errors.ts';
import { type NodeOptions, openCluster } from './cluster.ts';
import { isOwnFault, type ScriptPlace, scriptFault } from './script-fault.ts';
import { REFUSED, silenceOf } from './silence.ts';
import { type Answered, createSend, createWaiting } from './wire.ts';

/** Where the Redis is: one server (by URL or unix socket) or the nodes of a Cluster. */
export type RedisTarget =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'cluster'; readonly urls: readonly string[] };

type Argument = string | number | Uint8Array;

/** A Lua script that is called by its SHA-1, and sent whole only where Redis does not know it yet. */
export interface Script extends ScriptPlace {
  readonly text: string;
  readonly sha: string;
}

/** A script of one or more parts; its name is the first line of the last one, behind its flags. */
export const script = (...parts: readonly string[]): Script => {
  const text = parts.join('\n');
  const [, name = 'script'] = /^(?:#!.*\n)?-- ([a-z-]+)\n/.exec(parts.at(-1) ?? '') ?? [];
  const linesBefore = parts.slice(0, -1).join('\n').split('\n').length;
  return {
    name,
    linesBefore: parts.length > 1 ? linesBefore : 0,
    text,
    sha: createHash('sha1').update(text).digest('hex'),
  };
};

/** The one connection to Redis; every failure that a caller can meet comes out as a VaultError. */
export interface RedisLink {
  /** Runs a read-only command; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
  /** Runs a script; binary replies. With replicas configured, resolves only when they have the write too. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a script whose effects may be lost; binary replies. No replica is waited for. */
  note(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a writing command, like `run`. */
  write(name: string, args: readonly Argument[]): Promise<unknown>;
  /** Every node of a Cluster, replicas too, each with commands of its own; else the one server. */
  nodes(): readonly RedisNode[];
  /** Whether it is a Cluster, which has replicas among its nodes. */
  readonly isCluster: boolean;
  isConnected(): boolean;
  close(): Promise<void>;
}

/** One server behind a connection, for what has to be asked of each. */
export interface RedisNode {
  /** Its address, for people. */
  readonly name: string;
  /** Whether it follows another node of its Cluster. */
  readonly isReplica: boolean;
  /** Runs a command that names no key; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
}

/** A connection for code that knows Redis itself, such as the job queue. */
export interface RawRedis {
  readonly client: Redis | Cluster;
  /** Closes the connection for good, also while Redis is away. */
  close(): void;
}

const UNAVAILABLE =
  /^(OOM|MISCONF|READONLY|LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|NOPERM|NOREPLICAS|BUSY|UNKILLABLE|NOAUTH|WRONGPASS)\b/;

/** Whether Redis does not let us give this command at all. */
export const isRefusedCommand = (error: unknown): boolean =>
  error instanceof Error && /^(NOPERM|ERR unknown command)/.test(error.message);

/** What a failure of Redis is for a caller; that of a script names its place. */
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
  // A script meets only what our scripts wrote. What it cannot work with was put there by somebody else.
  if (!isOwnFault(error.message) && /WRONGTYPE|not an integer|user_script/.test(error.message)) {
    return new VaultError('integrity_failed', { cause });
  }
  return cause === undefined ? error : new VaultError('internal', { cause });
}

const asArgument = (value: Argument): string | number | Buffer =>
  value instanceof Uint8Array && !Buffer.isBuffer(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : (value as string | number | Buffer);

const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT');

const reconnectMs = (times: number): number => Math.min(50 * 2 ** Math.min(times, 5), 1_000);

const COMMON = {
  // A command that cannot be sent, or is not answered in time, fails; it is never sent a second time behind
  // the caller's back, since a write whose reply was lost may have happened.
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 2_000,
  connectTimeout: 2_000,
  socketTimeout: 6_000,
  keepAlive: 5_000,
  retryStrategy: reconnectMs,
} satisfies NodeOptions;

/** For commands that wait for something to come, ten seconds at most, and outlast an absence of Redis. */
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
 * Opens a connection of its own and does not wait for Redis. `patient`: commands wait for Redis and may block;
 * else they fail within two seconds. Errors are told to whoever listens on the client.
 */
export function openRawRedis(target: RedisTarget, patient: boolean): RawRedis {
  let isClosed = false;
  const client = connect(target, {
    ...(patient ? PATIENT : COMMON),
    // A client that is closed while it has no socket would wait for one for ever: it has to fail once more.
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
 * Resolves when Redis answers, and keeps trying until then or until `timeoutMs` have passed. Who is refused for the
 * password is not let in later either. Rejects with a `StartError`.
 */
async function untilReady(client: Redis | Cluster, timeoutMs: number): Promise<void> {
  const end = Date.now() + timeoutMs;
  let cause: unknown;
  client.on('error', (error) => {
    cause = error;
  });
  for (;;) {
    try {
      await client.call('PING');
      // Else the first requests would wait for the connections to the nodes that they need.
      const masters = client instanceof Cluster ? client.nodes('master') : [];
      await Promise.allSettled(masters.map((node) => node.ping()));
      return;
    } catch (error) {
      const reasons = [error, cause].map(silenceOf);
      if (Date.now() > end || reasons.includes(REFUSED)) {
        client.disconnect();
        const [ofCommand, ofConnection] = reasons;
        throw new StartError(
          `Redis does not answer: ${ofConnection ?? ofCommand ?? 'no connection'}. See VAULT_REDIS_URL.`,
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
        throw name === 'SCAN' && isRefusedCommand(error) ? error : toVaultError(error);
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

/** Opens a connection and waits until Redis answers. */
export async function openRedis(target: RedisTarget, options: LinkOptions): Promise<RedisLink> {
  const client = connect(target, COMMON);
  const send = createSend(client);
  await untilReady(client, 30_000);
  const watched = watchLink(client, options.onLink);

  const call = async (name: string, args: readonly Argument[], wanted?: Script): Promise<Answered> => {
    const label = wanted?.name ?? name;
    const startedAt = performance.now();
    try {
      const answered = await send(name, args.map(asArgument));
      options.onCall?.(label, startedAt, false);
      return answered;
    } catch (error) {
      options.onCall?.(label, startedAt, !isUnknownScript(error));
      throw isUnknownScript(error) ? error : toVaultError(error, wanted);
    }
  };
  const evalsha = async (
    wanted: Script,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<Answered> => {
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
  const areWritten = createWaiting(options.replicas, options.onCall);
  const replicated = async (answered: Answered): Promise<unknown> => {
    if (options.replicas > 0 && !(await areWritten(answered).catch(() => false))) {
      throw new VaultError('store_unavailable');
    }
    return answered.reply;
  };

  return {
    command: async (name, args) => (await call(name, args)).reply,
    run: async (wanted, keys, args) => replicated(await evalsha(wanted, keys, args)),
    note: async (wanted, keys, args) => (await evalsha(wanted, keys, args)).reply,
    write: async (name, args) => replicated(await call(name, args)),
    nodes: () => nodesOf(client),
    isCluster: client instanceof Cluster,
    isConnected: () => client.status === 'ready',
    close: async () => {
      watched.end();
      client.disconnect();
    },
  };
}

/** Reads a reply part as bytes; anything else is a record that was tampered with. */
export function bytes(part: unknown): Buffer {
  if (Buffer.isBuffer(part)) {
    return part;
  }
  throw new VaultError('integrity_failed');
}

/** Reads a reply part as text. */
export const text = (part: unknown): string =>
  typeof part === 'string' ? part : bytes(part).toString('utf8');

/** Reads a reply part as a number. */
export function count(part: unknown): number {
  const value = typeof part === 'number' ? part : Number(text(part));
  if (Number.isFinite(value)) {
    return value;
  }
  throw new VaultError('integrity_failed');
}

/** Reads a reply as a list. */
export function list(part: unknown): readonly unknown[] {
  if (Array.isArray(part)) {
    return part;
  }
  throw new VaultError('integrity_failed');
}
