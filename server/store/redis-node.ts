import { Cluster } from 'ioredis';
import { openRawRedis, type RedisTarget, text, toVaultError, untilReady } from './redis.ts';

/** One server that takes writes: the only one, or one of a Cluster's. */
export interface RedisNode {
  /** Its address, for people. */
  readonly name: string;
  call(command: string, args: readonly (string | number)[]): Promise<unknown>;
}

/** The servers of a Redis one by one, for what has to be asked of each. */
export interface RedisNodes {
  readonly masters: () => readonly RedisNode[];
  readonly close: () => void;
}

/** Opens a connection to each server that takes writes. */
export async function openRedisNodes(target: RedisTarget): Promise<RedisNodes> {
  const { client, close } = openRawRedis(target, false);
  await untilReady(client, 30_000);
  return {
    masters: () =>
      (client instanceof Cluster ? client.nodes('master') : [client]).map((node) => ({
        name: node.options.path ?? `${node.options.host}:${node.options.port}`,
        call: async (command, args) => {
          try {
            return await node.callBuffer(command, ...args);
          } catch (error) {
            throw toVaultError(error);
          }
        },
      })),
    close,
  };
}

/** The names that fit a pattern, some at a time. A name that is there throughout comes at least once. */
export async function* scanNames(node: RedisNode, pattern: string): AsyncGenerator<readonly string[]> {
  let cursor = '0';
  do {
    const [next, names] = (await node.call('SCAN', [cursor, 'MATCH', pattern, 'COUNT', 2_000])) as [
      Buffer,
      Buffer[],
    ];
    cursor = text(next);
    yield names.map(text);
  } while (cursor !== '0');
}
