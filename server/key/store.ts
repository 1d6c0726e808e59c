import { type RedisLink, script } from '../redis/client.ts';
import prelude from '../redis/records/bucket-prelude.lua' with { type: 'text' };
import { redisKeys } from '../redis/records/keys.ts';
import type { Bucket } from '../redis/records/name.ts';
import { nameSinkBuckets } from '../redis/records/outbox.ts';
import sinkPrelude from '../redis/records/outbox-prelude.lua' with { type: 'text' };
import replaceRecordText from '../redis/records/replace-record-1.lua' with { type: 'text' };
import { asCount, asList, asOneOf, asOptionalBytes, asText, isOk } from '../redis/reply.ts';
import changeKeyText from './change-key-3.lua' with { type: 'text' };
import closeFenceText from './close-fence-2.lua' with { type: 'text' };
import createKeyText from './create-key-2.lua' with { type: 'text' };
import deleteKeyText from './delete-key-5.lua' with { type: 'text' };
import moveFenceText from './move-fence-1.lua' with { type: 'text' };
import openFenceText from './open-fence-1.lua' with { type: 'text' };
import purgeBucketText from './purge-bucket-10.lua' with { type: 'text' };
import retireFenceText from './retire-fence-1.lua' with { type: 'text' };

const createKey = script(createKeyText);
const replaceRecord = script(replaceRecordText);
const changeKey = script(changeKeyText);
const deleteKey = script(deleteKeyText);
const moveFence = script(moveFenceText);
const closeFence = script(prelude, closeFenceText);
const openFence = script(openFenceText);
const retireFence = script(retireFenceText);
const purgeBucket = script(sinkPrelude, purgeBucketText);

/**
 * How long a bucket stays closed while a key is deleted, and how much of that the deletion may use. The rest is longer than
 * any server caches a key, so that no server uses a key whose deletion was interrupted.
 */
const CLOSED_MS = 90_000;
const DELETE_WITHIN_MS = 20_000;
const PURGE_STEP = 500;
/** Until when the buckets of a deleted key are closed, as `retire-fence` writes it. */
const CLOSED_FOR_EVER = '9000000000000000';

/** `busy`: another deletion of the key is in progress or done. */
export type CloseResult =
  | { readonly kind: 'busy' }
  | {
      readonly kind: 'closed';
      /** The number of items in all buckets. */
      readonly items: number;
      /** The latest time to remove the record, ms since 1970. */
      readonly actBefore: number;
    };

/** The records of a key as of one moment. */
export interface KeyPair {
  readonly record: Buffer | undefined;
  readonly recovery: Buffer | undefined;
}

/** What takes the place of the records of a key. */
export interface KeyChange {
  readonly aid: string;
  readonly user: string;
  readonly kid: string;
  /** The new generation; none where it stays. */
  readonly gen?: number | undefined;
  readonly read: Pick<KeyPair, 'recovery'> & { readonly record: Uint8Array };
  readonly next: { readonly record: Uint8Array; readonly recovery: Uint8Array | undefined };
}

