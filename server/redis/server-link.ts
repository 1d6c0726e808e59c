import type { Redis } from 'ioredis';
import { VaultError } from '../core/errors.ts';
import {
  isRefusal,
  type LinkOptions,
  type RedisLink,
  type RedisNode,
  type Script,
  toVaultError,
} from './client.ts';
import { connectServer, type ServerTarget, waitUntilReady, watchLink } from './connect.ts';
import { createReplicaWait } from './replica-wait.ts';
import { asCount } from './reply.ts';
import type { Argument } from './resp.ts';
import { openWire, type Wire } from './wire.ts';

interface Line {
  readonly wire: Wire;
  readonly onCall: LinkOptions['onCall'];
}

/**
 * The reply to a command, or to the call of a script, that was sent. It is awaited here, where the caller's context is: for
 * the frames of an error, and for the span of a trace.
 */
async function execute<T>(
  onCall: LinkOptions['onCall'],
  name: string,
  sent: Promise<T>,
  script?: Script,
): Promise<T> {
  const startedAt = performance.now();
  try {
    const reply = await sent;
    onCall?.(name, startedAt, false);
    return reply;
  } catch (error) {
    onCall?.(name, startedAt, true);
    throw isRefusal(name, error) ? error : toVaultError(error, script);
  }
}

function evaluate(
  { wire, onCall }: Line,
  script: Script,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  const sent = wire.send(['EVALSHA', script.sha, keys.length, ...keys, ...args], script);
  return execute(onCall, script.name, sent, script);
}

/** Resolves with a reply when the replicas have what was written before it, on the same connection. */
function createDurable(wire: Wire, { replicas, onCall }: LinkOptions) {
  let epoch = 0;
  let wait: (() => Promise<boolean>) | undefined;
  const waitOn = (asked: number): (() => Promise<boolean>) => {
    const askCount = async (timeoutMs: number): Promise<number> => {
      if (wire.epoch() !== asked) {
        throw new VaultError('store_unavailable');
      }
      return asCount(await wire.send(['WAIT', replicas, timeoutMs]));
    };
    return createReplicaWait(replicas, askCount, onCall);
  };
  return async (sent: Promise<unknown>): Promise<unknown> => {
    const asked = wire.epoch();
    const reply = await sent;
    if (wait === undefined || epoch !== asked) {
      epoch = asked;
      wait = waitOn(asked);
    }
    if (!(await wait().catch(() => false))) {
      throw new VaultError('store_unavailable');
    }
    return reply;
  };
}

/** The name of the server, for operators. */
function nameOf(target: ServerTarget, { path, host, port }: Redis['options']): string {
  return target.kind === 'sentinel' ? `primary of ${target.name}` : (path ?? `${host}:${port}`);
}

/** Opens the connection to one server. Throws a `StartError` if it does not answer in time. */
export async function openServerLink(target: ServerTarget, options: LinkOptions): Promise<RedisLink> {
  const client = connectServer(target);
  const wire = openWire(client);
  const { onCall } = options;
  const line: Line = { wire, onCall };
  await waitUntilReady(client, () => wire.send(['PING']), target);
  const watch = watchLink(client, options.onLink);
  const command = (name: string, args: readonly Argument[]) =>
    execute(onCall, name, wire.send([name, ...args]));
  const node: RedisNode = { name: nameOf(target, client.options), isReplica: false, command };
  const durable = options.replicas === 0 ? undefined : createDurable(wire, options);
  return {
    command,
    readEach: (commands) => execute(onCall, 'read-each', wire.sendEach(commands)),
    readLists: (commands, bytesMax) => execute(onCall, 'read-lists', wire.sendAll(commands, bytesMax)),
    write: durable === undefined ? command : (name, args) => durable(command(name, args)),
    run:
      durable === undefined
        ? (script, keys, args) => evaluate(line, script, keys, args)
        : (script, keys, args) => durable(evaluate(line, script, keys, args)),
    runUnreplicated: (script, keys, args) => evaluate(line, script, keys, args),
    nodes: () => [node],
    isCluster: false,
    isConnected: () => client.status === 'ready',
    close: async () => {
      watch.end();
      client.disconnect();
    },
  };
}
