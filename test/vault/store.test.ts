import { beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { bucketOf } from '../../server/redis/records/name.ts';
import { parseReply } from '../../server/redis/resp.ts';
import type { ItemRemoval, ItemWrite } from '../../server/vault/store/items.ts';
import { ItemStore } from '../../server/vault/store/items.ts';
import { entryOf, naming } from '../helpers/log-entry.ts';
import { useRedis } from '../redis/redis.ts';

const KID = 'kid-for-store-tests';
const BUCKETS = 4;

const redis = useRedis();
let items: ItemStore;
beforeAll(() => {
  items = new ItemStore(redis.link, BUCKETS);
});

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text.padEnd(24, '.'));
}
const NONE = new Uint8Array(0);

function write(token: string, changes: Partial<ItemWrite> = {}): ItemWrite {
  return {
    token,
    gen: 1,
    item: bytesOf(`item ${token} ${Math.random()}`),
    meta: bytesOf(`meta ${Math.random()}`),
    sad: NONE,
    sadExpiresAt: 0,
    refMember: NONE,
    logEntry: naming(bytesOf('entry')),
    identity: NONE,
    ...changes,
  };
}

/** The removal of an item as it was written. */
function removalOf({ token, meta, logEntry, refMember }: ItemWrite): ItemRemoval {
  const tags = { metaTag: meta.subarray(-16), firstTag: entryOf(logEntry).subarray(-16) };
  return { token, ...tags, refMember, proof: NONE };
}

/** An entry behind a log of one entry. */
function behind(first = bytesOf('entry')): Uint8Array {
  return naming(bytesOf('next'), { logLength: 1, logTail: first.slice(-16) });
}

function bucketFor(token: string) {
  return items.bucketOf(KID, token);
}
function bucketsOf(tokens: readonly string[]) {
  const byNumber = Map.groupBy(tokens, (token) => bucketFor(token).number);
  return [...byNumber].map(([number, some]) => ({ bucket: { kid: KID, number }, tokens: some }));
}
/** The lists of the replies of one bucket; what is missing is empty. */
function listsOf(replies: Uint8Array = NONE): string[][] {
  const lists = parseReply(Buffer.from(replies)) as (Buffer | null)[][];
  return lists.map((list) => list.map((part) => (part ?? Buffer.of()).toString('latin1')));
}
function sizeOf(replies: readonly Uint8Array[] = []): number {
  return replies.reduce((sum, { length }) => sum + length, 0);
}
function fenceOf(token: string) {
  return redisKeys.fence(bucketFor(token));
}

