import type { RedisLink } from './client.ts';
import { asText } from './reply.ts';

/** What Redis reports about its memory and its append-only file. */
export interface RedisStats {
  readonly memoryUsedBytes: number;
  /** 0 = no limit. */
  readonly memoryMaxBytes: number;
  readonly isAofEnabled: boolean;
  /** Whether the last write and the last rewrite of the append-only file succeeded. */
  readonly isAofWriteOk: boolean;
}

/** A field of the reply to INFO. */
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

/** How full a node is; without a limit, how much it holds. */
function fullness({ memoryUsedBytes: used, memoryMaxBytes: max }: RedisStats): number {
  return max === 0 ? used : used / max;
}

/**
 * Reads the statistics of all nodes: memory of the fullest one, and flags that are true on all. Throws `store_unavailable` if
 * one does not answer.
 */
export async function readRedisStats(redis: RedisLink): Promise<RedisStats> {
  const stats = await Promise.all(
    redis.nodes().map(async (node) => statsOf(asText(await node.command('INFO', [])))),
  );
  const fullest = stats.reduce((most, next) => (fullness(next) > fullness(most) ? next : most));
  return {
    ...fullest,
    isAofEnabled: stats.every(({ isAofEnabled }) => isAofEnabled),
    isAofWriteOk: stats.every(({ isAofWriteOk }) => isAofWriteOk),
  };
}
