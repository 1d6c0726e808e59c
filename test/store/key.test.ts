import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createIdempotencyStore } from '../../server/store/idempotency.ts';
import { createKeyStore, type KeyStore } from '../../server/store/key.ts';
import type { RedisLink } from '../../server/store/redis/client.ts';
import { redisKeys } from '../../server/store/redis/keys.ts';
import { openRedis } from '../../server/store/redis/open.ts';
import { openRaw, startTestRedis, type TestRedis } from '../helpers/redis.ts';

let server: TestRedis;
let redis: RedisLink;
let keys: KeyStore;
const record = Buffer.from('record one');
const KID = 'kid-for-key-tests';

beforeAll(async () => {
  server = await startTestRedis({ durable: true });
  redis = await openRedis(server.target, { replicas: 0 });
  keys = createKeyStore(redis, 4);
});
beforeEach(() => server.flush());
afterAll(async () => {
  await redis.close();
  await server.stop();
});

describe('key records', () => {
  test('an identifier has one winner', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => keys.create('aid', 'user', record)));
    expect(made.filter(Boolean)).toHaveLength(1);
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
    await redis.write('ZADD', [redisKeys.times(bucket), 1, 'a', 2, 'b']);
    await redis.write('HSET', [redisKeys.item(bucket, 'a'), 'c', 'x']);
    await redis.write('SET', [redisKeys.sad(bucket, 'b'), 'x']);
    await redis.write('HSET', [redisKeys.identities(bucket), 'a', 'x']);
    await keys.purge('aid', KID);
    const raw = openRaw(server);
    const left = await raw.keys('*');
    raw.disconnect();
    expect(left.toSorted()).toEqual([0, 1, 2, 3].map((number) => redisKeys.fence({ kid: KID, number })));
    expect(Number(await redis.command('PTTL', [redisKeys.fence(bucket)]))).toBeGreaterThan(0);
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
    expect(String(await redis.command('HGET', [redisKeys.fence({ kid: KID, number: 0 }), 'g']))).toBe('3');
  });
});

describe('idempotency', () => {
  const print = Buffer.from('fingerprint');

  test('one of many claims wins; the others hear that it is busy until there is a reply', async () => {
    const store = createIdempotencyStore(redis);
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, i) => store.claim('d', print, `seed-${i}`, 'aid')),
    );
    const [mine] = claims.filter((claim) => claim.kind === 'mine');
    expect(claims.filter((claim) => claim.kind === 'busy')).toHaveLength(9);
    const seed = mine?.kind === 'mine' ? mine.seed : '';
    await store.keep('d', seed, Buffer.from('reply'));
    expect(await store.claim('d', print, 'late', 'aid')).toEqual({
      kind: 'done',
      reply: Buffer.from('reply'),
      seed,
    });
    expect((await store.claim('d', Buffer.from('other request'), 'x', 'aid')).kind).toBe('other');
  });

  test('who takes over after a lease ran out gets the first seed', async () => {
    const store = createIdempotencyStore(redis);
    await store.claim('d', print, 'first', 'aid');
    await store.yield('d', 'first');
    expect(await store.claim('d', print, 'second', 'aid')).toEqual({
      kind: 'mine',
      seed: 'first',
      sent: undefined,
    });
  });

  test('a refused request is forgotten; somebody else cannot end a claim', async () => {
    const store = createIdempotencyStore(redis);
    await store.claim('d', print, 'first', 'aid');
    await store.release('d', 'not mine');
    expect((await store.claim('d', print, 'second', 'aid')).kind).toBe('busy');
    await store.release('d', 'first');
    expect(await store.claim('d', Buffer.from('other'), 'third', 'aid')).toEqual({
      kind: 'mine',
      seed: 'third',
      sent: undefined,
    });
  });

  test('a record lives a day and no longer', async () => {
    const store = createIdempotencyStore(redis);
    await store.claim('d', print, 'first', 'aid');
    const ttl = Number(await redis.command('PTTL', [redisKeys.idempotency('d')]));
    expect(ttl).toBeGreaterThan(86_000_000);
    expect(ttl).toBeLessThanOrEqual(86_400_000);
  });
});
