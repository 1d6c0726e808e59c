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
import createKeyText from './create-key-3.lua' with { type: 'text' };
import deleteKeyText from './delete-key-5.lua' with { type: 'text' };
import moveFenceText from './move-fence-1.lua' with { type: 'text' };
import openFenceText from './open-fence-1.lua' with { type: 'text' };
import purgeBucketText from './purge-bucket-11.lua' with { type: 'text' };
import retireFenceText from './retire-fence-1.lua' with { type: 'text' };
import setSummariesText from './set-summaries-1.lua' with { type: 'text' };

const createKey = script(createKeyText);
const replaceRecord = script(replaceRecordText);
const changeKey = script(changeKeyText);
const deleteKey = script(deleteKeyText);
const moveFence = script(moveFenceText);
const closeFence = script(prelude, closeFenceText);
const openFence = script(openFenceText);
const retireFence = script(retireFenceText);
const setSummaries = script(setSummariesText);
const purgeBucket = script(sinkPrelude, purgeBucketText);

/**
 * The time that a bucket stays closed while a key is deleted, and the part of it that the deletion may use. The rest is longer
 * than any server caches a key, so that no server uses a key whose deletion was interrupted.
 */
const CLOSED_MS = 90_000;
const DELETE_WITHIN_MS = 20_000;
const PURGE_STEP = 500;
/** The end of the closing of a deleted key's buckets, as `retire-fence` writes it. */
const CLOSED_FOR_EVER = '9000000000000000';

/** `busy`: another deletion of the key is in progress or done. */
export type CloseResult =
  | { readonly kind: 'busy' }
  | {
      readonly kind: 'closed';
      readonly items: number;
      /** The latest time to remove the record, ms since 1970. */
      readonly actBefore: number;
    };

/** The records of a key: its own, and that of its recovery. */
export interface KeyPair {
  readonly record: Uint8Array;
  readonly recovery: Uint8Array | undefined;
}

export interface KeyChange {
  readonly aid: string;
  readonly user: string;
  readonly kid: string;
  /** The new generation; undefined if it stays. */
  readonly gen?: number | undefined;
  readonly read: KeyPair;
  readonly next: KeyPair;
}

/** Stores vault keys: their records, their directory, and the fences of their buckets. */
export class KeyStore {
  constructor(
    private readonly redis: RedisLink,
    /** The number of buckets of each key, which is fixed for the life of the vault. */
    private readonly buckets: number,
    /** Logs of items are delivered to a sink. Undelivered ones outlive their key. */
    private readonly isStreamed = false,
  ) {}

  /** Returns the encrypted record; undefined if the key does not exist. */
  async read(aid: string, user: string): Promise<Buffer | undefined> {
    return asOptionalBytes(await this.redis.command('GET', [redisKeys.keyRecord(aid, user)]));
  }

  /** Returns both records as of one moment. */
  async readPair(aid: string, user: string) {
    const names = [redisKeys.keyRecord(aid, user), redisKeys.recovery(aid, user)];
    const [record = null, recovery = null] = asList(await this.redis.command('MGET', names));
    return { record: asOptionalBytes(record), recovery: asOptionalBytes(recovery) };
  }

  /** Stores a new key. `exists` if its name is in use, `closed` if its account is being deleted. */
  async create(aid: string, user: string, record: Uint8Array): Promise<'ok' | 'exists' | 'closed'> {
    const keys = [redisKeys.keyRecord(aid, user), redisKeys.keyDirectory(aid), redisKeys.closedAccount(aid)];
    return asOneOf(await this.redis.run(createKey, keys, [record, user]), ['ok', 'exists', 'closed']);
  }

  /** Replaces both records of a key; under a new generation, `finishChange` must follow. False if either has changed. */
  async change({ aid, user, kid, gen, read, next }: KeyChange): Promise<boolean> {
    const keys = [redisKeys.keyRecord(aid, user), redisKeys.keyChanges(aid), redisKeys.recovery(aid, user)];
    const change = gen === undefined ? '' : `${kid} ${gen}`;
    const recoveries = [read.recovery ?? '', next.recovery ?? ''];
    return isOk(await this.redis.run(changeKey, keys, [read.record, next.record, change, ...recoveries]));
  }

  async finishChange(aid: string, kid: string, gen: number): Promise<void> {
    await this.redis.write('SREM', [redisKeys.keyChanges(aid), `${kid} ${gen}`]);
  }

  /** Returns the changes that may have been interrupted after their record was stored. */
  async changesLeft(aid: string): Promise<readonly { readonly kid: string; readonly gen: number }[]> {
    const members = asList(await this.redis.command('SMEMBERS', [redisKeys.keyChanges(aid)])).map(asText);
    return members.flatMap((member) => {
      const [kid = '', gen = ''] = member.split(' ');
      return /^\d+$/.test(gen) ? [{ kid, gen: Number(gen) }] : [];
    });
  }

  /** Replaces the record that was read. False if it has changed. */
  async replace(aid: string, user: string, read: Uint8Array, record: Uint8Array): Promise<boolean> {
    return isOk(await this.redis.run(replaceRecord, [redisKeys.keyRecord(aid, user)], [read, record]));
  }

