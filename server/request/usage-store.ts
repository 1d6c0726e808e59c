import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import type { Bucket } from '../redis/records/name.ts';
import { readHash } from '../redis/records/scan.ts';
import { asCount, asPairs, asText, isOk } from '../redis/reply.ts';
import dropCountsText from './drop-counts-1.lua' with { type: 'text' };
import foldCountsText from './fold-counts-n.lua' with { type: 'text' };
import takeCountsText from './take-counts-2.lua' with { type: 'text' };

const takeCounts = script(takeCountsText);
const foldCounts = script(foldCountsText);
const dropCounts = script(dropCountsText);

/** A number to add to a count of a month. */
export type Addend = readonly [month: string, name: string, n: string];

/** Usage of accounts: counts by month (`YYYY-MM`) and name, and counts of buckets that are to be added to them. */
export class UsageStore {
  constructor(private readonly redis: RedisLink) {}

  /** Adds one to each of these counts of a month. */
  async add(aid: string, month: string, names: readonly string[]): Promise<void> {
    const key = redisKeys.usage(aid, month);
    await Promise.all(names.map((name) => this.redis.write('HINCRBY', [key, name, 1])));
  }

  async read(aid: string, month: string): Promise<ReadonlyMap<string, number>> {
    const fields = await readHash(this.redis, redisKeys.usage(aid, month));
    return new Map(fields.map(({ field, value }) => [field, asCount(value)]));
  }

  async remove(aid: string, months: readonly string[]): Promise<void> {
    const usage = months.map((month) => redisKeys.usage(aid, month));
    await this.redis.write('UNLINK', [redisKeys.usageFold(aid), ...usage]);
  }

  /** Returns whether a bucket has counts, taken or not. */
  async hasCounts(bucket: Bucket): Promise<boolean> {
    const keys = [redisKeys.counts(bucket), redisKeys.takenCounts(bucket)];
    return (await this.redis.command('EXISTS', keys)) !== 0;
  }

  /**
   * Returns the names of the taken counts that were last added to those of an account, in lines. A missing note is made, so that
   * a fold that ends after the deletion of the account adds nothing.
   */
  async lastFold(aid: string): Promise<string> {
    const names = await this.redis.write('SET', [redisKeys.usageFold(aid), '', 'NX', 'GET']);
    return names === null ? '' : asText(names);
  }

  /** Renames the counts of a bucket to taken ones, unless some are taken already; undefined if there are none. */
  async take(bucket: Bucket, newId: string) {
    const key = redisKeys.takenCounts(bucket);
    const fields = asPairs(await this.redis.run(takeCounts, [redisKeys.counts(bucket), key], [newId]));
    const counts = new Map(fields.map(([field, n]) => [asText(field), asText(n)]));
    return counts.size === 0 ? undefined : { name: `${key} ${counts.get('id')}`, counts };
  }

  /** Adds taken counts to those of an account; false if `last` is no longer its last fold. */
  async fold(aid: string, last: string, names: string, addends: readonly Addend[]): Promise<boolean> {
    const months = [...new Set(addends.map(([month]) => month))];
    const keys = [redisKeys.usageFold(aid), ...months.map((month) => redisKeys.usage(aid, month))];
    const args = addends.flatMap(([month, name, n]) => [months.indexOf(month) + 2, name, n]);
    return isOk(await this.redis.run(foldCounts, keys, [last, names, ...args]));
  }

  /** Deletes taken counts that were added to those of their account. */
  async drop(name: string): Promise<void> {
    const [key = '', id = ''] = name.split(' ');
    await this.redis.run(dropCounts, [key], [id]);
  }
}
