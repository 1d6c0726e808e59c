import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Redis from 'ioredis';
import { GUARD } from '../helpers/guard.ts';
import { launchRedis, newRedisFolder, socketIn } from '../helpers/redis-process.ts';
import type { Cost, Counted } from './count.ts';
import { openHeldRedis, readCommand } from './held-redis.ts';
import type { Operation } from './operations.ts';

/**
 * The most that one request may cost, as counted by `count.ts`; of a page of 100, `promises` and `objects` are those of an item.
 * Counts, not times: a busy machine changes none. Singles cost the same each time; tokens are random, so pages are read in a
 * few steps more or less. While its target answers, a relayed request may meet one round trip that it does not wait for. A
 * cheaper path lowers its line.
 */
const BUDGETS: Readonly<Record<Operation, Cost>> = budgetTable(`
  operation           commands executed roundTrips frames jobs commands32 executed32 roundTrips32 frames32 promises objects
  store                      4       13          2      1    1         35        339            2        2       18     316
  store_by_credential        4       13          2      1    1         35        339            2        2       23     368
  decrypt                    8       14          3      1    1        163        386            3        2       23     407
  capture                    4       13          2      1    1         35        339            2        2       27     393
  retrieve                   8       14          3      1    1        163        386            3        2       31     468
  relay                     10       16          5      1    1        227        450            4        2       44     858
  decrypt_all              348      695         15      5    5          -          -            -        -        5      83
  list                     240      240         10      2    2          -          -            -        -        2      41
`);

/** The settings of a process that collects no garbage by itself and optimises no allocation away. */
const COUNTING = {
  BUN_GC_TIMER_DISABLE: '1',
  BUN_JSC_useDFGJIT: '0',
  BUN_JSC_forceRAMSize: '64000000000',
  BUN_JSC_largeHeapSize: '8000000000',
  BUN_JSC_smallHeapSize: '8000000000',
} as const;
const COUNTING_MS_MAX = 240_000;

function budgetTable(text: string): Record<Operation, Cost> {
  const [head = [], ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/));
  // Names and columns are those of the types: a wrong one is found by the first test.
  return Object.fromEntries(
    rows.map(([operation = '', ...cells]) => [
      operation,
      Object.fromEntries(cells.flatMap((cell, at) => (cell === '-' ? [] : [[head[at + 1], Number(cell)]]))),
    ]),
  ) as Record<Operation, Cost>;
}

/** Every count that is over its budget, or has none. */
function findExcess(counted: Counted, budgets: typeof BUDGETS): string[] {
  return Object.entries(counted).flatMap(([operation, { cost, commands }]) =>
    Object.entries(cost).flatMap(([name, count]: [string, number]) => {
      const budget: unknown = Reflect.get(budgets[operation as Operation] ?? {}, name);
      const sent = name === 'commands' ? ` (${commands.join(' ')})` : '';
      return typeof budget === 'number' && count <= budget
        ? []
        : [`${operation}: ${count} ${name} instead of ${budget}${sent}`];
    }),
  );
}

async function count(): Promise<Counted> {
  const { PATH, HOME, LD_LIBRARY_PATH, VAULT_REDIS_BIN } = process.env;
  const child = Bun.spawn([...GUARD, process.execPath, join(import.meta.dir, 'count.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH, HOME, LD_LIBRARY_PATH, VAULT_REDIS_BIN, ...COUNTING },
  });
  return JSON.parse(await new Response(child.stdout).text()) as Counted;
}

test(
  'no operation costs more than its budget',
  async () => {
    const counted = await count();
    expect(Object.keys(counted)).toEqual(Object.keys(BUDGETS));
    expect(findExcess(counted, BUDGETS)).toEqual([]);
    // A counter that counts nothing would keep every budget.
    for (const { cost } of Object.values(counted)) {
      expect(Math.min(...Object.values(cost))).toBeGreaterThan(0);
    }
  },
  COUNTING_MS_MAX,
);

test('a count over its budget is found, and one without a budget', () => {
  const { store } = BUDGETS;
  const counted = (cost: object): Counted =>
    ({ store: { cost: { ...store, ...cost }, commands: ['hget'] } }) as unknown as Counted;
  expect(findExcess(counted({}), BUDGETS)).toEqual([]);
  expect(findExcess(counted({ commands: store.commands + 1 }), BUDGETS)).toEqual([
    `store: ${store.commands + 1} commands instead of ${store.commands} (hget)`,
  ]);
  expect(findExcess(counted({ copies: 1 }), BUDGETS)).toEqual(['store: 1 copies instead of undefined']);
});

describe('the way to Redis', () => {
  test('reads commands that come in pieces', () => {
    const two = Buffer.from('*2\r\n$3\r\nGET\r\n$3\r\n\r\n*\r\n*1\r\n$4\r\nPING\r\n');
    const found = readCommand(two);
    expect(found).toEqual({ name: 'get', length: 22 });
    expect(readCommand(two.subarray(22))).toEqual({ name: 'ping', length: 14 });
    for (let end = 0; end < 22; end += 1) {
      expect(readCommand(two.subarray(0, end))).toBeUndefined();
    }
  });

  test('counts what waits for a reply, and what is sent beside it or after it', async () => {
    const folder = newRedisFolder();
    const redis = await launchRedis(folder, false);
    const held = await openHeldRedis(socketIn(folder), join(folder, 'held'));
    const client = new Redis({ path: join(folder, 'held') });
    const watch = (work: () => Promise<unknown>) => held.watch(() => true, work);
    try {
      await client.ping();
      const inTurn = await watch(async () => {
        await client.set('a', 'x'.repeat(100_000));
        expect(await client.get('a')).toHaveLength(100_000);
      });
      expect(inTurn).toEqual({ commands: ['set', 'get'], roundTrips: 2 });
      const atOnce = await watch(() => Promise.all([client.get('a'), client.get('b'), client.get('c')]));
      expect(atOnce).toEqual({ commands: ['get', 'get', 'get'], roundTrips: 1 });
      const behind = await watch(async () => {
        await client.get('a');
        void client.del('b');
      });
      expect(behind).toEqual({ commands: ['get', 'del'], roundTrips: 1 });
      const meanwhile = await watch(async () => {
        const replies: Promise<unknown>[] = [];
        for (let i = 0; i < 100; i += 1) {
          replies.push(client.get('a'));
          for (let turns = i % 20; turns > 0; turns -= 1) {
            await new Promise((resolve) => setImmediate(resolve));
          }
        }
        await Promise.all(replies);
      });
      expect(meanwhile.commands).toHaveLength(100);
      expect(await watch(async () => undefined)).toEqual({ commands: [], roundTrips: 0 });
    } finally {
      client.disconnect();
      held.close();
      redis.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
