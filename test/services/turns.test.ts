import { expect, test } from 'bun:test';
import { createFairTurns } from '../../server/services/common/turns.ts';

const MAX = 8;

/** Works by line that have begun, and a way to end the oldest of them. */
const createWorld = () => {
  const turns = createFairTurns(MAX);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const settle = (): Promise<void> => Promise.resolve().then(() => undefined);
  return {
    begun,
    running: turns.running,
    enter(line: string): void {
      const turn = turns.enter(line);
      const begin = (end: () => void): void => {
        begun.push(line);
        ends.push(end);
      };
      if (turn instanceof Promise) {
        void turn.then(begin);
      } else {
        begin(turn);
      }
    },
    async endOne(): Promise<void> {
      ends.shift()?.();
      await settle();
    },
  };
};

test('one line has most places, a newcomer begins at once', () => {
  const world = createWorld();
  for (let n = 0; n < 20; n++) {
    world.enter('greedy');
  }
  expect(world.running()).toBe(MAX - 1);
  world.enter('small');
  expect(world.begun.at(-1)).toBe('small');
});

test('those that wait take turns, line by line, and all have theirs', async () => {
  const world = createWorld();
  for (let n = 0; n < 20; n++) {
    world.enter('a');
  }
  for (let n = 0; n < 4; n++) {
    world.enter('b');
  }
  expect(world.begun.filter((line) => line === 'b')).toHaveLength(1);
  const before = world.begun.length;
  for (let n = 0; n < 6; n++) {
    await world.endOne();
  }
  expect(world.begun.slice(before).filter((line) => line === 'b')).toHaveLength(3);
  while (world.running() > 0) {
    await world.endOne();
  }
  expect(world.begun).toHaveLength(24);
});
