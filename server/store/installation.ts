import { bytes, count, list, type RedisLink } from './redis.ts';
import { redisKeys } from './redis-keys.ts';

/** What is fixed when a vault is first opened and stays for its life. */
export interface Installation {
  readonly buckets: number;
  /** Sealed; index keys derive from it. */
  readonly root: Buffer;
}

/** Reads the installation's facts; undefined in an empty Redis. */
export async function readInstallation(redis: RedisLink): Promise<Installation | undefined> {
  const [buckets, root] = list(await redis.command('HMGET', [redisKeys.installation, 'buckets', 'root']));
  return buckets && root ? { buckets: count(buckets), root: bytes(root) } : undefined;
}

/** Records the facts of a new vault. Of two servers that start at once, the first one's facts stay. */
export async function claimInstallation(redis: RedisLink, facts: Installation): Promise<Installation> {
  await redis.write('HSETNX', [redisKeys.installation, 'buckets', facts.buckets]);
  await redis.write('HSETNX', [redisKeys.installation, 'root', facts.root]);
  return (await readInstallation(redis)) ?? facts;
}

/** Resolves when Redis takes a write now. */
export async function probeRedis(redis: RedisLink): Promise<void> {
  await redis.write('HSET', [redisKeys.installation, 'probe', 1]);
}
