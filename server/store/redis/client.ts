import { createHash } from 'node:crypto';
import { Cluster, Command, type Redis } from 'ioredis';
import { VaultError } from '../../core/errors.ts';
import { runAtTickEnd } from '../../core/tick-end.ts';
import { refreshSlots } from './cluster.ts';
import { connect, type RedisTarget, waitUntilReady } from './connect.ts';
import { isOwnFault, type ScriptPlace, scriptFault } from './script-fault.ts';

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
  /** Runs a script that only reads, or whose effects may be lost; binary replies. It does not wait for replicas. */
  runUnreplicated(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a writing command, with the guarantees of `run`. */
  write(name: string, args: readonly Argument[]): Promise<unknown>;
  /** All nodes of a Cluster, including replicas; otherwise the one server. */
  nodes(): readonly RedisNode[];
  /** Whether `nodes` are those of a Cluster. */
  readonly isCluster: boolean;
  /** Whether commands can be sent now. */
  isConnected(): boolean;
  /** Closes the connection; commands in flight reject. */
  close(): Promise<void>;
}

/** The nodes that accept writes: the masters of a Cluster, otherwise the one server. */
export function mastersOf(redis: Pick<RedisLink, 'nodes'>): readonly RedisNode[] {
  return redis.nodes().filter(({ isReplica }) => !isReplica);
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

/** Errors that say nothing about the command: the server, its memory or its permissions are the reason. */
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

interface Link {
  readonly send: Send;
  readonly onCall: LinkOptions['onCall'];
  /** Whether the replicas have a write; undefined where none has to. */
  readonly waitForReplicas: ((sent: SentReply) => Promise<boolean>) | undefined;
}

/** Sends a command and waits for its reply, and for the replicas with `isDurable`. A script that Redis lacks is sent in full. */
async function execute(
  link: Link,
  name: string,
  args: readonly Argument[],
  isDurable: boolean,
  wanted?: Script,
): Promise<unknown> {
  const { send, onCall, waitForReplicas } = link;
  const label = wanted?.name ?? name;
  const startedAt = performance.now();
  let sent: SentReply;
  try {
    sent = await send(name, args.map(asArgument));
    onCall?.(label, startedAt, false);
  } catch (error) {
    const isUnknown = wanted !== undefined && name === 'EVALSHA' && isUnknownScript(error);
    onCall?.(label, startedAt, !isUnknown);
    if (isUnknown) {
      return await execute(link, 'EVAL', [wanted.text, ...args.slice(1)], isDurable, wanted);
    }
    throw toVaultError(error, wanted);
  }
  if (isDurable && waitForReplicas !== undefined && !(await waitForReplicas(sent).catch(() => false))) {
    throw new VaultError('store_unavailable');
  }
  return sent.reply;
}

function scriptArguments({ sha }: Script, keys: readonly string[], args: readonly Argument[]): Argument[] {
  return [sha, keys.length, ...keys, ...args];
}

/** Opens a connection and waits until Redis answers. Throws a `StartError` if it does not within 30 s. */
export async function openRedis(target: RedisTarget, options: LinkOptions): Promise<RedisLink> {
  const client = connect(target);
  const { onCall, replicas } = options;
  const link: Link = {
    send: createSend(client),
    onCall,
    waitForReplicas: replicas === 0 ? undefined : createReplicaWait(replicas, onCall),
  };
  await waitUntilReady(client, 30_000);
  const watch = watchLink(client, options.onLink);
  return {
    command: (name, args) => execute(link, name, args, false),
    write: (name, args) => execute(link, name, args, true),
    run: (wanted, keys, args) => execute(link, 'EVALSHA', scriptArguments(wanted, keys, args), true, wanted),
    runUnreplicated: (wanted, keys, args) =>
      execute(link, 'EVALSHA', scriptArguments(wanted, keys, args), false, wanted),
    nodes: () => nodesOf(client),
    isCluster: client instanceof Cluster,
    isConnected: () => client.status === 'ready',
    close: async () => {
      watch.end();
      client.disconnect();
    },
  };
}

type Stream = Redis['stream'];

/** The reply to a command, and the connection that it used. */
interface SentReply {
  readonly reply: unknown;
  readonly redis: Redis;
  readonly stream: Stream;
}

/** Sends one command to the node of its key; the reply has binary parts. */
type Send = (name: string, args: readonly (string | number | Buffer)[]) => Promise<SentReply>;

/**
 * Delays writes to a connection until the end of this tick. So the commands of many requests are one write, and one fsync in
 * Redis (group commit).
 */
function createWriteBatching(): (redis: Redis) => void {
  const corked = new WeakSet<Stream>();
  return ({ status, stream }) => {
    if (status !== 'ready' || corked.has(stream)) {
      return;
    }
    corked.add(stream);
    stream.cork();
    // After commands that other callbacks send at the end of this tick.
    runAtTickEnd(() =>
      runAtTickEnd(() => {
        corked.delete(stream);
        stream.uncork();
      }),
    );
  };
}

function sendToOne(client: Redis): Send {
  const delayWrites = createWriteBatching();
  return async (name, args) => {
    delayWrites(client);
    const { stream } = client;
    return { reply: await client.callBuffer(name, ...args), redis: client, stream };
  };
}

function sendToCluster(client: Cluster): Send {
  const delayWrites = createWriteBatching();
  // Only the connection of a node shows which node has answered, after all redirections.
  const servedBy = new WeakMap<Command, Redis>();
  client.on('+node', (node: Redis) => {
    const { sendCommand } = node;
    node.sendCommand = (command, stream) => {
      delayWrites(node);
      servedBy.set(command, node);
      return sendCommand.call(node, command, stream);
    };
  });
  return async (name, args) => {
    if (client.status !== 'ready') {
      throw new Error('no node is connected');
    }
    const command = new Command(name, [...args], { replyEncoding: null });
    try {
      client.sendCommand(command);
      const reply: unknown = await command.promise;
      const redis = servedBy.get(command);
      if (redis === undefined) {
        throw new Error('no node has answered');
      }
      return { reply, redis, stream: redis.stream };
    } catch (error) {
      refreshSlots(client);
      throw error;
    }
  };
}

/** The sender for a server or a Cluster. A command fails immediately while there is no connection. */
function createSend(client: Redis | Cluster): Send {
  return client instanceof Cluster ? sendToCluster(client) : sendToOne(client);
}

/** The timeout of WAIT, which blocks the connection; it is shorter after a WAIT that timed out. */
const [WAIT_MS, WAIT_MS_SHORT] = [1_000, 50];

/**
 * Waits until `replicas` replicas have the writes of a connection; false if they do not in time, or if the connection is lost.
 * One WAIT is in flight at a time, and covers every write that was answered before it was sent.
 */
function createReplicaWait(
  replicas: number,
  onCall: LinkOptions['onCall'],
): (sent: SentReply) => Promise<boolean> {
  const waits = new WeakMap<Stream, () => Promise<boolean>>();
  const waitOn = (redis: Redis, stream: Stream): (() => Promise<boolean>) => {
    let last: Promise<unknown> = Promise.resolve();
    let next: Promise<boolean> | undefined;
    let isShort = false;
    const ask = async (): Promise<boolean> => {
      next = undefined;
      if (redis.status !== 'ready' || redis.stream !== stream) {
        return false;
      }
      const startedAt = performance.now();
      const got = Number(await redis.call('WAIT', replicas, isShort ? WAIT_MS_SHORT : WAIT_MS));
      onCall?.('WAIT', startedAt, got < replicas);
      isShort = got < replicas;
      return !isShort;
    };
    return () => {
      if (next === undefined) {
        next = last.then(ask, ask);
        last = next;
      }
      return next;
    };
  };
  return ({ redis, stream }) => {
    const wait = waits.get(stream) ?? waitOn(redis, stream);
    waits.set(stream, wait);
    return wait();
  };
}
