import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { Lease } from '../redis/records/lease.ts';
import { asText } from '../redis/reply.ts';

/** The time until a server counts anew; a round looks more often, so that figures are renewed within a minute. */
const LEASE_MS = 50_000;
/** Older figures are unknown: no server counts any more. */
const KEPT_MS = 120_000;

/** Stores the figures of what expires, which one server of the vault counts for all. */
export class ExpiringStore {
  constructor(private readonly redis: RedisLink) {}

  /** Returns true for the server that is to count now. */
  claim(): Promise<boolean> {
    return new Lease(this.redis, redisKeys.expiringLease).claim('1', LEASE_MS);
  }

  async write(counts: readonly number[]): Promise<void> {
    await this.redis.write('SET', [redisKeys.expiring, counts.join(' '), 'PX', KEPT_MS]);
  }

  /** Returns the newest figures, in the order in which they were written; none if they are too old. */
  async read(): Promise<readonly number[]> {
    const counts = await this.redis.command('GET', [redisKeys.expiring]);
    return counts === null ? [] : asText(counts).split(' ').map(Number);
  }
}