describe('write', () => {
  test('stores an item that reads back whole, with its log begun', async () => {
    const stored = write('t1', { sad: bytesOf('sad') });
    const outcome = await items.write(KID, stored);
    expect(outcome.kind).toBe('ok');
    const read = await items.read(KID, 't1');
    if (read === undefined || outcome.kind !== 'ok') {
      throw new Error('not stored');
    }
    expect(read.item).toEqual(Buffer.from(stored.item));
    expect(read.meta).toEqual(Buffer.from(stored.meta));
    expect(read.sad).toEqual(Buffer.from(stored.sad));
    expect(read.logLength).toBe(1);
    expect(await items.positionsOf(bucketFor('t1'), ['t1'])).toEqual([
      { token: 't1', storedAt: outcome.storedAt },
    ]);
  });

  test('tells a blind second store what the log holds, and takes one that knows it', async () => {
    await items.write(KID, write('t1', { logEntry: naming(bytesOf('first entry')) }));
    const blind = await items.write(KID, write('t1'));
    expect(blind).toEqual({
      kind: 'exists',
      logLength: 1,
      logTail: Buffer.from(bytesOf('first entry').slice(-16)),
      isLive: true,
    });
    expect((await items.write(KID, write('t1', { logEntry: behind(bytesOf('first entry')) }))).kind).toBe(
      'ok',
    );
    expect(await items.readLogUp(KID, 't1', 1, 2)).toHaveLength(2);
  });

  test('writes once for a request that is repeated, and leaves what others have written since', async () => {
    const first = await items.write(KID, write('t1', { seed: 'seed' }));
    expect<object>(await items.write(KID, write('t1', { seed: 'seed', logEntry: behind() }))).toEqual({
      ...first,
      isRepeat: true,
    });
    expect(await items.read(KID, 't1')).toBeDefined();
    const newer = write('t1', { logEntry: behind() });
    const second = await items.write(KID, newer);
    expect<object>(await items.write(KID, write('t1', { seed: 'seed', logEntry: behind() }))).toEqual({
      ...second,
      isRepeat: true,
    });
    const read = await items.read(KID, 't1');
    expect(read).toMatchObject({ item: Buffer.from(newer.item), logLength: 2 });
  });

  test('replaces only the version that was read', async () => {
    const first = write('t1');
    await items.write(KID, first);
    const second = write('t1', { replaces: first.meta });
    expect((await items.write(KID, second)).kind).toBe('ok');
    expect((await items.write(KID, write('t1', { replaces: first.meta }))).kind).toBe('changed');
    expect((await items.write(KID, write('gone', { replaces: first.meta }))).kind).toBe('changed');
  });

  test('removes sensitive authentication data that the new version does not have', async () => {
    const first = write('t1', { sad: bytesOf('sad') });
    await items.write(KID, first);
    await items.write(KID, write('t1', { replaces: first.meta }));
    const read = await items.read(KID, 't1');
    expect(read?.sad.length).toBe(0);
  });

  test('lets sensitive authentication data go at its time, and the item stay', async () => {
    await items.write(KID, write('t1', { sad: bytesOf('sad'), sadExpiresAt: Date.now() + 100_000 }));
    const ttl = Number(await redis.link.command('PTTL', [redisKeys.sad(bucketFor('t1'), 't1')]));
    expect(ttl).toBeGreaterThan(90_000);
    expect(Number(await redis.link.command('PTTL', [redisKeys.item(bucketFor('t1'), 't1')]))).toBe(-1);
  });

  test('never lets a token mean another number, not even after deletion', async () => {
    const first = write('t1', { identity: bytesOf('number one') });
    await items.write(KID, first);
    await items.remove(bucketFor('t1'), [removalOf(first)]);
    expect((await items.write(KID, write('t1', { identity: bytesOf('number two') }))).kind).toBe('clash');
    expect((await items.write(KID, write('t1', { identity: bytesOf('number one') }))).kind).toBe('ok');
  });
});

describe('stored_at', () => {
  test('never repeats or goes back within a bucket, however many writes come at once', async () => {
    const tokens = Array.from({ length: 400 }, (_, i) => `token-${i}`);
    await Promise.all(tokens.map((token) => items.write(KID, write(token))));
    for (let number = 0; number < BUCKETS; number++) {
      const times = (await items.positions({ kid: KID, number }, 0, Number.MAX_SAFE_INTEGER, 1_000)).map(
        (p) => p.storedAt,
      );
      expect(new Set(times).size).toBe(times.length);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }
  });

  test('is not given out again after the newest item went away', async () => {
    const future = Date.now() + 60_000;
    await redis.link.write('HSET', [fenceOf('t1'), 'l', future]);
    const first = write('t1');
    const stored = await items.write(KID, first);
    await items.remove(bucketFor('t1'), [removalOf(first)]);
    const again = await items.write(KID, write('t1'));
    expect(again.kind === 'ok' && stored.kind === 'ok' && again.storedAt > stored.storedAt).toBe(true);
  });

  test.each(['remove', 'expire'] as const)(
    'is not given out again after the newest item went away by %s, and the clock has stepped back since',
    async (way) => {
      const bucket = bucketFor('t1');
      const future = Date.now() + 60_000;
      const others = Array.from({ length: 40 }, (_, i) => `other-${i}`);
      const other = others.find((token) => bucketFor(token).number === bucket.number) ?? '';
      const first = write('t1');
      await items.write(KID, first);
      await redis.link.write('ZADD', [redisKeys.times(bucket), future, 't1']);
      await redis.link.write('ZADD', [redisKeys.expiries(bucket), 1, 't1']);
      await items[way](bucket, [removalOf(first)]);
      expect(await items.countItems(KID)).toBe(0);
      const again = await items.write(KID, write(other));
      expect(again.kind === 'ok' && again.storedAt > future).toBe(true);
    },
  );
});

