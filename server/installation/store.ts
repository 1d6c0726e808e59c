import { VaultError } from '../core/errors.ts';
import { mastersOf, type RedisLink, type RedisNode, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import replaceFieldText from '../redis/records/replace-field-1.lua' with { type: 'text' };
import { asBytes, asCount, asList, asText, isOk } from '../redis/reply.ts';
import claimInstallationText from './claim-installation-1.lua' with { type: 'text' };
import claimRestoreText from './claim-restore-1.lua' with { type: 'text' };

const claimInstallationScript = script(claimInstallationText);
const claimRestoreScript = script(claimRestoreText);
const replaceField = script(replaceFieldText);
const RESTORING = 'restoring';

/** Facts that are fixed when a vault is first opened. */
export interface Installation {
  readonly buckets: number;
  /** Encrypted; index keys are derived from it. */
  readonly root: Buffer;
}

/** Reads the facts of the installation; undefined in an empty Redis. */
export async function readInstallation(redis: RedisLink): Promise<Installation | undefined> {
  const [buckets, root] = asList(await redis.command('HMGET', [redisKeys.installation, 'buckets', 'root']));
  return buckets && root ? { buckets: asCount(buckets), root: asBytes(root) } : undefined;
}

/**
 * Stores the facts of a new vault, and returns the stored ones: if two servers start at the same time, those of the first.
 * Undefined if a restore has started in the meantime.
 */
export async function claimInstallation(
  redis: RedisLink,
  { buckets, root }: Installation,
): Promise<Installation | undefined> {
  const reply = await redis.run(claimInstallationScript, [redisKeys.installation], [buckets, root]);
  return isOk(reply) ? readInstallation(redis) : undefined;
}

/** Replaces the encrypted root if it is still the one that was read; otherwise returns false. */
export async function replaceRoot(redis: RedisLink, read: Uint8Array, root: Uint8Array): Promise<boolean> {
  return isOk(await redis.run(replaceField, [redisKeys.installation], ['root', read, root]));
}

/** Whether a restore was started and not finished. Such a vault must not be used. */
export async function isHalfRestored(redis: RedisLink): Promise<boolean> {
  return (await redis.command('HGET', [redisKeys.installation, RESTORING])) !== null;
}

/**
 * Claims a Redis for the restore of one backup. `again`: a restore of the same backup was interrupted; `other`: a restore of
 * another backup was interrupted; `taken`: the Redis contains a vault.
 */
export async function claimRestore(
  redis: RedisLink,
  id: string,
  isEmpty: boolean,
): Promise<'ok' | 'again' | 'other' | 'taken'> {
  const reply = asText(
    await redis.run(claimRestoreScript, [redisKeys.installation], [id, isEmpty ? '1' : '']),
  );
  return reply === 'ok' || reply === 'again' || reply === 'other' ? reply : 'taken';
}

/** Notes a complete backup that began at this time, in ms. */
export async function noteBackup(redis: RedisLink, madeAt: number): Promise<void> {
  await redis.write('SET', [redisKeys.lastBackup, madeAt]);
}

/** When the newest complete backup began, in ms; 0 if there was none. */
export async function readLastBackup(redis: RedisLink): Promise<number> {
  return Number((await redis.command('GET', [redisKeys.lastBackup])) ?? 0);
}

/** Marks the restore as finished, so that servers can start. */
export async function finishRestore(redis: RedisLink): Promise<void> {
  await redis.write('HDEL', [redisKeys.installation, RESTORING]);
}

/**
 * Resolves if Redis accepts a write. On a Cluster one serving master is enough: a server must stay in use for the slots of
 * the other nodes.
 */
export async function probeRedis(redis: RedisLink): Promise<void> {
  try {
    await redis.write('HSET', [redisKeys.installation, 'probe', 1]);
  } catch (error) {
    if (!redis.isCluster) {
      throw error;
    }
    await Promise.any(mastersOf(redis).map(requireServing)).catch(() => Promise.reject(error));
  }
}

async function requireServing(node: RedisNode): Promise<void> {
  if (!asText(await node.command('CLUSTER', ['INFO'])).includes('cluster_state:ok')) {
    throw new VaultError('store_unavailable');
  }
}
