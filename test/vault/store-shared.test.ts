/** Items that have bytes alike: Redis is sent these once, and stores each item whole. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import type { RedisLink } from '../../server/redis/client.ts';
import { openRedis } from '../../server/redis/open.ts';
import { ItemStore } from '../../server/vault/store/items.ts';
import { naming } from '../helpers/log-entry.ts';
import { linkWith, startTestRedis, type TestRedis } from '../helpers/redis.ts';

const NONE = new Uint8Array(0);
const FROM = 8;
const [ALIKE, OTHER] = [7, 9].map((byte) => new Uint8Array(1_000).fill(byte)) as [Uint8Array, Uint8Array];

let server: TestRedis;
let redis: RedisLink;
let items: ItemStore;
/** Bytes of each call of the script that writes. */
let written: number[];

beforeAll(async () => {
  server = await startTestRedis();
  const link = await openRedis(server.target, { replicas: 0 });
  redis = linkWith(link, {
    run: (script, keys, args) => {
      written.push(args.reduce<number>((sum, part) => sum + (typeof part === 'object' ? part.length : 0), 0));
      return link.run(script, keys, args);
    },
  });
});
beforeEach(async () => {
  await server.flush();
  written = [];
  items = new ItemStore(redis, 1);
});
afterAll(() => redis.close());

function part(alike: Uint8Array, content: string): Uint8Array {
  return Buffer.concat([Buffer.from('8 before'), alike, Buffer.from(content)]);
}

/** Stores an item and gives it as it is then read. */
async function stored(token: string, item: Uint8Array, sad: Uint8Array = NONE, expiresAt = 0) {
  const outcome = await items.write('kid', {
    ...{ token, gen: 1, item, meta: Buffer.from(`metadata of ${token}`), sad, sadExpiresAt: expiresAt },
    ...{ refMember: NONE, logEntry: naming(Buffer.from('entry of the log')), identity: NONE },
    shared: [FROM, FROM + ALIKE.length],
  });
  expect(outcome.kind).toBe('ok');
  const found = await items.read('kid', token);
  return found ? { item: found.item, sad: found.sad } : undefined;
}

async function keysOfShared(): Promise<string[]> {
  const found = await Promise.all(redis.nodes().map((node) => node.command('KEYS', ['{kid.0}q*'])));
  return [...new Set(found.flat().map(String))];
}

test('the second item is sent without them, and both are stored whole', async () => {
  for (const token of ['a', 'b', 'c']) {
    const [item, sad] = [part(ALIKE, `card ${token}`), part(ALIKE, `code ${token}`)];
    const expiresAt = token === 'c' ? Date.now() + 60_000 : 0;
    expect(await stored(token, item, sad, expiresAt)).toEqual({
      item: Buffer.from(item),
      sad: Buffer.from(sad),
    });
  }
  expect(written[0]).toBeGreaterThan(ALIKE.length);
  // Not twice for the two parts of the first, either.
  expect(written[0]).toBeLessThan(2 * ALIKE.length);
  expect(Math.max(...written.slice(1))).toBeLessThan(200);
});

test('where Redis has lost them, they are sent again', async () => {
  await stored('a', part(ALIKE, 'a'));
  await redis.command('DEL', await keysOfShared());
  expect((await stored('b', part(ALIKE, 'b')))?.item).toEqual(Buffer.from(part(ALIKE, 'b')));
  expect((await stored('c', part(ALIKE, 'c')))?.item).toEqual(Buffer.from(part(ALIKE, 'c')));
  expect(written.map((bytes) => bytes > ALIKE.length)).toEqual([true, false, true, false]);
});

test('other bytes are sent, and the first ones again after them', async () => {
  for (const alike of [ALIKE, OTHER, OTHER, ALIKE]) {
    const token = `${written.length}`;
    expect((await stored(token, part(alike, token)))?.item).toEqual(Buffer.from(part(alike, token)));
  }
  expect(written.map((bytes) => bytes > ALIKE.length)).toEqual([true, true, false, true]);
});

test('an item whose two parts are not alike is sent whole', async () => {
  await stored('a', part(ALIKE, 'a'));
  const [item, sad] = [part(ALIKE, 'card'), part(OTHER, 'code')];
  expect(await stored('b', item, sad)).toEqual({ item: Buffer.from(item), sad: Buffer.from(sad) });
});

test('two processes do not disturb each other, and nothing is left of it after two minutes', async () => {
  const other = new ItemStore(redis, 1);
  const [first] = [items];
  for (let n = 0; n < 6; n++) {
    items = n % 2 === 0 ? first : other;
    const alike = n % 2 === 0 ? ALIKE : OTHER;
    expect((await stored(`${n}`, part(alike, `${n}`)))?.item).toEqual(Buffer.from(part(alike, `${n}`)));
  }
  const names = await keysOfShared();
  expect(names.length).toBe(2);
  for (const name of names) {
    const left = Number(await redis.command('PTTL', [name]));
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(120_000);
  }
});

test('a refused write leaves nothing, and the next one has what it needs', async () => {
  await redis.command('HSET', ['{kid.0}f', 'c', '9999999999999']);
  const write = {
    ...{ token: 'a', gen: 1, item: part(ALIKE, 'a'), meta: Buffer.from('metadata'), sad: NONE },
    ...{ sadExpiresAt: 0, refMember: NONE, logEntry: naming(Buffer.from('entry')), identity: NONE },
    shared: [FROM, FROM + ALIKE.length] as const,
  };
  expect((await items.write('kid', write)).kind).toBe('closed');
  expect(await keysOfShared()).toEqual([]);
  await redis.command('DEL', ['{kid.0}f']);
  expect((await stored('a', part(ALIKE, 'a')))?.item).toEqual(Buffer.from(part(ALIKE, 'a')));
});