describe('removal of many', () => {
  /** Tokens of one bucket. */
  const tokens = Array.from({ length: 60 }, (_, i) => `many-${i}`).filter(
    (token) => bucketOf(KID, token, BUCKETS).number === 0,
  );

  test('takes each on its own: what has changed, is gone or is damaged stops no other', async () => {
    const bucket = { kid: KID, number: 0 };
    const [plain, changed, gone, damaged, last] = tokens.map((token) => write(token));
    const present = [plain, changed, damaged, last].flatMap((item) => item ?? []);
    await Promise.all(present.map((item) => items.write(KID, item)));
    await redis.link.write('DEL', [redisKeys.item(bucket, damaged?.token ?? '')]);
    await redis.link.write('SET', [redisKeys.item(bucket, damaged?.token ?? ''), 'text']);
    const removals = [plain, changed, gone, damaged, last, plain].flatMap((item) =>
      item === undefined ? [] : removalOf(item),
    );
    const other = { ...removals[1], metaTag: bytesOf('another').subarray(-16) } as ItemRemoval;
    const outcome = await items.remove(bucket, removals.with(1, other));
    expect(outcome).toEqual(['ok', 'changed', 'missing', 'damaged', 'ok', 'missing']);
    const left = await items.positions(bucket, 0, Number.MAX_SAFE_INTEGER, 10);
    expect(left.map(({ token }) => token).toSorted()).toEqual(
      [changed, damaged].map((item) => item?.token ?? '').toSorted(),
    );
  });

  test('does nothing while the key is being deleted', async () => {
    const item = write('t1');
    await items.write(KID, item);
    await redis.link.write('HSET', [fenceOf('t1'), 'c', Date.now() + 60_000]);
    expect(await items.remove(bucketFor('t1'), [removalOf(item)])).toBe('closed');
    expect(await items.countItems(KID)).toBe(1);
  });

  test('of the newest items, one after the other, gives none of their positions out again', async () => {
    const [first, second] = tokens.map((token) => write(token));
    const future = Date.now() + 60_000;
    if (first === undefined || second === undefined) {
      throw new Error('no tokens');
    }
    await redis.link.write('HSET', [fenceOf(first.token), 'l', future]);
    await items.write(KID, first);
    const newest = await items.write(KID, second);
    await items.remove({ kid: KID, number: 0 }, [removalOf(second), removalOf(first)]);
    const again = await items.write(KID, write(first.token));
    expect(again.kind === 'ok' && newest.kind === 'ok' && again.storedAt > newest.storedAt).toBe(true);
  });
});

describe('fence', () => {
  test('refuses readers and writers of an older generation', async () => {
    await items.write(KID, write('t1', { gen: 2 }));
    expect((await items.write(KID, write('t1', { gen: 1 }))).kind).toBe('stale');
    expect(await items.fenceOf(bucketFor('t1'), 1)).toEqual({ kind: 'stale' });
    expect(await items.fenceOf(bucketFor('t1'), 2)).toBeUndefined();
    expect(await items.appendLog(bucketFor('t1'), ['t1'], [naming(bytesOf('e'))], 1)).toEqual({
      kind: 'stale',
    });
  });

  test('refuses everybody while it is closed, and opens by itself', async () => {
    await items.write(KID, write('t1'));
    await redis.link.write('HSET', [fenceOf('t1'), 'c', Date.now() + 60_000]);
    expect((await items.write(KID, write('t1', { logEntry: behind() }))).kind).toBe('closed');
    expect(await items.fenceOf(bucketFor('t1'), 1)).toEqual({ kind: 'closed' });
    await redis.link.write('HSET', [fenceOf('t1'), 'c', Date.now() - 1]);
    expect((await items.write(KID, write('t1', { logEntry: behind() }))).kind).toBe('ok');
  });
});

