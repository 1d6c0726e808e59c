import { type RedisLink, text } from './client.ts';

/** What Redis tells of its memory and its file; of a Cluster the fullest node, and all of them for the file. */
export interface RedisFacts {
  readonly memoryUsedBytes: number;
  /** 0 = no limit. */
  readonly memoryMaxBytes: number;
  readonly isAofEnabled: boolean;
  /** Whether the last write to the append-only file, and the last rewriting of it, went well. */
  readonly isAofWriteOk: boolean;
}

const factsOf = (info: string): RedisFacts => {
  const told = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  return {
    memoryUsedBytes: Number(told('used_memory')),
    memoryMaxBytes: Number(told('maxmemory')),
    isAofEnabled: told('aof_enabled') === '1',
    isAofWriteOk: told('aof_last_write_status') === 'ok' && told('aof_last_bgrewrite_status') === 'ok',
  };
};

/** How full a node is; without a limit, how much it holds. */
const fullness = ({ memoryUsedBytes: used, memoryMaxBytes: max }: RedisFacts): number =>
  max === 0 ? used : used / max;

/** Asks every node. Refuses with `store_unavailable` when one does not answer. */
export async function readRedisFacts(redis: Pick<RedisLink, 'nodes'>): Promise<RedisFacts> {
  const facts = await Promise.all(
    redis.nodes().map(async (node) => factsOf(text(await node.command('INFO', [])))),
  );
  const fullest = facts.reduce((most, next) => (fullness(next) > fullness(most) ? next : most));
  return {
    ...fullest,
    isAofEnabled: facts.every(({ isAofEnabled }) => isAofEnabled),
    isAofWriteOk: facts.every(({ isAofWriteOk }) => isAofWriteOk),
  };
}
