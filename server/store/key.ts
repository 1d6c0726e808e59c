import { VaultError } from '../core/errors.ts';
import prelude from './lua/item/prelude.lua' with { type: 'text' };
import buryFenceText from './lua/key/bury-fence-1.lua' with { type: 'text' };
import changeKeyText from './lua/key/change-key-2.lua' with { type: 'text' };
import closeFenceText from './lua/key/close-fence-2.lua' with { type: 'text' };
import createKeyText from './lua/key/create-key-2.lua' with { type: 'text' };
import deleteKeyText from './lua/key/delete-key-3.lua' with { type: 'text' };
import moveFenceText from './lua/key/move-fence-1.lua' with { type: 'text' };
import openFenceText from './lua/key/open-fence-1.lua' with { type: 'text' };
import purgeBucketText from './lua/key/purge-bucket-3.lua' with { type: 'text' };
import replaceRecordText from './lua/maintenance/replace-record-1.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, script, text } from './redis/client.ts';
import { type Bucket, redisKeys } from './redis/keys.ts';

const createKey = script(createKeyText);
const replaceRecord = script(replaceRecordText);
const changeKey = script(changeKeyText);
const deleteKey = script(deleteKeyText);
const moveFence = script(moveFenceText);
const closeFence = script(prelude, closeFenceText);
const openFence = script(openFenceText);
const buryFence = script(buryFenceText);
const purgeBucket = script(purgeBucketText);

/**
 * How long a bucket stays closed while a key is being deleted, and how much of that the deletion may use. The
 * rest is longer than any server remembers a key, so that none acts on a key whose deletion was interrupted.
 */
const CLOSED_MS = 90_000;
const DELETE_WITHIN_MS = 20_000;
const PURGE_STEP = 500;

/** Records of vault keys, their directory, and the fences of their buckets. */
export interface KeyStore {
  read(aid: string, user: string): Promise<Buffer | undefined>;
  /** False when the identifier is taken. */
  create(aid: string, user: string, record: Uint8Array): Promise<boolean>;
  /** A key under its new generation; `finishChange` must follow. False when somebody else was faster. */
  change(key: {
    aid: string;
    user: string;
    kid: string;
    gen: number;
    read: Uint8Array;
    record: Uint8Array;
  }): Promise<boolean>;
  /** Notes that a change has been finished. */
  finishChange(aid: string, kid: string, gen: number): Promise<void>;
  /** Changes that may have been interrupted behind their record. */
  changesLeft(aid: string): Promise<readonly { readonly kid: string; readonly gen: number }[]>;
  /** Replaces the record that was read; false when somebody else was faster. */
  replace(aid: string, user: string, read: Uint8Array, record: Uint8Array): Promise<boolean>;
  /** Identifiers in order, beginning behind `after`. */
  users(aid: string, after: string | undefined, limit: number): Promise<readonly string[]>;
  /** After this no request that began under an older generation reads or writes. */
  moveFences(kid: string, gen: number): Promise<void>;
  /**
   * Stops all use of the key's buckets for a while, for one deletion; tells how many items they hold and until
   * when to act. `busy` when another deletion of the key is under way or done.
   */
  close(
    kid: string,
    deletion: string,
  ): Promise<'busy' | { readonly items: number; readonly actBefore: number }>;
  /** Undoes what `close` did for this deletion, and nothing else. */
  reopen(kid: string, deletion: string): Promise<void>;
  /** Deletes the record (not the data); 'late' when the buckets may have opened again by now. */
  remove(key: {
    aid: string;
    user: string;
    kid: string;
    read: Uint8Array;
    actBefore: number;
  }): Promise<'ok' | 'changed' | 'late'>;
  /** Closes the buckets of a deleted key for good and deletes what they hold. */
  purge(aid: string, kid: string): Promise<void>;
  /** Deleted keys whose purge was interrupted. */
  purgesLeft(aid: string): Promise<readonly string[]>;
}

