import { afterAll, beforeAll, beforeEach } from 'bun:test';
import type Redis from 'ioredis';
import type { RedisLink } from '../../server/redis/client.ts';
import { openRedis } from '../../server/redis/open.ts';
import { openRaw, startTestRedis } from '../helpers/redis.ts';

/** The Redis of the tests, as stores reach it and past them. */
interface UsedRedis {
  link: RedisLink;
  raw: Redis;
}

/** Opens the Redis of the tests for the file that calls this, and empties it before each test. */
export function useRedis(): UsedRedis {
  const used = {} as UsedRedis;
  beforeAll(async () => {
    const { target, ...redis } = await startTestRedis();
    used.raw = openRaw({ target, ...redis });
    used.link = await openRedis(target, { replicas: 0 });
  });
  beforeEach(async () => {
    await used.raw.flushall();
  });
  afterAll(async () => {
    used.raw.disconnect();
    await used.link.close();
  });
  return used;
}
