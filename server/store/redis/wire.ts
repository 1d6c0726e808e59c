import { Cluster, Command, type Redis } from 'ioredis';
import { atTickEnd } from '../../core/tick.ts';
import { refreshSlots } from './cluster.ts';

type Stream = Redis['stream'];

/** A command that was answered, and the connection that it went over. */
export interface Answered {
  readonly reply: unknown;
  readonly redis: Redis;
  readonly stream: Stream;
}

/** Sends one command, to whichever node has its key, and gives the reply with binary parts. */
export type Send = (name: string, args: readonly (string | number | Buffer)[]) => Promise<Answered>;

/**
 * Holds back what is written to a connection until the end of this tick, so that the commands of many requests leave in one
 * write, and Redis syncs them to disk at once.
 */
function createGathering(): (redis: Redis) => void {
  const held = new WeakSet<Stream>();
  return ({ status, stream }) => {
    if (status !== 'ready' || held.has(stream)) {
      return;
    }
    held.add(stream);
    stream.cork();
    // Behind all that others still send at the end of this tick.
    atTickEnd(() =>
      atTickEnd(() => {
        held.delete(stream);
        stream.uncork();
      }),
    );
  };
}

function sendToOne(client: Redis): Send {
  const gather = createGathering();
  return async (name, args) => {
    gather(client);
    const { stream } = client;
    return { reply: await client.callBuffer(name, ...args), redis: client, stream };
  };
}

function sendToCluster(client: Cluster): Send {
  const gather = createGathering();
  // The client does not tell which node has answered, after all redirections; a node's connection does.
  const servedBy = new WeakMap<Command, Redis>();
  client.on('+node', (node: Redis) => {
    const { sendCommand } = node;
    node.sendCommand = (command, stream) => {
      gather(node);
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

/** How commands leave for a Redis or a Cluster; nothing waits while it is away. */
export const createSend = (client: Redis | Cluster): Send =>
  client instanceof Cluster ? sendToCluster(client) : sendToOne(client);

/** How long replicas have, and how long while the last that were waited for did not come: the connection stands still. */
const [WAIT_MS, WAIT_MS_SHORT] = [1_000, 50];

/**
 * Waits until so many replicas have what was written over a connection. One WAIT is under way at a time, and covers
 * every write that was answered before it left; a connection that is gone knows nothing of its writes any more.
 */
export function createWaiting(
  replicas: number,
  onCall?: (name: string, startedAt: number, hasFailed: boolean) => void,
): (answered: Answered) => Promise<boolean> {
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
