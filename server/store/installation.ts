import { VaultError } from '../core/errors.ts';
import claimInstallationText from './lua/maintenance/claim-installation-1.lua' with { type: 'text' };
import claimRestoreText from './lua/maintenance/claim-restore-1.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, type RedisNode, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const claimInstallationScript = script(claimInstallationText);
const claimRestoreScript = script(claimRestoreText);
const RESTORING = 'restoring';

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

/**
 * Records the facts of a new vault. Of two servers that start at once, the first one's facts stay. `undefined` where a
 * restore has taken the place meanwhile.
 */
export async function claimInstallation(
  redis: RedisLink,
  { buckets, root }: Installation,
): Promise<Installation | undefined> {
  const reply = text(await redis.run(claimInstallationScript, [redisKeys.installation], [buckets, root]));
  return reply === 'ok' ? readInstallation(redis) : undefined;
}

/** Whether a restore has begun here and not come to its end: such a vault must not be used. */
export async function isHalfRestored(redis: RedisLink): Promise<boolean> {
  return (await redis.command('HGET', [redisKeys.installation, RESTORING])) !== null;
}

/**
 * Takes a Redis for the restore of one backup. `again`: an earlier restore of the same backup was interrupted;
 * `other`: one of another backup; `taken`: there is a vault.
 */
export async function claimRestore(
  redis: RedisLink,
  id: string,
  isEmpty: boolean,
): Promise<'ok' | 'again' | 'other' | 'taken'> {
  const reply = text(await redis.run(claimRestoreScript, [redisKeys.installation], [id, isEmpty ? '1' : '']));
  return reply === 'ok' || reply === 'again' || reply === 'other' ? reply : 'taken';
}

/** Says that everything is restored: from now on servers start. */
export async function finishRestore(redis: RedisLink): Promise<void> {
  await redis.write('HDEL', [redisKeys.installation, RESTORING]);
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
