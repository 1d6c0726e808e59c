import { beforeAll, expect, test } from 'bun:test';
import { KeyStore } from '../../server/key/store.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { useRedis } from '../redis/redis.ts';

const record = Buffer.from('record one');
const KID = 'kid-for-key-tests';

const redis = useRedis();
let keys: KeyStore;
beforeAll(() => {
  keys = new KeyStore(redis.link, 4);
});

test('an identifier has one winner', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, () => keys.create('aid', 'user', record)));
  expect(made.filter((outcome) => outcome === 'ok')).toHaveLength(1);
  expect(await keys.users('aid', undefined, -1)).toEqual(['user']);
});

test('only the record that was read is replaced or deleted', async () => {
  await keys.create('aid', 'user', record);
  expect(await keys.replace('aid', 'user', Buffer.from('other'), Buffer.from('new'))).toBe(false);
  expect(await keys.replace('aid', 'user', record, Buffer.from('new'))).toBe(true);
  const closed = await keys.close(KID, 'one');
  const actBefore = closed.kind === 'busy' ? 0 : closed.actBefore;
  const key = { aid: 'aid', user: 'user', kid: KID, read: Buffer.from('new'), proof: Buffer.from('proof') };
  expect(await keys.remove({ ...key, read: record, actBefore })).toBe('changed');
  expect(await keys.remove({ ...key, actBefore: 1 })).toBe('late');
  expect(await keys.remove({ ...key, actBefore })).toBe('ok');
  expect(await keys.purgesLeft('aid')).toEqual([KID]);
  await keys.purge('aid', KID);
  expect(await keys.purgesLeft('aid')).toEqual([]);
});

test('a purge leaves nothing but closed fences, which expire', async () => {
  const bucket = { kid: KID, number: 0 };
  await redis.link.write('ZADD', [redisKeys.times(bucket), 1, 'a', 2, 'b']);
  await redis.link.write('HSET', [redisKeys.item(bucket, 'a'), 'c', 'x']);
  await redis.link.write('SET', [redisKeys.sad(bucket, 'b'), 'x']);
  await redis.link.write('HSET', [redisKeys.identities(bucket), 'a', 'x']);
  await keys.purge('aid', KID);
  expect((await redis.raw.keys('*')).toSorted()).toEqual(
    [0, 1, 2, 3].map((number) => redisKeys.fence({ kid: KID, number })),
  );
  expect(Number(await redis.link.command('PTTL', [redisKeys.fence(bucket)]))).toBeGreaterThan(0);
});

test('a key is closed for one deletion at a time, and opened only by that one', async () => {
  expect(await keys.close(KID, 'one')).toMatchObject({ items: 0 });
  expect(await keys.close(KID, 'two')).toEqual({ kind: 'busy' });
  await keys.reopen(KID, 'two');
  expect(await keys.close(KID, 'two')).toEqual({ kind: 'busy' });
  await keys.reopen(KID, 'one');
  expect(await keys.close(KID, 'two')).toMatchObject({ items: 0 });
  await keys.purge('aid', KID);
  expect(await keys.close(KID, 'two')).toEqual({ kind: 'busy' });
});

test('a fence moves forward only', async () => {
  await keys.moveFences(KID, 3);
  await keys.moveFences(KID, 2);
  expect(String(await redis.link.command('HGET', [redisKeys.fence({ kid: KID, number: 0 }), 'g']))).toBe('3');
});