describe('many', () => {
  test('a page is not read rather than grow beyond its bytes', async () => {
    const big = new Uint8Array(262_144).fill(7);
    const tokens = Array.from({ length: 18 }, (_, i) => `big-${i}`);
    await Promise.all(tokens.map((token) => items.write(KID, write(token, { item: big }))));
    const few = bucketsOf(tokens.slice(0, 2));
    expect(await items.readMany(bucketsOf(tokens), 'full')).toBeUndefined();
    expect(sizeOf(await items.readMany(few, 'full'))).toBeGreaterThan(2 * big.length);
    expect(sizeOf(await items.readMany(bucketsOf(tokens), 'meta'))).toBeLessThan(1_000);
  });

  test.each([1, 2, 33])('of %p items each is as it was written, or missing', async (total) => {
    const tokens = Array.from({ length: total }, (_, i) => `many-${i}`);
    const sadOf = (i: number): Uint8Array => (i % 3 === 0 ? bytesOf(`sad ${i}`) : NONE);
    await Promise.all(tokens.map((token, i) => items.write(KID, write(token, { sad: sadOf(i) }))));
    for (const some of bucketsOf(['gone', ...tokens])) {
      const read = await Promise.all(some.tokens.map((token) => items.read(KID, token)));
      const parts = read.map((found) => {
        const { item, meta, logLength = '', logTail } = found ?? {};
        const log = `${logLength}${logTail?.toString('latin1') ?? ''}`;
        return [item?.toString('latin1') ?? '', meta?.toString('latin1') ?? '', log];
      });
      const sads = read.map((found) => found?.sad.toString('latin1') ?? '');
      const [replies] = (await items.readMany([some], 'full')) ?? [];
      expect(listsOf(replies)).toEqual([...parts, sads]);
      expect(read.map((found) => found !== undefined)).toEqual(some.tokens.map((token) => token !== 'gone'));
    }
  });

  test('log entries go to the items that are there, and nowhere else', async () => {
    const [here = '', there = ''] = Array.from({ length: 40 }, (_, i) => `t-${i}`).filter(
      (t) => bucketFor(t).number === 1,
    );
    await items.write(KID, write(here));
    expect(
      await items.appendLog(
        { kid: KID, number: 1 },
        [here, there],
        [naming(bytesOf('a')), naming(bytesOf('b'))],
      ),
    ).toEqual({ kind: 'appended', present: [true, false] });
    expect(await items.read(KID, there)).toBeUndefined();
    const [b, c] = [naming(Buffer.from('b')), naming(Buffer.from('ccc'))];
    const packed = { bytes: Buffer.concat([b, c]), ends: new Uint32Array([0, 21, 21, 44]) };
    expect(await items.appendLog({ kid: KID, number: 1 }, [here, there, here, here], packed)).toEqual({
      kind: 'appended',
      present: [false, false, false, true],
    });
    expect(await items.readLogUp(KID, here, 2, 3)).toEqual([Buffer.from(bytesOf('a')), Buffer.from('ccc')]);
  });

  test('finds tokens by the beginning of their encoded reference, over several steps', async () => {
    const prefix = new Uint8Array([1, 0xff, 0xff]);
    const member = (n: number, token: string): Uint8Array =>
      Buffer.concat([
        prefix,
        Buffer.from([n >> 8, n & 0xff]),
        Buffer.from(token),
        Buffer.from([0, token.length]),
      ]);
    const tokens = Array.from({ length: 1_400 }, (_, i) => `r-${i}`);
    await Promise.all(
      tokens.map((token, n) => items.write(KID, write(token, { refMember: member(n, token) }))),
    );
    await items.write(
      KID,
      write('other', { refMember: Buffer.from([2, 0, 0, ...Buffer.from('other'), 0, 5]) }),
    );
    const found: string[] = [];
    for (let number = 0; number < BUCKETS; number++) {
      for await (const positions of items.positionsByMember({ kid: KID, number }, 'references', prefix)) {
        found.push(...positions.map((position) => position.token));
      }
    }
    expect(found.toSorted()).toEqual(tokens.toSorted());
  });
});

test.each([
  ['of their own', (n: number) => 1_000 + n],
  ['in common', (n: number) => (n < 2_500 ? 1_000 : 2_000)],
])('all that expires with times %s is found while the sweep takes from the front', async (_, timeOf) => {
  const bucket = { kid: KID, number: 0 };
  const tokens = Array.from({ length: 3_000 }, (_, n) => `t${String(n).padStart(4, '0')}`);
  const scored = tokens.flatMap((token, n) => [timeOf(n), token]);
  await redis.link.command('ZADD', [redisKeys.expiries(bucket), ...scored]);
  await redis.link.command('ZADD', [redisKeys.times(bucket), ...scored]);
  const found = new Set<string>();
  for await (const positions of items.positionsByExpiry(bucket, 5_000)) {
    for (const { token } of positions) {
      found.add(token);
    }
    if (timeOf(0) < timeOf(1)) {
      await redis.link.command('ZREM', [redisKeys.expiries(bucket), ...tokens.slice(0, 500)]);
    }
  }
  expect([...found].sort()).toEqual(tokens);
});
