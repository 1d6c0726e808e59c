import { list, type RedisLink, type RedisNode, text } from './client.ts';

const UNSAFE_REDIS = ['appendonly', 'appendfsync', 'eviction', 'replica'] as const;

/** What a Redis that keeps card data must not be: named as the setting that allows it all the same. */
export type UnsafeRedis = (typeof UNSAFE_REDIS)[number];

const SENTENCES: Readonly<Record<UnsafeRedis, string>> = {
  appendonly: 'Redis does not keep an append-only file (appendonly is not yes)',
  appendfsync: 'Redis acknowledges writes before they are on disk (appendfsync is not always)',
  eviction: 'Redis may evict data when memory is short (maxmemory-policy is not noeviction)',
  replica: 'This Redis is a replica, which cannot be written to',
};

/** One line for the operator about an unsafe setting. */
export const describeUnsafe = (unsafe: UnsafeRedis): string =>
  `${SENTENCES[unsafe]}. Change that, or name "${unsafe}" in VAULT_REDIS_ALLOW_UNSAFE.`;

/** A setting of Redis; undefined where CONFIG is forbidden. */
async function configValue(node: RedisNode, name: string): Promise<string | undefined> {
  try {
    const reply = list(await node.command('CONFIG', ['GET', name])).flat();
    return reply[1] === undefined ? undefined : text(reply[1]);
  } catch {
    return undefined;
  }
}

async function findUnsafeOf(node: RedisNode): Promise<readonly UnsafeRedis[]> {
  const info = text(await node.command('INFO', []));
  const [appendonly, appendfsync, policy] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map((name) => configValue(node, name)),
  );
  const told = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const unsafe: UnsafeRedis[] = [];
  if ((appendonly ?? (told('aof_enabled') === '1' ? 'yes' : 'no')) !== 'yes') {
    unsafe.push('appendonly');
  }
  if (appendfsync !== 'always') {
    unsafe.push('appendfsync');
  }
  if ((policy ?? told('maxmemory_policy')) !== 'noeviction') {
    unsafe.push('eviction');
  }
  if (!node.isReplica && told('role') !== 'master') {
    unsafe.push('replica');
  }
  return unsafe;
}

/** A replica that is away keeps nobody from starting. */
async function findUnsafeUnlessAway(node: RedisNode): Promise<readonly UnsafeRedis[]> {
  try {
    return await findUnsafeOf(node);
  } catch (error) {
    if (node.isReplica) {
      return [];
    }
    throw error;
  }
}

/**
 * Finds what would lose acknowledged writes, on any node of a Cluster: its replicas too, since one of them takes
 * over when a master fails. What a managed Redis hides counts as unsafe, except what INFO tells: the operator then
 * vouches for it by name.
 */
export async function findUnsafe(redis: RedisLink): Promise<readonly UnsafeRedis[]> {
  const ofNodes = await Promise.all(redis.nodes().map((node) => findUnsafeUnlessAway(node)));
  const found = new Set(ofNodes.flat());
  return UNSAFE_REDIS.filter((name) => found.has(name));
}