/** Records of vault keys, their directory, and the fences of their buckets. */
export interface KeyStore {
  /** The encrypted record; undefined if the key does not exist. */
  read(aid: string, user: string): Promise<Buffer | undefined>;
  /** The record with that of the recovery. */
  readPair(aid: string, user: string): Promise<KeyPair>;
  /** False if the identifier is in use. */
  create(aid: string, user: string, record: Uint8Array): Promise<boolean>;
  /** Stores both records of a key; under a new generation, `finishChange` must follow. False if either has changed. */
  change(change: KeyChange): Promise<boolean>;
  /** Records that a change is complete. */
  finishChange(aid: string, kid: string, gen: number): Promise<void>;
  /** Changes that may have been interrupted after their record was stored. */
  changesLeft(aid: string): Promise<readonly { readonly kid: string; readonly gen: number }[]>;
  /** Replaces the record that was read; false if it has changed. */
  replace(aid: string, user: string, read: Uint8Array, record: Uint8Array): Promise<boolean>;
  /** Identifiers in order, starting after `after`. */
  users(aid: string, after: string | undefined, limit: number): Promise<readonly string[]>;
  /** Blocks reads and writes of requests that started under an older generation. */
  moveFences(kid: string, gen: number): Promise<void>;
  /** Closes the buckets of a key for a limited time, for one deletion. */
  close(kid: string, deletion: string): Promise<CloseResult>;
  /** Opens the buckets that this deletion has closed. */
  reopen(kid: string, deletion: string): Promise<void>;
  /** Deletes the record but not the data; `late` if the buckets may be open again. */
  remove(key: {
    aid: string;
    user: string;
    kid: string;
    read: Uint8Array;
    actBefore: number;
    /** That the service deletes this key. */
    proof: Uint8Array;
  }): Promise<'ok' | 'changed' | 'late'>;
  /** Closes the buckets of a deleted key permanently and deletes their data. */
  purge(aid: string, kid: string): Promise<void>;
  /** Whether a key was deleted: known while its data is deleted, and for a day after. */
  isGone(aid: string, kid: string): Promise<boolean>;
  /** Deleted keys whose purge was interrupted. */
  purgesLeft(aid: string): Promise<readonly string[]>;
}

async function closeBucket(redis: RedisLink, bucket: Bucket, deletion: string) {
  const keys = [redisKeys.fence(bucket), redisKeys.times(bucket)];
  const [items, closedAt] = asList(await redis.run(closeFence, keys, [CLOSED_MS, deletion]));
  return asCount(items) < 0 ? undefined : { items: asCount(items), closedAt: asCount(closedAt) };
}

async function purgeOne(redis: RedisLink, bucket: Bucket, isStreamed: boolean): Promise<void> {
  const keys = [
    redisKeys.times(bucket),
    redisKeys.references(bucket),
    redisKeys.identities(bucket),
    redisKeys.logHeads(bucket),
    redisKeys.changedLogs(bucket),
    redisKeys.removedLogs(bucket),
    redisKeys.undelivered(bucket),
    redisKeys.metadata(bucket),
    redisKeys.expiries(bucket),
    redisKeys.outbox(bucket),
  ];
  const args = [redisKeys.item(bucket, ''), redisKeys.sad(bucket, ''), PURGE_STEP, isStreamed ? '1' : ''];
  while (asCount(await redis.run(purgeBucket, keys, args)) > 0) {
    // Each call removes one chunk, so that other requests are not delayed.
  }
}

async function isGone(redis: RedisLink, aid: string, kid: string): Promise<boolean> {
  const [purges, closedUntil] = await Promise.all([
    redis.command('SMEMBERS', [redisKeys.purge(aid)]),
    redis.command('HGET', [redisKeys.fence({ kid, number: 0 }), 'c']),
  ]);
  return (
    asList(purges).map(asText).includes(kid) ||
    (closedUntil !== null && asText(closedUntil) === CLOSED_FOR_EVER)
  );
}

async function readPair(redis: RedisLink, aid: string, user: string): Promise<KeyPair> {
  const names = [redisKeys.keyRecord(aid, user), redisKeys.recovery(aid, user)];
  const [record = null, recovery = null] = asList(await redis.command('MGET', names));
  return { record: asOptionalBytes(record), recovery: asOptionalBytes(recovery) };
}

async function storeChange(
  redis: RedisLink,
  { aid, user, kid, gen, read, next }: KeyChange,
): Promise<boolean> {
  const keys = [redisKeys.keyRecord(aid, user), redisKeys.keyChanges(aid), redisKeys.recovery(aid, user)];
  const change = gen === undefined ? '' : `${kid} ${gen}`;
  const recoveries = [read.recovery ?? '', next.recovery ?? ''];
  return isOk(await redis.run(changeKey, keys, [read.record, next.record, change, ...recoveries]));
}

