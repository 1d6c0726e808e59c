import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type Redis from 'ioredis';
import { openRaw, startTestRedis, type TestRedis } from '../helpers/redis.ts';
import { closeQueues, createRuns, EARLY_MS, openQueue, type TestQueue, untilEmpty } from './queues.ts';

let redis: TestRedis;
let raw: Redis;

beforeAll(async () => {
  redis = await startTestRedis();
  raw = openRaw(redis);
});
beforeEach(async () => {
  await raw.flushall();
});
afterEach(closeQueues);
afterAll(() => raw.disconnect());

describe('an id', () => {
  test('runs once, however often it was added, and can be added again when it is done', async () => {
    const runs = createRuns();
    const queue = openQueue(redis, runs);
    await Promise.all([queue.add('a.1'), queue.add('a.1'), queue.add('a.1', { delayMs: 60_000 })]);
    expect(await queue.size()).toBe(1);
    queue.start();
    await untilEmpty(queue);
    expect(runs.ids()).toEqual(['a.1']);
    await queue.add('a.1');
    await runs.until(2);
    await untilEmpty(queue);
    expect(runs.ids()).toEqual(['a.1', 'a.1']);
  });

  test('that waits for its time is not brought forward by being added again', async () => {
    const runs = createRuns();
    const queue = openQueue(redis, runs);
    queue.start();
    const asked = Date.now();
    await queue.add('a.1', { delayMs: 400 });
    await queue.add('a.1');
    await runs.until(1);
    expect((runs.begun[0]?.at ?? 0) - asked).toBeGreaterThanOrEqual(400 - EARLY_MS);
    await untilEmpty(queue);
    expect(runs.ids()).toEqual(['a.1']);
  });

  test('with a smaller place goes before those that were there first', async () => {
    const runs = createRuns();
    const queue = openQueue(redis, runs, { concurrency: 1 });
    for (const place of [2, 3, 3_000_000, 1]) {
      await queue.add(`a.${place}`, { place });
    }
    await queue.add('b.1');
    queue.start();
    await untilEmpty(queue);
    expect(runs.ids()).toEqual(['a.1', 'b.1', 'a.2', 'a.3', 'a.3000000']);
  });

  test('runs again after the time that its run asked for, and stays one', async () => {
    const runs = createRuns();
    const queue = openQueue(redis, runs, { run: async () => (runs.begun.length < 3 ? 150 : undefined) });
    queue.start();
    await queue.add('a.1');
    await runs.until(3);
    await untilEmpty(queue);
    const [first, second, third] = runs.begun.map(({ at }) => at) as [number, number, number];
    expect(second - first).toBeGreaterThanOrEqual(150 - EARLY_MS);
    expect(third - second).toBeGreaterThanOrEqual(150 - EARLY_MS);
    expect(runs.begun).toHaveLength(3);
  });

  test('whose run throws runs again after a pause, while others go on', async () => {
    const runs = createRuns();
    const events: string[] = [];
    const run = async (id: string) => {
      if (id === 'a.bad' && runs.ids().filter((one) => one === id).length === 1) {
        throw new Error('fails once');
      }
      return undefined;
    };
    const queue = openQueue(redis, runs, {
      run,
      concurrency: 1,
      thrownMs: [100, 200],
      onEvent: (event) => events.push(event),
    });
    await queue.add('a.bad');
    await queue.add('a.good');
    queue.start();
    await runs.until(3);
    expect(runs.ids()).toEqual(['a.bad', 'a.good', 'a.bad']);
    const pause = (runs.begun[2]?.at ?? 0) - (runs.begun[0]?.at ?? 0);
    expect(pause).toBeGreaterThanOrEqual(100 - EARLY_MS);
    expect(events).toEqual(['job_queue_run_failed']);
    await untilEmpty(queue);
  });
});

describe('two queues', () => {
  test('share the work, and never run one id at once', async () => {
    const runs = createRuns();
    const now = new Set<string>();
    const doubles: string[] = [];
    const turns = new Map<string, number>();
    const workers = new Set<number>();
    const runIn = (worker: number) => async (id: string) => {
      workers.add(worker);
      if (now.has(id)) {
        doubles.push(id);
      }
      now.add(id);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now.delete(id);
      const turn = (turns.get(id) ?? 0) + 1;
      turns.set(id, turn);
      return turn < 3 ? 0 : undefined;
    };
    const queues = [0, 1].map((worker) => openQueue(redis, runs, { run: runIn(worker), concurrency: 3 }));
    const ids = Array.from({ length: 40 }, (_, i) => `a.${i}`);
    await Promise.all(queues.flatMap((queue) => ids.map((id) => queue.add(id))));
    for (const queue of queues) {
      queue.start();
    }
    await runs.until(3 * ids.length);
    await Promise.all(queues.map(untilEmpty));
    expect(doubles).toEqual([]);
    expect([...turns].sort()).toEqual(ids.map((id): [string, number] => [id, 3]).sort());
    expect(workers.size).toBe(2);
  });

  test('run no more at once than each may', async () => {
    const runs = createRuns();
    const gate = Promise.withResolvers<undefined>();
    const queues = [2, 3].map((concurrency) =>
      openQueue(redis, runs, { concurrency, run: () => gate.promise }),
    );
    const [first] = queues as [TestQueue, TestQueue];
    await Promise.all(Array.from({ length: 12 }, (_, i) => first.add(`a.${i}`)));
    for (const queue of queues) {
      queue.start();
    }
    await runs.until(5);
    await first.add('a.more');
    expect(runs.begun).toHaveLength(5);
    gate.resolve(undefined);
    await untilEmpty(first);
    expect(runs.begun).toHaveLength(13);
  });
});

