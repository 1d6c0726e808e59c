import type { Redis } from 'ioredis';
import { VaultError } from '../core/errors.ts';
import {
  createReplicaWait,
  isRefusal,
  type LinkOptions,
  type RedisLink,
  type RedisNode,
  type Script,
  toVaultError,
} from './client.ts';
import { connectServer, type ServerTarget, waitUntilReady, watchLink } from './connect.ts';
import { asCount } from './reply.ts';
import type { Argument } from './resp.ts';
import { Wire } from './wire.ts';

class ServerLink implements RedisLink {
  readonly isCluster = false;
  private readonly node: RedisNode;
  /** Delays a reply until the replicas have the write. */
  private readonly durable: (sent: Promise<unknown>) => Promise<unknown>;
  private readonly onCall: LinkOptions['onCall'];
  private readonly watch: { readonly end: () => void };

  constructor(
    private readonly client: Redis,
    private readonly wire: Wire,
    target: ServerTarget,
    options: LinkOptions,
  ) {
    this.onCall = options.onCall;
    this.durable = options.replicas === 0 ? (sent) => sent : createDurable(wire, options);
    this.watch = watchLink(client, options.onLink);
    const { path, host, port } = client.options;
    this.node = {
      name: target.kind === 'sentinel' ? `primary of ${target.name}` : (path ?? `${host}:${port}`),
      isReplica: false,
      command: (name, args) => this.command(name, args),
    };
  }

  command(name: string, args: readonly Argument[]): Promise<unknown> {
    return execute(this.onCall, name, this.wire.send([name, ...args]));
  }

  readTogether(commands: readonly (readonly Argument[])[], bytesMax: number): Promise<Buffer | undefined> {
    return execute(this.onCall, 'read-together', this.wire.sendTogether(commands, bytesMax));
  }

  write(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.durable(this.command(name, args));
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.durable(this.runUnreplicated(script, keys, args));
  }

  runUnreplicated(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    const sent = this.wire.send(['EVALSHA', script.sha, keys.length, ...keys, ...args], script);
    return execute(this.onCall, script.name, sent, script);
  }

  nodes(): readonly RedisNode[] {
    return [this.node];
  }

  isConnected(): boolean {
    return this.client.status === 'ready';
  }

  async close(): Promise<void> {
    this.watch.end();
    this.client.disconnect();
  }
}

/** Opens the connection to one server. Throws a `StartError` if it does not answer in time. */
export async function openServerLink(target: ServerTarget, options: LinkOptions): Promise<RedisLink> {
  const client = connectServer(target);
  const wire = new Wire(client);
  await waitUntilReady(client, () => wire.send(['PING']), target);
  return new ServerLink(client, wire, target, options);
}

/** Awaits a reply in the context of the caller: for the frames of an error, and for the span of a trace. */
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

/** Resolves with a reply when the replicas have all earlier writes of the same connection. */
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