async function changesLeft(redis: RedisLink, aid: string): ReturnType<KeyStore['changesLeft']> {
  const members = asList(await redis.command('SMEMBERS', [redisKeys.keyChanges(aid)])).map(asText);
  return members.flatMap((member) => {
    const [kid = '', gen = ''] = member.split(' ');
    return /^\d+$/.test(gen) ? [{ kid, gen: Number(gen) }] : [];
  });
}

/** The keys of one Redis. `buckets` is fixed for the life of the vault; with `isStreamed`, undelivered logs outlive a key. */
export function createKeyStore(redis: RedisLink, buckets: number, isStreamed = false): KeyStore {
  const eachBucket = <T>(kid: string, act: (bucket: Bucket) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: buckets }, (_, number) => act({ kid, number })));

  return {
    async read(aid, user) {
      return asOptionalBytes(await redis.command('GET', [redisKeys.keyRecord(aid, user)]));
    },
    readPair: (aid, user) => readPair(redis, aid, user),
    async create(aid, user, record) {
      const keys = [redisKeys.keyRecord(aid, user), redisKeys.keyDirectory(aid)];
      return isOk(await redis.run(createKey, keys, [record, user]));
    },
    change: (change) => storeChange(redis, change),
    async finishChange(aid, kid, gen) {
      await redis.write('SREM', [redisKeys.keyChanges(aid), `${kid} ${gen}`]);
    },
    changesLeft: (aid) => changesLeft(redis, aid),
    async replace(aid, user, read, record) {
      return isOk(await redis.run(replaceRecord, [redisKeys.keyRecord(aid, user)], [read, record]));
    },
    async users(aid, after, limit) {
      const range = [after === undefined ? '-' : `(${after}`, '+', 'BYLEX', 'LIMIT', 0, limit];
      return asList(await redis.command('ZRANGE', [redisKeys.keyDirectory(aid), ...range])).map(asText);
    },
    async moveFences(kid, gen) {
      await eachBucket(kid, (bucket) => redis.run(moveFence, [redisKeys.fence(bucket)], [gen]));
    },
    async close(kid, deletion) {
      const closed = await eachBucket(kid, (bucket) => closeBucket(redis, bucket, deletion));
      const own = closed.filter((bucket) => bucket !== undefined);
      if (own.length < closed.length) {
        return { kind: 'busy' };
      }
      const items = own.reduce((sum, bucket) => sum + bucket.items, 0);
      const actBefore = Math.min(...own.map(({ closedAt }) => closedAt)) + DELETE_WITHIN_MS;
      return { kind: 'closed', items, actBefore };
    },
    async reopen(kid, deletion) {
      await eachBucket(kid, (bucket) => redis.run(openFence, [redisKeys.fence(bucket)], [deletion]));
    },
    async remove({ aid, user, kid, read, actBefore, proof }) {
      const keys = [
        redisKeys.keyRecord(aid, user),
        redisKeys.keyDirectory(aid),
        redisKeys.purge(aid),
        redisKeys.accountHeads(aid),
        redisKeys.recovery(aid, user),
      ];
      return asOneOf(await redis.run(deleteKey, keys, [read, user, kid, actBefore, proof]), [
        'ok',
        'changed',
        'late',
      ]);
    },
    async purge(aid, kid) {
      await eachBucket(kid, (bucket) => redis.run(retireFence, [redisKeys.fence(bucket)], []));
      await eachBucket(kid, (bucket) => purgeOne(redis, bucket, isStreamed));
      await (isStreamed ? nameSinkBuckets(redis, aid, kid, Array(buckets).keys()) : undefined);
      await redis.write('SREM', [redisKeys.purge(aid), kid]);
    },
    isGone: (aid, kid) => isGone(redis, aid, kid),
    async purgesLeft(aid) {
      return asList(await redis.command('SMEMBERS', [redisKeys.purge(aid)])).map(asText);
    },
  };
}
