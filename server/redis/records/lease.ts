import type { RedisLink } from '../client.ts';
import { asText } from '../reply.ts';

/** Acquires a lease, unless it is held. It ends after `ms`, also when its holder has died. */
export async function claimLease(
  redis: RedisLink,
  key: string,
  holder: string,
  ms: number,
): Promise<boolean> {
  return (await redis.write('SET', [key, holder, 'NX', 'PX', ms])) !== null;
}

/** Extends a lease; false if it is another's by now, or nobody's. */
export async function extendLease(
  redis: RedisLink,
  key: string,
  holder: string,
  ms: number,
): Promise<boolean> {
  return (await isHeldBy(redis, key, holder)) && (await redis.write('PEXPIRE', [key, ms])) === 1;
}

/** Ends a lease, unless it is another's by now. */
export async function releaseLease(redis: RedisLink, key: string, holder: string): Promise<void> {
  if (await isHeldBy(redis, key, holder)) {
    await redis.write('DEL', [key]);
  }
}

/** Returns how many ms a lease lasts; 0 if nobody has it. */
export async function leaseLeft(redis: RedisLink, key: string): Promise<number> {
  return Math.max(0, Number(await redis.command('PTTL', [key])));
}

async function isHeldBy(redis: RedisLink, key: string, holder: string): Promise<boolean> {
  const found = await redis.command('GET', [key]);
  return found !== null && asText(found) === holder;
}
