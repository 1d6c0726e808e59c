import { expect, test } from 'bun:test';
import { SurveyStore } from '../../server/maintenance/store/survey.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { useRedis } from '../redis/redis.ts';

const BUCKET = { kid: 'kid', number: 3 };
const READ = Buffer.from('a record that ends in sixteen bytes');

const redis = useRedis();

test('a record is replaced only where it is still what was read', async () => {
  const store = new SurveyStore(redis.link);
  const { raw } = redis;
  const name = redisKeys.item(BUCKET, 'token');
  const replacement = { item: 0, name: 'm', tag: READ.subarray(-16), record: Buffer.from('re-encrypted') };
  expect(await store.replace(BUCKET, ['token'], [replacement])).toBe(0);
  expect(await raw.exists(name)).toBe(0);
  await raw.hset(name, 'm', 'what somebody else has written meanwhile');
  expect(await store.replace(BUCKET, ['token'], [replacement])).toBe(0);
  expect(await raw.hget(name, 'm')).toBe('what somebody else has written meanwhile');
  await raw.hset(name, 'm', READ);
  expect(await store.replace(BUCKET, ['token'], [replacement])).toBe(1);
  expect(await raw.hget(name, 'm')).toBe('re-encrypted');
});