export function createKeyStore(redis: RedisLink, buckets: number): KeyStore {
  const eachBucket = <T>(kid: string, act: (bucket: Bucket) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: buckets }, (_, number) => act({ kid, number })));

  const purgeOne = async (bucket: Bucket): Promise<void> => {
    const keys = [redisKeys.times(bucket), redisKeys.references(bucket), redisKeys.identities(bucket)];
    const args = [redisKeys.itemPrefix(bucket), redisKeys.sadPrefix(bucket), PURGE_STEP];
    while (count(await redis.run(purgeBucket, keys, args)) > 0) {
      // One step at a time, so that other requests come between.
    }
  };

  return {
    async read(aid, user) {
      const record = await redis.command('GET', [redisKeys.keyRecord(aid, user)]);
      return record === null ? undefined : bytes(record);
    },
    async create(aid, user, record) {
      const keys = [redisKeys.keyRecord(aid, user), redisKeys.keyDirectory(aid)];
      return text(await redis.run(createKey, keys, [record, user])) === 'ok';
    },
    async change({ aid, user, kid, gen, read, record }) {
      const keys = [redisKeys.keyRecord(aid, user), redisKeys.keyChanges(aid)];
      return text(await redis.run(changeKey, keys, [read, record, `${kid} ${gen}`])) === 'ok';
    },
    async finishChange(aid, kid, gen) {
      await redis.write('SREM', [redisKeys.keyChanges(aid), `${kid} ${gen}`]);
    },
    async changesLeft(aid) {
      const left = list(await redis.command('SMEMBERS', [redisKeys.keyChanges(aid)])).map(text);
      return left.flatMap((member) => {
        const [kid = '', gen = ''] = member.split(' ');
        return /^\d+$/.test(gen) ? [{ kid, gen: Number(gen) }] : [];
      });
    },
    async replace(aid, user, read, record) {
      return text(await redis.run(replaceRecord, [redisKeys.keyRecord(aid, user)], [read, record])) === 'ok';
    },
    async users(aid, after, limit) {
      const from = after === undefined ? '-' : `(${after}`;
      const found = await redis.command('ZRANGE', [
        redisKeys.keyDirectory(aid),
        from,
        '+',
        'BYLEX',
        'LIMIT',
        0,
        limit,
      ]);
      return list(found).map(text);
    },
    async moveFences(kid, gen) {
      await eachBucket(kid, (bucket) => redis.run(moveFence, [redisKeys.fence(bucket)], [gen]));
    },
    async close(kid, deletion) {
      const replies = await eachBucket(kid, async (bucket) =>
        list(
          await redis.run(
            closeFence,
            [redisKeys.fence(bucket), redisKeys.times(bucket)],
            [CLOSED_MS, deletion],
          ),
        ),
      );
      if (replies.some((reply) => count(reply[0]) < 0)) {
        return 'busy';
      }
      return {
        items: replies.reduce((sum, reply) => sum + count(reply[0]), 0),
        actBefore: Math.min(...replies.map((reply) => count(reply[1]))) + DELETE_WITHIN_MS,
      };
    },
    async reopen(kid, deletion) {
      await eachBucket(kid, (bucket) => redis.run(openFence, [redisKeys.fence(bucket)], [deletion]));
    },
    async remove({ aid, user, kid, read, actBefore }) {
      const keys = [redisKeys.keyRecord(aid, user), redisKeys.keyDirectory(aid), redisKeys.purge(aid)];
      const reply = text(await redis.run(deleteKey, keys, [read, user, kid, actBefore]));
      if (reply === 'ok' || reply === 'changed' || reply === 'late') {
        return reply;
      }
      throw new VaultError('internal');
    },
    async purge(aid, kid) {
      await eachBucket(kid, (bucket) => redis.run(buryFence, [redisKeys.fence(bucket)], []));
      await eachBucket(kid, purgeOne);
      await redis.write('SREM', [redisKeys.purge(aid), kid]);
    },
    async purgesLeft(aid) {
      return list(await redis.command('SMEMBERS', [redisKeys.purge(aid)])).map(text);
    },
  };
}
