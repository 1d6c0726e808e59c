import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../server/boot/redis/embedded.ts';
import { openRaw } from '../helpers/redis.ts';
import { sendCommand } from '../helpers/redis-process.ts';
import { closeQueues, createRuns, EARLY_MS, openQueue, untilEmpty } from './queues.ts';

const AWAY = { code: 'store_unavailable' };

let dataDir: string;
let redis: EmbeddedRedis;
function start() {
  return EmbeddedRedis.start(dataDir, () => undefined);
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'cv-queue-'));
  redis = await start();
});
// What a test leaves in the queue would run in the next one.
beforeEach(async () => {
  const raw = openRaw(redis);
  await raw.flushall();
  raw.disconnect();
});
afterEach(closeQueues);
afterAll(async () => {
  await redis.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

test('a Redis that ends by force has every id when it is back', async () => {
  const runs = createRuns();
  const queue = openQueue(redis, runs);
  queue.start();
  const asked = Date.now();
  const ids = Array.from({ length: 50 }, (_, i) => `a.${i}`);
  await Promise.all(ids.map((id) => queue.add(id, { delayMs: 1_000 })));
  process.kill(redis.pid, 'SIGKILL');
  await runs.until(ids.length);
  expect(runs.ids().sort()).toEqual([...ids].sort());
  expect(Math.min(...runs.begun.map(({ at }) => at)) - asked).toBeGreaterThanOrEqual(1_000 - EARLY_MS);
  await untilEmpty(queue);
  expect(runs.begun).toHaveLength(ids.length);
}, 60_000);

test('a Redis that is away fails who adds within two seconds, is told of once, and goes on by itself when it is back', async () => {
  const runs = createRuns();
  const events: string[] = [];
  const back = Promise.withResolvers<void>();
  const onEvent = (event: string): void => {
    // A command that is in flight just then may fail, and is told of as well.
    if (event !== 'job_queue_error') {
      events.push(event);
    }
    if (event === 'job_queue_reconnected') {
      back.resolve();
    }
  };
  const queue = openQueue(redis, runs, { onEvent });
  queue.start();
  await queue.add('a.before');
  await runs.until(1);
  await redis.stop();
  const asked = Date.now();
  await expect(queue.add('a.lost')).rejects.toMatchObject(AWAY);
  await expect(queue.size()).rejects.toMatchObject(AWAY);
  expect(Date.now() - asked).toBeLessThan(20_000);
  redis = await start();
  await back.promise;
  await queue.add('a.after');
  await runs.until(2);
  expect(runs.ids()).toEqual(['a.before', 'a.after']);
  expect(events).toEqual(['job_queue_disconnected', 'job_queue_reconnected']);
}, 60_000);

test('a Redis that rejects the commands of the queue is told of once', async () => {
  const runs = createRuns();
  const events: string[] = [];
  const queue = openQueue(redis, runs, { onEvent: (event) => void events.push(event) });
  queue.start();
  await queue.add('a.before');
  await runs.until(1);
  await sendCommand(redis.socketPath, 'ACL SETUSER default -eval -evalsha -bzpopmin');
  await Bun.sleep(3_000);
  await sendCommand(redis.socketPath, 'ACL SETUSER default +@all');
  expect(events).toEqual(['job_queue_error']);
  await queue.add('a.after');
  await runs.until(2);
}, 60_000);

test('a Redis that goes away while an id runs has it run again or done, and never lost', async () => {
  const runs = createRuns();
  const gate = Promise.withResolvers<number>();
  const run = () => (runs.begun.length === 1 ? gate.promise : Promise.resolve(undefined));
  const queue = openQueue(redis, runs, { run });
  queue.start();
  await queue.add('a.1');
  await runs.until(1);
  await redis.stop();
  gate.resolve(100);
  redis = await start();
  await runs.until(2);
  await untilEmpty(queue);
  expect(runs.ids()).toEqual(['a.1', 'a.1']);
}, 60_000);

test('a Redis that stays away lets the queue close', async () => {
  const runs = createRuns();
  const queue = openQueue(redis, runs);
  queue.start();
  await queue.add('a.1');
  await runs.until(1);
  await redis.stop();
  const asked = Date.now();
  await queue.close();
  expect(Date.now() - asked).toBeLessThan(20_000);
  redis = await start();
}, 60_000);

/** A socket before Redis that ends each connection at its INFO of a number, from 1, while `ends` has another to end. */
async function endAtInfo(nth: number, ends: number) {
  const socketPath = join(dataDir, `${crypto.randomUUID().slice(0, 8)}.sock`);
  let left = ends;
  const server = createServer((near) => {
    const far = connect(redis.socketPath);
    let asked = 0;
    near.on('error', () => undefined).on('close', () => far.destroy());
    far.on('error', () => undefined).on('close', () => near.destroy());
    far.on('data', (data) => near.write(data));
    near.on('data', (data) => {
      asked += data.toString().match(/\binfo\b/gi)?.length ?? 0;
      if (asked >= nth && left > 0) {
        left -= 1;
        far.destroy();
      } else {
        far.write(data);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return { socketPath, left: () => left, stop: () => server.close() };
}

// The library asks twice on each connection: as a client, then as a queue. It never asks again once the second has failed.
test.each([1, 2])(
  'a connection that is lost at its INFO %i is replaced',
  async (nth) => {
    const runs = createRuns();
    const way = await endAtInfo(nth, 1);
    const queue = openQueue(way, runs);
    while (way.left() > 0) {
      await queue.add('a.1').catch(() => undefined);
    }
    await queue.add('a.1');
    queue.start();
    await runs.until(1);
    await untilEmpty(queue);
    await closeQueues();
    way.stop();
  },
  30_000,
);
