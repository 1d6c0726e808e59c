import type { RedisLink, RedisNode } from './client.ts';
import { asText } from './reply.ts';

/** Statistics of Redis about its memory and its append-only file. */
export interface RedisStats {
  readonly memoryUsedBytes: number;
  /** 0 = no limit. */
  readonly memoryMaxBytes: number;
  readonly isAofEnabled: boolean;
  /** The last write and the last rewrite of the append-only file succeeded. */
  readonly isAofWriteOk: boolean;
}

/** Reads a section of INFO, or the default ones. */
export async function readInfo(node: RedisNode, ...sections: readonly string[]): Promise<string> {
  return asText(await node.command('INFO', sections));
}

export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

function statsOf(info: string): RedisStats {
  return {
    memoryUsedBytes: Number(infoField(info, 'used_memory') ?? 0),
    memoryMaxBytes: Number(infoField(info, 'maxmemory') ?? 0),
    isAofEnabled: infoField(info, 'aof_enabled') === '1',
    isAofWriteOk:
      infoField(info, 'aof_last_write_status') === 'ok' &&
      infoField(info, 'aof_last_bgrewrite_status') === 'ok',
  };
}

/** The used share of the memory of a node; without a limit, its used bytes. */
function fullness({ memoryUsedBytes: used, memoryMaxBytes: max }: RedisStats): number {
  return max === 0 ? used : used / max;
}

/** Reads the memory of the fullest node, and flags that are true on all. Throws `store_unavailable` without a reply. */
export async function readRedisStats(redis: RedisLink): Promise<RedisStats> {
  const stats = await Promise.all(redis.nodes().map(async (node) => statsOf(await readInfo(node))));
  const fullest = stats.reduce((most, next) => (fullness(next) > fullness(most) ? next : most));
  return {
    ...fullest,
    isAofEnabled: stats.every(({ isAofEnabled }) => isAofEnabled),
    isAofWriteOk: stats.every(({ isAofWriteOk }) => isAofWriteOk),
  };
}
