import { VaultError } from '../errors.ts';
import { bytes, count, list, type RedisLink, type RedisNode, text } from './redis.ts';
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

/**
 * Resolves when Redis takes a write now. On a Cluster also when it is another node that does: a server that is taken
 * out of use because of one node would take the slots of all the others with it.
 */
export async function probeRedis(redis: RedisLink): Promise<void> {
  try {
    await redis.write('HSET', [redisKeys.installation, 'probe', 1]);
  } catch (error) {
    if (!redis.isCluster) {
      throw error;
    }
    const masters = redis.nodes().filter(({ isReplica }) => !isReplica);
    await Promise.any(masters.map(requireServing)).catch(() => Promise.reject(error));
  }
}

async function requireServing(node: RedisNode): Promise<void> {
  if (!text(await node.command('CLUSTER', ['INFO'])).includes('cluster_state:ok')) {
    throw new VaultError('store_unavailable');
  }
}
