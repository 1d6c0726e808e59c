import { expect, test } from 'bun:test';
import { type ServerEntry, ServerStore } from '../../server/installation/server-store.ts';
import { Siblings } from '../../server/installation/servers.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { useRedis } from '../redis/redis.ts';

const redis = useRedis();
const noRoots = async (): Promise<string> => '';

function entryOf(id: string): ServerEntry {
  return {
    id,
    host: 'a host',
    network: 'net:[1] x',
    address: '::1',
    port: 8080,
    pid: 7,
    version: '1.0',
    started: '2026-01-01T00:00:00.000Z',
    roots: '',
    certificateEnd: '2026-03-01T00:00:00.000Z',
  };
}

test('a server on another network stack shares no port, whatever its address', async () => {
  const store = new ServerStore(redis.link);
  const own = { address: '::1', port: 8080, version: '1.0', certificateEnd: '' };
  const siblings = new Siblings(store, { ...own, id: 'own' }, noRoots);
  await store.heartbeat(entryOf('elsewhere'));
  expect(await siblings.havePort()).toBe(false);
  const other = new Siblings(store, { ...own, id: 'other' }, noRoots);
  await other.announce();
  expect(await siblings.havePort()).toBe(true);
  await other.withdraw();
  expect(await siblings.havePort()).toBe(false);
});

test('servers tell of each other until they leave', async () => {
  const store = new ServerStore(redis.link);
  expect(await store.list()).toEqual([]);
  expect(await store.heartbeat(entryOf('a'))).toEqual([entryOf('a')]);
  expect(await store.heartbeat(entryOf('b'))).toEqual([entryOf('a'), entryOf('b')]);
  expect(await store.heartbeat(entryOf('a'))).toHaveLength(2);
  await store.leave('a');
  expect(await store.list()).toEqual([entryOf('b')]);
});

test('a server that tells no more is forgotten when its lease is over', async () => {
  const store = new ServerStore(redis.link);
  await store.heartbeat(entryOf('a'));
  const told = String(await redis.link.command('HGET', [redisKeys.servers, 'a']));
  const [expires = '', ...rest] = told.split(' ');
  const left = Number(expires) - Date.now();
  expect(left).toBeGreaterThan(10_000);
  expect(left).toBeLessThan(16_000);
  await redis.link.write('HSET', [redisKeys.servers, 'a', [Date.now() - 1, ...rest].join(' ')]);
  expect(await store.list()).toEqual([]);
  expect(await redis.link.command('HEXISTS', [redisKeys.servers, 'a'])).toBe(0);
});

test('what somebody else has written there harms nobody', async () => {
  await redis.link.write('HSET', [redisKeys.servers, 'x', 'nonsense', 'y', '99999999999999 %', 'z', '']);
  const listed = await new ServerStore(redis.link).list();
  expect(listed.map(({ id, host, port }) => ({ id, host, port }))).toEqual([{ id: 'y', host: '', port: 0 }]);
});
