/** What a bucket's indexes name, in steps. */
import type { Bucket } from '../records/name.ts';
import type { RedisLink } from './client.ts';
import { redisKeys } from './keys.ts';
import { scanByScore } from './scan.ts';

/** The indexes whose members end with their token: by references, and by metadata. */
export type MemberIndex = 'references' | 'metadata';

/**
 * The tokens of a bucket in the order of the time index, then those of which expiry has left the log alone. One that is
 * written meanwhile may come twice.
 */
export async function* scanTokens(
  redis: RedisLink,
  bucket: Bucket,
  step: number,
): AsyncGenerator<readonly string[], void, void> {
  yield* scanByScore(redis, redisKeys.times(bucket), step);
  yield* scanByScore(redis, redisKeys.expiries(bucket), step, '(0');
}
