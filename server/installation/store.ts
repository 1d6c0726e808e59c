import { VaultError } from '../core/errors.ts';
import { mastersOf, type RedisLink, type RedisNode, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import replaceFieldText from '../redis/records/replace-field-1.lua' with { type: 'text' };
import { asBytes, asCount, asList, asOneOf, asText, isOk } from '../redis/reply.ts';
import { WRITABLE } from '../redis/wire.ts';
import claimInstallationText from './claim-installation-1.lua' with { type: 'text' };
import claimRestoreText from './claim-restore-1.lua' with { type: 'text' };

const checkWritable = script(WRITABLE);
const claimInstallation = script(claimInstallationText);
const claimRestore = script(claimRestoreText);
const replaceField = script(replaceFieldText);
const RESTORING = 'restoring';

/** Facts of a vault, which are fixed when it is first opened. */
export interface Installation {
  readonly buckets: number;
  /** Encrypted. Index keys derive from it. */
  readonly root: Buffer;
}

/** Stores the facts of a vault, the mark of an unfinished restore, and the time of the last backup. */
export class InstallationStore {
  constructor(private readonly redis: RedisLink) {}

  /** Returns the facts of the vault; undefined in an empty Redis. */
  async read(): Promise<Installation | undefined> {
    const fields = [redisKeys.installation, 'buckets', 'root'];
    const [buckets, root] = asList(await this.redis.command('HMGET', fields));
    return buckets && root ? { buckets: asCount(buckets), root: asBytes(root) } : undefined;
  }

  /**
   * Stores the facts of a new vault, and returns the stored ones: if two servers start at the same time, those of the first.
   * Undefined if a restore has started meanwhile.
   */
  async claim({ buckets, root }: Installation): Promise<Installation | undefined> {
    const reply = await this.redis.run(claimInstallation, [redisKeys.installation], [buckets, root]);
    return isOk(reply) ? this.read() : undefined;
  }

  /** Replaces the encrypted root. False if it has changed since it was read. */
  async replaceRoot(read: Uint8Array, root: Uint8Array): Promise<boolean> {
    return isOk(await this.redis.run(replaceField, [redisKeys.installation], ['root', read, root]));
  }

  /** Returns whether a restore was started and not finished. Such a vault must not be used. */
  async isHalfRestored(): Promise<boolean> {
    return (await this.redis.command('HGET', [redisKeys.installation, RESTORING])) !== null;
  }

  /**
   * Claims a Redis for the restore of one backup. `again`: a restore of the same backup was interrupted; `other`: a restore of
   * another backup was interrupted; `taken`: the Redis contains a vault.
   */
  async claimRestore(id: string, isEmpty: boolean): Promise<'ok' | 'again' | 'other' | 'taken'> {
    const reply = await this.redis.run(claimRestore, [redisKeys.installation], [id, isEmpty ? '1' : '']);
    return asOneOf(reply, ['ok', 'again', 'other', 'taken']);
  }

  /** Marks the restore as finished, so that servers can start. */
  async finishRestore(): Promise<void> {
    await this.redis.write('HDEL', [redisKeys.installation, RESTORING]);
  }

  /** Records a complete backup that began at this time, in ms. */
  async noteBackup(madeAt: number): Promise<void> {
    await this.redis.write('SET', [redisKeys.lastBackup, madeAt]);
  }

  /** Returns the start of the newest complete backup, in ms; 0 if there was none. */
  async readLastBackup(): Promise<number> {
    return Number((await this.redis.command('GET', [redisKeys.lastBackup])) ?? 0);
  }

  /** Resolves if Redis would accept a write, and writes nothing. On a Cluster one serving master is enough, for its slots. */
  async probe(): Promise<void> {
    try {
      await this.redis.run(checkWritable, [redisKeys.installation], []);
    } catch (error) {
      if (!this.redis.isCluster) {
        throw error;
      }
      await Promise.any(mastersOf(this.redis).map(requireServing)).catch(() => Promise.reject(error));
    }
  }
}

async function requireServing(node: RedisNode): Promise<void> {
  if (!asText(await node.command('CLUSTER', ['INFO'])).includes('cluster_state:ok')) {
    throw new VaultError('store_unavailable');
  }
}
