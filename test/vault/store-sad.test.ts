import { beforeEach, expect, test } from 'bun:test';
import { ItemStore } from '../../server/vault/store/items.ts';
import { naming } from '../helpers/log-entry.ts';
import { useRedis } from '../redis/redis.ts';

const NONE = new Uint8Array(0);
const WITH = Buffer.from('metadata that names a code');
const WITHOUT = Buffer.from('metadata that names none at all');
const ENTRY = Buffer.from('entry of the log');
const UPDATED = Buffer.from('metadata of somebody else meanwhile');

const redis = useRedis();
let items: ItemStore;
beforeEach(async () => {
  items = new ItemStore(redis.link, 4);
  await write(WITH);
});

function write(meta: Uint8Array, replaces?: Uint8Array) {
  return items.write('kid', {
    ...{ token: 't', gen: 1, item: Buffer.from('item'), meta, sad: Buffer.from('code'), sadExpiresAt: 0 },
    ...{ refMember: NONE, logEntry: naming(ENTRY), identity: NONE },
    ...(replaces === undefined ? {} : { replaces }),
  });
}

async function read() {
  return await items.read('kid', 't');
}

test('sensitive data goes, and the rest stays as it was', async () => {
  const before = await read();
  expect(await items.dropSad('kid', 't', WITH, WITHOUT)).toBe('ok');
  expect(before?.sad).toEqual(Buffer.from('code'));
  expect(await read()).toEqual(before && { ...before, meta: WITHOUT, sad: Buffer.alloc(0) });
});

test('sensitive data of an item that changed meanwhile stays', async () => {
  await write(UPDATED, WITH);
  expect(await items.dropSad('kid', 't', WITH, WITHOUT)).toBe('changed');
  expect(await read()).toMatchObject({ meta: UPDATED, sad: Buffer.from('code') });
});

test('an update that was read before it finds the item changed', async () => {
  expect(await items.dropSad('kid', 't', WITH, WITHOUT)).toBe('ok');
  expect((await write(UPDATED, WITH)).kind).toBe('changed');
  expect(await items.dropSad('kid', 't', WITH, WITHOUT)).toBe('changed');
});

test('of an update and a drop at once one counts', async () => {
  const [dropped, written] = await Promise.all([
    items.dropSad('kid', 't', WITH, WITHOUT),
    write(UPDATED, WITH),
  ]);
  expect([dropped, written.kind].toSorted()).toEqual(['changed', 'ok']);
  expect(await read()).toMatchObject(
    dropped === 'ok' ? { meta: WITHOUT, sad: Buffer.alloc(0) } : { meta: UPDATED, sad: Buffer.from('code') },
  );
});

test('an item that is gone is not brought back', async () => {
  const tags = { metaTag: WITH.subarray(-16), firstTag: ENTRY.subarray(-16) };
  await items.remove(items.bucketOf('kid', 't'), [{ token: 't', ...tags, refMember: NONE, proof: NONE }]);
  expect(await items.dropSad('kid', 't', WITH, WITHOUT)).toBe('missing');
  expect(await read()).toBeUndefined();
});
