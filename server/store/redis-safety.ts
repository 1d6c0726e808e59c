import { list, type RedisLink, text } from './redis.ts';

/** What a Redis that keeps card data must not be: named as the setting that allows it all the same. */
export type UnsafeRedis = 'appendonly' | 'appendfsync' | 'eviction' | 'replica';

const SENTENCES: Readonly<Record<UnsafeRedis, string>> = {
  appendonly: 'Redis does not keep an append-only file (appendonly is not yes)',
  appendfsync: 'Redis acknowledges writes before they are on disk (appendfsync is not always)',
  eviction: 'Redis may evict data when memory is short (maxmemory-policy is not noeviction)',
  replica: 'This Redis is a replica',
};

/** One line for the operator about an unsafe setting. */
export const describeUnsafe = (unsafe: UnsafeRedis): string =>
  `${SENTENCES[unsafe]}. Change that, or name "${unsafe}" in VAULT_REDIS_ALLOW_UNSAFE.`;

/** A setting of Redis; undefined where CONFIG is forbidden. */
async function configValue(redis: RedisLink, name: string): Promise<string | undefined> {
  try {
    const reply = list(await redis.command('CONFIG', ['GET', name])).flat();
    return reply[1] === undefined ? undefined : text(reply[1]);
  } catch {
    return undefined;
  }
}

/**
 * Finds what would lose acknowledged writes. What a managed Redis hides counts as unsafe, except what INFO
 * tells: the operator then vouches for it by name.
 */
export async function findUnsafe(redis: RedisLink): Promise<readonly UnsafeRedis[]> {
  const [appendonly, appendfsync, policy] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map((name) => configValue(redis, name)),
  );
  const info = text(await redis.command('INFO', []));
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
  if (told('role') !== 'master') {
    unsafe.push('replica');
  }
  return unsafe;
}
