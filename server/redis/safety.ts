import { UNSAFE_REDIS, type UnsafeRedis } from '../core/settings.ts';
import type { RedisLink, RedisNode } from './client.ts';
import { infoField, readInfo } from './info.ts';
import { asList, asText } from './reply.ts';

const MESSAGES: Readonly<Record<UnsafeRedis, string>> = {
  appendonly: 'Redis does not keep an append-only file (appendonly is not yes)',
  appendfsync: 'Redis acknowledges writes before they are on disk (appendfsync is not always)',
  eviction: 'Redis may evict data when memory is short (maxmemory-policy is not noeviction)',
  replica:
    'This Redis is a replica, which does not accept writes (READONLY); VAULT_REDIS_URL must name its primary',
};

/** The message for the operator about an unsafe setting, in one line. */
export function describeUnsafe(unsafe: UnsafeRedis): string {
  return `${MESSAGES[unsafe]}. Change this setting, or add "${unsafe}" to VAULT_REDIS_ALLOW_UNSAFE.`;
}

/** A setting of Redis; undefined if CONFIG is forbidden. */
async function configValue(node: RedisNode, name: string): Promise<string | undefined> {
  try {
    const reply = asList(await node.command('CONFIG', ['GET', name])).flat();
    return reply[1] === undefined ? undefined : asText(reply[1]);
  } catch {
    return undefined;
  }
}

async function findUnsafeOf(node: RedisNode): Promise<readonly UnsafeRedis[]> {
  const info = await readInfo(node);
  const [appendonly, appendfsync, policy] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map((name) => configValue(node, name)),
  );
  const unsafe: UnsafeRedis[] = [];
  if ((appendonly ?? (infoField(info, 'aof_enabled') === '1' ? 'yes' : 'no')) !== 'yes') {
    unsafe.push('appendonly');
  }
  if (appendfsync !== 'always') {
    unsafe.push('appendfsync');
  }
  if ((policy ?? infoField(info, 'maxmemory_policy')) !== 'noeviction') {
    unsafe.push('eviction');
  }
  if (!node.isReplica && infoField(info, 'role') !== 'master') {
    unsafe.push('replica');
  }
  return unsafe;
}

/**
 * Finds settings that could lose acknowledged writes, on any node of a Cluster, including replicas, since they take over when
 * a master fails. A setting that a managed Redis hides, and that INFO does not show, counts as unsafe: the operator must allow
 * it by name.
 */
export async function findUnsafe(redis: RedisLink): Promise<readonly UnsafeRedis[]> {
  const ofNodes = await Promise.all(
    redis.nodes().map((node) =>
      findUnsafeOf(node).catch((error: unknown) => {
        // An unreachable replica does not prevent the start.
        return node.isReplica ? [] : Promise.reject(error);
      }),
    ),
  );
  const found = new Set(ofNodes.flat());
  return UNSAFE_REDIS.filter((name) => found.has(name));
}
