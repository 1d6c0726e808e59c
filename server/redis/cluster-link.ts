/** The connection to a Redis Cluster: the library finds the node of each command and follows redirections. */
import { type Cluster, Command, type Redis } from 'ioredis';
import { VaultError } from '../core/errors.ts';
import { runAtTickEnd } from '../core/tick-end.ts';
import {
  createReplicaWait,
  isRefusal,
  isUnknownScript,
  type LinkOptions,
  type RedisLink,
  type RedisNode,
  type Script,
  toVaultError,
} from './client.ts';
import { refreshSlots } from './cluster.ts';
import { type ClusterTarget, connectCluster, waitUntilReady, watchLink } from './connect.ts';
import { type Argument, CommandWriter } from './resp.ts';

function asArgument(value: Argument): string | number | Buffer {
  if (typeof value !== 'object' || Buffer.isBuffer(value)) {
    return value;
  }
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function nodeOf(redis: Redis, isReplica: boolean): RedisNode {
  return {
    name: redis.options.path ?? `${redis.options.host}:${redis.options.port}`,
    isReplica,
    async command(name, args) {
      try {
        return await redis.callBuffer(name, ...args.map(asArgument));
      } catch (error) {
        throw isRefusal(name, error) ? error : toVaultError(error);
      }
    },
  };
}

type Stream = Redis['stream'];

/** The reply to a command, with binary parts, and the connection that it used. */
interface SentReply {
  readonly reply: unknown;
  readonly redis: Redis;
  readonly stream: Stream;
}

/** Delays writes to a connection until the end of this tick: one write is one fsync in Redis (group commit). */
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

function sendToCluster(client: Cluster) {
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
  return async (name: string, args: readonly Argument[]): Promise<SentReply> => {
    if (client.status !== 'ready') {
      throw new Error('no node is connected');
    }
    const command = new Command(name, args.map(asArgument), { replyEncoding: null });
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

/** Creates the wait for the replicas of the node that has answered; it returns whether they have its writes. */
function createNodeWaits(replicas: number, onCall: LinkOptions['onCall']) {
  const waits = new WeakMap<Stream, () => Promise<boolean>>();
  return ({ redis, stream }: SentReply): Promise<boolean> => {
    const askCount = async (timeoutMs: number): Promise<number> => {
      if (redis.status !== 'ready' || redis.stream !== stream) {
        throw new Error('the connection was lost');
      }
      return Number(await redis.call('WAIT', replicas, timeoutMs));
    };
    const wait = waits.get(stream) ?? createReplicaWait(replicas, askCount, onCall);
    waits.set(stream, wait);
    return wait();
  };
}

class ClusterLink implements RedisLink {
  readonly isCluster = true;
  private readonly send: ReturnType<typeof sendToCluster>;
  /** Returns whether the replicas have a write; undefined if none has to. */
  private readonly waitForReplicas: ((sent: SentReply) => Promise<boolean>) | undefined;
  private watch: { readonly end: () => void } | undefined;

  constructor(
    private readonly client: Cluster,
    private readonly options: LinkOptions,
  ) {
    const { replicas, onCall } = options;
    this.send = sendToCluster(client);
    this.waitForReplicas = replicas === 0 ? undefined : createNodeWaits(replicas, onCall);
  }

  /** Waits until the nodes answer. Throws a `StartError` if they do not in time. */
  async open(target: ClusterTarget): Promise<void> {
    const ping = async (): Promise<void> => {
      if (this.client.status !== 'ready') {
        throw new Error('no node is connected');
      }
      await this.client.call('PING');
      // Otherwise the first requests would wait for the connections to their nodes.
      await Promise.allSettled(this.client.nodes('master').map((node) => node.ping()));
    };
    await waitUntilReady(this.client, ping, target);
    this.watch = watchLink(this.client, this.options.onLink);
  }

  command(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.execute(name, args, false);
  }

  /** Returns the replies in RESP2 once more. */
  async readTogether(
    commands: readonly (readonly Argument[])[],
    bytesMax: number,
  ): Promise<Buffer | undefined> {
    const { onCall } = this.options;
    const startedAt = performance.now();
    try {
      if (this.client.status !== 'ready') {
        throw new Error('no node is connected');
      }
      const transaction = this.client.multi();
      for (const [name, ...args] of commands) {
        transaction.callBuffer(String(name), ...args.map(asArgument));
      }
      const replies = (await transaction.exec()) ?? [];
      const failed = replies.find(([error]) => error !== null);
      if (failed) {
        throw failed[0];
      }
      onCall?.('read-together', startedAt, false);
      const writer = new CommandWriter();
      writer.addReply(replies.map(([, reply]) => reply));
      return writer.size > bytesMax ? undefined : writer.take();
    } catch (error) {
      onCall?.('read-together', startedAt, true);
      refreshSlots(this.client);
      throw toVaultError(error);
    }
  }

  write(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.execute(name, args, true);
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.execute('EVALSHA', [script.sha, keys.length, ...keys, ...args], true, script);
  }

  runUnreplicated(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.execute('EVALSHA', [script.sha, keys.length, ...keys, ...args], false, script);
  }

  nodes(): readonly RedisNode[] {
    return [
      ...this.client.nodes('master').map((redis) => nodeOf(redis, false)),
      ...this.client.nodes('slave').map((redis) => nodeOf(redis, true)),
    ];
  }

  isConnected(): boolean {
    return this.client.status === 'ready';
  }

  async close(): Promise<void> {
    this.watch?.end();
    this.client.disconnect();
  }

  /** Sends a command and waits for its reply, and for the replicas with `isDurable`. A script that Redis lacks is sent in full. */
  private async execute(
    name: string,
    args: readonly Argument[],
    isDurable: boolean,
    wanted?: Script,
  ): Promise<unknown> {
    const { onCall } = this.options;
    const label = wanted?.name ?? name;
    const startedAt = performance.now();
    let sent: SentReply;
    try {
      sent = await this.send(name, args);
      onCall?.(label, startedAt, false);
    } catch (error) {
      const isUnknown = wanted !== undefined && name === 'EVALSHA' && isUnknownScript(error);
      onCall?.(label, startedAt, !isUnknown);
      if (isUnknown) {
        return await this.execute('EVAL', [wanted.text, ...args.slice(1)], isDurable, wanted);
      }
      throw toVaultError(error, wanted);
    }
    const wait = isDurable ? this.waitForReplicas : undefined;
    if (wait !== undefined && !(await wait(sent).catch(() => false))) {
      throw new VaultError('store_unavailable');
    }
    return sent.reply;
  }
}

/** Opens a Cluster. Throws a `StartError` if it does not answer in time. */
export async function openClusterLink(target: ClusterTarget, options: LinkOptions): Promise<RedisLink> {
  const link = new ClusterLink(connectCluster(target), options);
  await link.open(target);
  return link;
}