describe('closing', () => {
  test('waits for what runs, takes nothing new, and leaves the rest to others', async () => {
    const runs = createRuns();
    const gate = Promise.withResolvers<undefined>();
    const queue = openQueue(redis, runs, { concurrency: 1, run: () => gate.promise });
    await queue.add('a.1');
    await queue.add('a.2');
    queue.start();
    await runs.until(1);
    let isClosed = false;
    const closed = queue.close().then(() => {
      isClosed = true;
    });
    await raw.ping();
    expect(isClosed).toBe(false);
    gate.resolve(undefined);
    await closed;
    const later = openQueue(redis, runs);
    later.start();
    await untilEmpty(later);
    expect(runs.ids()).toEqual(['a.1', 'a.2']);
  });

  test('while it rests, it takes ids for others to run', async () => {
    const [runs, others] = [createRuns(), createRuns()];
    const resting = openQueue(redis, runs);
    resting.start();
    await resting.drain();
    await resting.add('a.1');
    const other = openQueue(redis, others);
    other.start();
    await others.until(1);
    await untilEmpty(other);
    expect([runs.ids(), others.ids()]).toEqual([[], ['a.1']]);
  });
});

/** Everything that Redis holds, as text. */
async function contents(): Promise<string> {
  const parts: string[] = [];
  for (const key of await raw.keys('*')) {
    const read: Readonly<Record<string, () => Promise<unknown>>> = {
      string: () => raw.get(key),
      hash: () => raw.hgetall(key),
      list: () => raw.lrange(key, '0', '-1'),
      set: () => raw.smembers(key),
      zset: () => raw.zrange(key, '0', '-1', 'WITHSCORES'),
      stream: () => raw.xrange(key, '-', '+'),
    };
    parts.push(key, JSON.stringify(await read[await raw.type(key)]?.()));
  }
  return parts.join('\n');
}

describe('Redis', () => {
  test('holds ids and nothing of what runs give or throw, and is not told of it', async () => {
    const canary = 'canary-4111111111111111';
    const monitor = await raw.duplicate().monitor();
    const told: string[] = [];
    monitor.on('monitor', (_time: string, args: string[]) => told.push(args.join(' ')));
    const runs = createRuns();
    const run = async (id: string) => {
      if (id === 'a.throws') {
        throw Object.assign(new Error(canary), { name: canary, cause: canary });
      }
      return id === 'a.later' ? 30_000 : undefined;
    };
    const queue = openQueue(redis, runs, { run, thrownMs: [10, 20] });
    queue.start();
    await Promise.all(['a.throws', 'a.later', 'a.done'].map((id) => queue.add(id)));
    await runs.until(4);
    await queue.close();
    const held = await contents();
    monitor.disconnect();
    expect(held).toContain('a.throws');
    expect(held).not.toContain('canary');
    expect(told.join('\n')).toContain('a.throws');
    expect(told.join('\n')).not.toContain('canary');
    for (const id of ['a.throws', 'a.later']) {
      const { data, ...job } = await raw.hgetall(`{jobs}:run:${id}`);
      expect(data).toBe('{}');
      expect(Object.keys(job)).not.toContainAnyValues(['failedReason', 'stacktrace', 'returnvalue']);
    }
  });

  test('keeps nothing of ids that are done, in one slot of a Cluster', async () => {
    const runs = createRuns();
    const queue = openQueue(redis, runs);
    queue.start();
    for (let i = 0; i < 500; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, j) => queue.add(`a.${i + j}`)));
    }
    await runs.until(500);
    await untilEmpty(queue);
    await queue.close();
    const keys = await raw.keys('*');
    expect(keys.filter((key) => !key.startsWith('{jobs}:run:'))).toEqual([]);
    expect(keys.filter((key) => key.includes('a.'))).toEqual([]);
    expect(await raw.xlen('{jobs}:run:events')).toBeLessThan(300);
  });
});
