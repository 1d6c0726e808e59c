/** Counts of buckets are added to those of their account once, whatever fails and whoever else does the same. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createRandomId } from '../../server/core/clock.ts';
import { VaultError } from '../../server/core/errors.ts';
import type { RedisLink } from '../../server/redis/client.ts';
import { openRedis } from '../../server/redis/open.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { UsageFolding } from '../../server/request/folding.ts';
import { UsageStore } from '../../server/request/usage-store.ts';
import { chanceOfCase } from '../fuzz/chance.ts';
import { holdNext } from '../helpers/hold.ts';
import { linkWith, startTestRedis, type TestRedis } from '../helpers/redis.ts';

const AID = 'account';
const KIDS = ['one', 'two'];
const BUCKETS = 2;
const MONTH = '2026-02';

let server: TestRedis;
let link: RedisLink;

beforeAll(async () => {
  server = await startTestRedis();
  link = await openRedis(server.target, { replicas: 0 });
});
beforeEach(() => server.flush());
afterAll(() => link.close());

/** A server that folds, and its store. */
function newServer(redis = link) {
  const store = new UsageStore(redis);
  return { store, folding: new UsageFolding(store, BUCKETS, createRandomId()) };
}

/** A server that fails at one of its scripts, and at all after it. `isDone`: that script is executed, and its reply lost. */
function dyingServer(scripts: number, isDone: boolean) {
  let left = scripts;
  const run: RedisLink['run'] = async (...given) => {
    left -= 1;
    if (left < 0 || (left === 0 && !isDone)) {
      throw new VaultError('store_unavailable');
    }
    const reply = await link.run(...given);
    if (left === 0) {
      throw new VaultError('store_unavailable');
    }
    return reply;
  };
  return newServer(linkWith(link, { run }));
}

async function count(n: number, field = `${MONTH}-28 store!`): Promise<void> {
  const all = KIDS.flatMap((kid) => Array.from({ length: BUCKETS }, (_, number) => ({ kid, number })));
  await Promise.all(all.map((bucket) => link.write('HINCRBY', [redisKeys.counts(bucket), field, n])));
}

/** The counts of the account, and the keys that are left of those of buckets. */
async function found(month = MONTH): Promise<Readonly<Record<string, number | string>>> {
  const names = await Promise.all(link.nodes().map((node) => node.command('KEYS', ['*}n*'])));
  return { ...Object.fromEntries(await newServer().store.read(AID, month)), left: String(names) };
}

