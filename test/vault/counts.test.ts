/** Scripts that write, log or delete items count what they have done, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { RedisLink } from '../../server/redis/client.ts';
import { openRedis } from '../../server/redis/open.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { ItemStore, type ItemWrite } from '../../server/vault/store/items.ts';
import { naming } from '../helpers/log-entry.ts';
import { startTestRedis } from '../helpers/redis.ts';

const NONE = new Uint8Array(0);
const BUCKET = { kid: 'kid', number: 0 };
const META = Buffer.from('metadata of an item');
const ENTRY = Buffer.from('an entry of its log');

let redis: RedisLink;
let items: ItemStore;

beforeAll(async () => {
  const server = await startTestRedis();
  await server.flush();
  redis = await openRedis(server.target, { replicas: 0 });
  items = new ItemStore(redis, 1);
});
afterAll(() => redis.close());

function newItem(token: string, more: Partial<ItemWrite> = {}): ItemWrite {
  const parts = { item: NONE, meta: META, sad: NONE, refMember: NONE, identity: NONE };
  return { token, gen: 1, ...parts, sadExpiresAt: 0, logEntry: naming(ENTRY), ...more };
}

async function countOf(name: string): Promise<number> {
  return Number((await redis.command('HGET', [redisKeys.counts(BUCKET), name])) ?? 0);
}

test('written items, without those of a seed that was written before and those that are not written', async () => {
  const first = [newItem('a', { seed: 'seed-a' }), newItem('b')];
  await items.writeMany(BUCKET, first, 'written');
  expect(await countOf('written')).toBe(2);
  const again = [newItem('a', { seed: 'seed-a' }), newItem('b'), newItem('c'), newItem('d')];
  const outcomes = await items.writeMany(BUCKET, again, 'written');
  expect(outcomes.map((outcome) => [outcome.kind, outcome.kind === 'ok' && outcome.isRepeat])).toEqual([
    ['ok', true],
    ['exists', false],
    ['ok', false],
    ['ok', false],
  ]);
  expect(await countOf('written')).toBe(4);
});

test('logged items, without missing ones and those that the fence stops', async () => {
  const entry = naming(ENTRY);
  await items.appendLog(BUCKET, ['a', 'none', 'c'], [entry, entry, NONE], 1, 'logged');
  await items.appendOne('kid', 'd', entry, 1, 'logged');
  expect(await countOf('logged')).toBe(2);
  await items.appendOne('kid', 'd', entry, 2, 'logged');
  expect((await items.appendOne('kid', 'd', entry, 1, 'logged')).kind).toBe('stale');
  expect(await countOf('logged')).toBe(3);
});

test('deleted items, without missing and changed ones', async () => {
  const metaTag = META.subarray(-16);
  const firstTag = ENTRY.subarray(-16);
  const removals = ['a', 'none', 'b'].map((token) => ({
    ...{ token, firstTag, proof: NONE, refMember: NONE },
    metaTag: token === 'b' ? NONE : metaTag,
  }));
  expect(await items.remove(BUCKET, removals, 'deleted')).toEqual(['ok', 'missing', 'changed']);
  expect(await countOf('deleted')).toBe(1);
  expect(await items.remove(BUCKET, removals.slice(1, 2), 'deleted')).toEqual(['missing']);
  expect(await countOf('deleted')).toBe(1);
});

test('nothing where no count is named', async () => {
  expect((await items.write('kid', newItem('e', { gen: 2 }))).kind).toBe('ok');
  await items.appendOne('kid', 'e', naming(ENTRY), 2);
  const names = await redis.command('HKEYS', [redisKeys.counts(BUCKET)]);
  expect(String(names).split(',').sort()).toEqual(['deleted', 'logged', 'written']);
});
