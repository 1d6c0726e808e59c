import type { RedisLink } from '../client.ts';
import { redisKeys } from './keys.ts';

/** Names buckets that may have entries to deliver. */
export async function nameSinkBuckets(
  redis: RedisLink,
  aid: string,
  kid: string,
  numbers: Iterable<number>,
): Promise<void> {
  const members = [...numbers].map((number) => `${aid} ${kid} ${number}`);
  await (members.length === 0 ? undefined : redis.write('SADD', [redisKeys.sinkBuckets, ...members]));
}