describe('counts of buckets', () => {
  test('are operations alone or requests as well, of their day and month', async () => {
    await count(1, '2026-02-28 store!');
    await count(2, '2026-02-28 store');
    await count(3, '2026-02-01 decrypt!');
    await count(4, '2026-03-01 capture!');
    await count(5, 'nonsense');
    await newServer().folding.fold(AID, KIDS);
    const requests = { 'api_requests:28': 4, 'api_requests:01': 12 };
    expect(await found()).toEqual({ store: 12, decrypt: 12, ...requests, left: '' });
    expect(await found('2026-03')).toEqual({ capture: 16, 'api_requests:01': 16, left: '' });
  });

  test('are added once, whichever script was the last one of one server and of the next', async () => {
    const STEPS = 14;
    for (let first = 1; first <= STEPS; first++) {
      for (let second = 1; second <= STEPS; second += 3) {
        await server.flush();
        await count(1);
        await dyingServer(first, first % 2 === 0)
          .folding.fold(AID, KIDS)
          .catch(() => undefined);
        await count(10);
        await dyingServer(second, second % 2 === 0)
          .folding.fold(AID, KIDS)
          .catch(() => undefined);
        await count(100);
        await newServer().folding.fold(AID, KIDS);
        expect([first, second, await found()]).toEqual([
          first,
          second,
          { store: 444, 'api_requests:28': 444, left: '' },
        ]);
      }
    }
  });

  test.each(['lastFold', 'take', 'fold', 'drop'] as const)(
    'are added once, though a server pauses before %s and others fold twice meanwhile',
    async (step) => {
      for (const isFirst of [true, false]) {
        await server.flush();
        if (!isFirst) {
          await count(1);
          await newServer().folding.fold(AID, KIDS);
        }
        await count(10);
        const paused = newServer();
        const held = holdNext(paused.store, step);
        const late = paused.folding.fold(AID, KIDS);
        await held.reached;
        for (const n of [100, 1_000]) {
          await count(n);
          await newServer().folding.fold(AID, KIDS);
        }
        await count(10_000);
        held.release();
        await late;
        await newServer().folding.fold(AID, KIDS);
        const store = isFirst ? 44_440 : 44_444;
        expect(await found()).toEqual({ store, 'api_requests:28': store, left: '' });
      }
    },
  );

  test('are added once by three servers at once while they grow, and none is missing after a fold', async () => {
    const chance = chanceOfCase(1, 'folding', 1);
    const servers = [newServer(), newServer(), newServer()];
    let counted = 0;
    const grow = async (): Promise<void> => {
      for (let n = 0; n < 200; n++) {
        await count(1);
        counted += 1;
      }
    };
    let isOver = false;
    const fold = async ({ folding, store }: (typeof servers)[number]): Promise<void> => {
      while (!isOver) {
        const before = counted * KIDS.length * BUCKETS;
        await folding.fold(AID, KIDS);
        const sum = (await store.read(AID, MONTH)).get('store') ?? 0;
        expect(sum).toBeGreaterThanOrEqual(before);
        for (let ticks = chance.int(5); ticks > 0; ticks--) {
          await new Promise(setImmediate);
        }
      }
    };
    const folds = servers.map(fold);
    await grow();
    isOver = true;
    await Promise.all(folds);
    await newServer().folding.fold(AID, KIDS);
    expect(await found()).toEqual({ store: 800, 'api_requests:28': 800, left: '' });
  });
});

describe('a damaged count', () => {
  test.each(['1.5', 'text', '9223372036854775807'])(
    '%p of one bucket keeps no other from being added',
    async (text) => {
      await count(1);
      await link.write('HSET', [redisKeys.counts({ kid: 'one', number: 0 }), `${MONTH}-01 decrypt`, text]);
      const { folding } = newServer();
      const first = await folding.fold(AID, KIDS).catch(String);
      const second = await folding.fold(AID, KIDS).catch(String);
      expect([first, second]).toEqual([undefined, undefined]);
      expect(await found()).toMatchObject({ store: 4, 'api_requests:28': 4, left: '' });
    },
  );

  test('of the account loses none of the others', async () => {
    await link.write('HSET', [redisKeys.usage(AID, MONTH), 'store', 'text']);
    await count(1);
    const { folding } = newServer();
    await folding.fold(AID, KIDS).catch(() => undefined);
    await link.write('HDEL', [redisKeys.usage(AID, MONTH), 'store']);
    await folding.fold(AID, KIDS);
    expect(await found()).toEqual({ 'api_requests:28': 4, left: '' });
  });

  test('does not keep a key from being deleted', async () => {
    await count(1);
    await link.write('SET', [redisKeys.usageFold(AID), 'text']);
    expect(await newServer().folding.removeOfKey(AID, 'one').catch(String)).toBeUndefined();
  });
});

test('a fold that pauses while its account is deleted leaves nothing of it', async () => {
  await count(1);
  const paused = newServer();
  const held = holdNext(paused.store, 'fold');
  const late = paused.folding.fold(AID, KIDS);
  await held.reached;
  // Keys are deleted first, and fold what they have counted.
  const { folding, store } = newServer();
  await Promise.all(KIDS.map((kid) => folding.removeOfKey(AID, kid)));
  await store.remove(AID, [MONTH]);
  held.release();
  await late;
  expect(await found()).toEqual({ left: '' });
});
