/** What takes a queue seconds: locks of a process that is gone, and a Redis that does not come. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../server/boot/redis/embedded.ts';
import { openRaw } from '../helpers/redis.ts';
import { holdAlone } from './hold-job.ts';
import { closeQueues, createRuns, openQueue, untilEmpty } from './queues.ts';

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

test('a process that is killed loses its job to another one', async () => {
  const runs = createRuns();
  const queue = openQueue(redis, runs);
  await queue.add('a.held');
  const { child, id } = await holdAlone(redis);
  expect(id).toBe('a.held');
  queue.start();
  await queue.add('a.free');
  await runs.until(1);
  expect(runs.ids()).toEqual(['a.free']);
  child.kill('SIGKILL');
  await child.exited;
  const killed = Date.now();
  await runs.until(2);
  expect(runs.ids()).toEqual(['a.free', 'a.held']);
  expect(Date.now() - killed).toBeLessThan(40_000);
  await untilEmpty(queue);
}, 60_000);

test('a Redis that was never there fails who adds, and nothing is added later', async () => {
  const runs = createRuns();
  await redis.stop();
  const queue = openQueue(redis, runs);
  queue.start();
  const asked = Date.now();
  await expect(queue.add('a.never')).rejects.toMatchObject(AWAY);
  expect(Date.now() - asked).toBeLessThan(20_000);
  redis = await start();
  while ((await queue.size().catch(() => -1)) < 0) {
    // Not reached yet.
  }
  await queue.add('a.now');
  await runs.until(1);
  await untilEmpty(queue);
  expect(runs.ids()).toEqual(['a.now']);
}, 60_000);