  /** Returns the names of keys in order, starting after `after`. */
  async users(aid: string, after: string | undefined, limit: number): Promise<readonly string[]> {
    const range = [after === undefined ? '-' : `(${after}`, '+', 'BYLEX', 'LIMIT', 0, limit];
    return asList(await this.redis.command('ZRANGE', [redisKeys.keyDirectory(aid), ...range])).map(asText);
  }

  /** Blocks reads and writes of requests that started under an older generation. */
  async moveFences(kid: string, gen: number): Promise<void> {
    await this.eachBucket(kid, (bucket) => this.redis.run(moveFence, [redisKeys.fence(bucket)], [gen]));
  }

  /** Blocks writes of requests that started when the key had no summaries, or had them. */
  async setSummaries(kid: string, hasSummaries: boolean): Promise<void> {
    const args = [hasSummaries ? '1' : '0'];
    await this.eachBucket(kid, (bucket) => this.redis.run(setSummaries, [redisKeys.fence(bucket)], args));
  }

  /** Closes the buckets of a key for a limited time, for one deletion. */
  async close(kid: string, deletion: string): Promise<CloseResult> {
    const closed = await this.eachBucket(kid, async (bucket) => {
      const keys = [redisKeys.fence(bucket), redisKeys.times(bucket)];
      return asList(await this.redis.run(closeFence, keys, [CLOSED_MS, deletion])).map(asCount);
    });
    if (closed.some(([items = -1]) => items < 0)) {
      return { kind: 'busy' };
    }
    const items = closed.reduce((sum, [count = 0]) => sum + count, 0);
    const actBefore = Math.min(...closed.map(([, closedAt = 0]) => closedAt)) + DELETE_WITHIN_MS;
    return { kind: 'closed', items, actBefore };
  }

  /** Opens the buckets that this deletion has closed. */
  async reopen(kid: string, deletion: string): Promise<void> {
    await this.eachBucket(kid, (bucket) => this.redis.run(openFence, [redisKeys.fence(bucket)], [deletion]));
  }

  /** Deletes the record but not the data. `late` if the buckets may be open again. */
  async remove({
    aid,
    user,
    kid,
    read,
    actBefore,
    proof,
  }: {
    readonly aid: string;
    readonly user: string;
    readonly kid: string;
    readonly read: Uint8Array;
    readonly actBefore: number;
    /** The proof that the service deletes this key. */
    readonly proof: Uint8Array;
  }): Promise<'ok' | 'changed' | 'late'> {
    const keys = [
      redisKeys.keyRecord(aid, user),
      redisKeys.keyDirectory(aid),
      redisKeys.purge(aid),
      redisKeys.accountHeads(aid),
      redisKeys.recovery(aid, user),
    ];
    const reply = await this.redis.run(deleteKey, keys, [read, user, kid, actBefore, proof]);
    return asOneOf(reply, ['ok', 'changed', 'late']);
  }

  /** Closes the buckets of a deleted key permanently and deletes their data. */
  async purge(aid: string, kid: string): Promise<void> {
    await this.eachBucket(kid, (bucket) => this.redis.run(retireFence, [redisKeys.fence(bucket)], []));
    await this.eachBucket(kid, (bucket) => this.purgeBucket(bucket));
    if (this.isStreamed) {
      await nameSinkBuckets(this.redis, aid, kid, Array(this.buckets).keys());
    }
    await this.redis.write('SREM', [redisKeys.purge(aid), kid]);
  }

  /** Returns whether a key was deleted: known while its data is deleted, and for a day after. */
  async isGone(aid: string, kid: string): Promise<boolean> {
    const [purges, closedUntil] = await Promise.all([
      this.purgesLeft(aid),
      this.redis.command('HGET', [redisKeys.fence({ kid, number: 0 }), 'c']),
    ]);
    return purges.includes(kid) || (closedUntil !== null && asText(closedUntil) === CLOSED_FOR_EVER);
  }

  /** Returns the deleted keys whose purge was interrupted. */
  async purgesLeft(aid: string): Promise<readonly string[]> {
    return asList(await this.redis.command('SMEMBERS', [redisKeys.purge(aid)])).map(asText);
  }

  private eachBucket<T>(kid: string, act: (bucket: Bucket) => Promise<T>): Promise<T[]> {
    return Promise.all(Array.from({ length: this.buckets }, (_, number) => act({ kid, number })));
  }

  private async purgeBucket(bucket: Bucket): Promise<void> {
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
      redisKeys.readings(bucket),
      redisKeys.outbox(bucket),
    ];
    const prefixes = [redisKeys.item(bucket, ''), redisKeys.sad(bucket, '')];
    const args = [...prefixes, PURGE_STEP, this.isStreamed ? '1' : ''];
    while (asCount(await this.redis.run(purgeBucket, keys, args)) > 0) {
      // Each call removes one chunk, so that other requests are not delayed.
    }
  }
}
