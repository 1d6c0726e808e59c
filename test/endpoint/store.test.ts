import { beforeAll, expect, test } from 'bun:test';
import { EndpointStore } from '../../server/endpoint/store.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { useRedis } from '../redis/redis.ts';

const ENTRY = { kid: 'kid', kind: 'capture', nonce: 'nonce', id: 'shop' } as const;
const RECORDS = { policy: Buffer.from('policy'), wrap: Buffer.from('wrap') };

const redis = useRedis();
let store: EndpointStore;
beforeAll(() => {
  store = new EndpointStore(redis.link);
});

function commit(nonce = 'nonce'): Promise<boolean> {
  return store.commit('shop', { nonce, aid: 'aid', ...RECORDS });
}
async function stop(): Promise<void> {
  await store.enter('aid', ENTRY, 0, 1);
  await store.stopBefore('aid', 'kid', 2);
}

test('an id is reserved for one, for a minute, and then kept by its endpoint', async () => {
  expect(await store.reserve('shop', 'nonce')).toBe(true);
  expect(await store.reserve('shop', 'other')).toBe(false);
  expect(await redis.raw.pttl(redisKeys.endpoint('shop'))).toBeWithin(50_000, 60_001);
  expect(await store.read('shop')).toBeUndefined();
  expect(await commit('other')).toBe(false);
  expect(await commit()).toBe(true);
  expect(await redis.raw.pttl(redisKeys.endpoint('shop'))).toBe(-1);
  expect(await store.read('shop')).toEqual({
    nonce: 'nonce',
    aid: 'aid',
    ...RECORDS,
    stoppedAt: undefined,
    uses: 0,
    seeds: '',
    usesDone: 0,
    lastUseAt: 0,
  });
});

test('a commit that comes twice does not bring back what was stopped in between', async () => {
  await store.reserve('shop', 'nonce');
  await commit();
  await stop();
  expect(await commit()).toBe(true);
  expect(await store.read('shop')).toMatchObject({ wrap: undefined, stoppedAt: expect.any(Number) });
});

test('an endpoint is stopped once: a second time does not put its end off', async () => {
  await store.reserve('shop', 'nonce');
  await commit();
  await stop();
  await redis.raw.hset(redisKeys.endpoint('shop'), 'x', '1000');
  await stop();
  expect((await store.read('shop'))?.stoppedAt).toBe(1000);
});

test('a reservation that is stopped is free again', async () => {
  await store.reserve('shop', 'nonce');
  await stop();
  expect(await commit()).toBe(false);
  expect(await store.reserve('shop', 'other')).toBe(true);
});
