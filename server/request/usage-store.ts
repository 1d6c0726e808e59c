import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { readHash } from '../redis/records/scan.ts';
import { asCount } from '../redis/reply.ts';
import addCountsText from './add-counts-1.lua' with { type: 'text' };

const addCounts = script(addCountsText);

/** Usage of accounts: counts by month (`YYYY-MM`) and operation. */
export class UsageStore {
  constructor(private readonly redis: RedisLink) {}

  /** Adds to the counts of a month; counts may be negative. */
  async add(aid: string, month: string, counts: ReadonlyMap<string, number>): Promise<void> {
    await this.redis.run(addCounts, [redisKeys.usage(aid, month)], [...counts].flat());
  }

  async read(aid: string, month: string): Promise<ReadonlyMap<string, number>> {
    const fields = await readHash(this.redis, redisKeys.usage(aid, month));
    return new Map(fields.map(({ field, value }) => [field, asCount(value)]));
  }

  async remove(aid: string, months: readonly string[]): Promise<void> {
    await this.redis.write(
      'UNLINK',
      months.map((month) => redisKeys.usage(aid, month)),
    );
  }
}
