import { Cluster, Command, type Redis } from 'ioredis';
import { runAtTickEnd } from '../../core/tick-end.ts';
import { refreshSlots } from './cluster.ts';

type Stream = Redis['stream'];

/** The reply to a command, and the connection that it used. */
export interface SentReply {
  readonly reply: unknown;
  readonly redis: Redis;
  readonly stream: Stream;
}

/** Sends one command to the node of its key; the reply has binary parts. */
export type Send = (name: string, args: readonly (string | number | Buffer)[]) => Promise<SentReply>;

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
export function createSend(client: Redis | Cluster): Send {
  return client instanceof Cluster ? sendToCluster(client) : sendToOne(client);
}

/** The timeout of WAIT, which blocks the connection; it is shorter after a WAIT that timed out. */
const [WAIT_MS, WAIT_MS_SHORT] = [1_000, 50];

/**
 * Waits until `replicas` replicas have the writes of a connection; false if they do not in time, or if the connection is lost.
 * One WAIT is in flight at a time, and covers every write that was answered before it was sent.
 */
export function createReplicaWait(
  replicas: number,
  onCall?: (name: string, startedAt: number, hasFailed: boolean) => void,
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
