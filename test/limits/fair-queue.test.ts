import { expect, test } from 'bun:test';
import { createFairSemaphore, enter, leave } from '../../server/limits/fair-queue.ts';

const MAX = 8;

/** Tasks by queue that have started, and a way to end the oldest of them. */
function createWorld() {
  const fair = createFairSemaphore(MAX);
  const begun: string[] = [];
  const running: string[] = [];
  const start = (name: string): void => {
    begun.push(name);
    running.push(name);
  };
  return {
    begun,
    fair,
    running: () => fair.running,
    enter(name: string): void {
      const turn = enter(fair, name);
      if (turn === undefined) {
        start(name);
      } else {
        void turn.then(() => start(name));
      }
    },
    async endOne(): Promise<void> {
      const name = running.shift();
      if (name !== undefined) {
        leave(fair, name);
      }
      await Promise.resolve();
    },
  };
}

test('one queue has most places, a newcomer begins at once', () => {
  const world = createWorld();
  for (let n = 0; n < 20; n++) {
    world.enter('greedy');
  }
  expect(world.running()).toBe(MAX - 1);
  world.enter('small');
  expect(world.begun.at(-1)).toBe('small');
});

test('those that wait are started in turn, queue by queue, and all are', async () => {
  const world = createWorld();
  for (let n = 0; n < 20; n++) {
    world.enter('a');
  }
  for (let n = 0; n < 4; n++) {
    world.enter('b');
  }
  expect(world.begun.filter((name) => name === 'b')).toHaveLength(1);
  const before = world.begun.length;
  for (let n = 0; n < 6; n++) {
    await world.endOne();
  }
  expect(world.begun.slice(before).filter((name) => name === 'b')).toHaveLength(3);
  while (world.running() > 0) {
    await world.endOne();
  }
  expect(world.begun).toHaveLength(24);
});

test('a queue obeys a smaller limit as its tasks end, and a larger one at the next end', async () => {
  const world = createWorld();
  for (let n = 0; n < 20; n++) {
    world.enter('a');
  }
  world.fair.queueMax = 2;
  for (let n = 0; n < 5; n++) {
    await world.endOne();
  }
  expect([world.running(), world.begun.length]).toEqual([2, MAX - 1]);
  world.enter('b');
  world.enter('b');
  world.enter('b');
  expect(world.begun.slice(MAX - 1)).toEqual(['b', 'b']);
  await world.endOne();
  expect(world.begun.at(-1)).toBe('a');
  world.fair.queueMax = Number.POSITIVE_INFINITY;
  await world.endOne();
  expect(world.running()).toBe(MAX);
  while (world.running() > 0) {
    await world.endOne();
  }
  expect(world.begun).toHaveLength(23);
});
