import { expect, test } from 'bun:test';
import { createJobSlots } from '../../server/services/proxy-slots.ts';

const PLACES = 32;

test('an account has its places and no more, whatever the others do', () => {
  const slots = createJobSlots({ now: () => 0, chance: () => 0 });
  for (let i = 0; i < PLACES; i++) {
    expect(slots.take('greedy', `greedy.${i}`)).toBeUndefined();
  }
  expect(slots.take('greedy', 'greedy.more')).toBeGreaterThanOrEqual(1_000);
  expect(slots.take('other', 'other.1')).toBeUndefined();
  slots.give('greedy');
  expect(slots.take('greedy', 'greedy.more')).toBeUndefined();
  expect(slots.take('greedy', 'greedy.last')).toBeGreaterThanOrEqual(1_000);
});

test('the more wait, the longer each does, up to a minute; who asks again counts once', () => {
  let now = 0;
  const slots = createJobSlots({ now: () => now, chance: () => 1 });
  for (let i = 0; i < PLACES; i++) {
    slots.take('a', `a.running-${i}`);
  }
  expect(slots.take('a', 'a.0')).toBe(1_005);
  expect(slots.take('a', 'a.0')).toBe(1_005);
  for (let i = 1; i < 100; i++) {
    slots.take('a', `a.${i}`);
  }
  expect(slots.take('a', 'a.0')).toBe(1_500);
  for (let i = 100; i < 20_000; i++) {
    slots.take('a', `a.${i}`);
  }
  expect(slots.take('a', 'a.0')).toBe(60_000);
  // Those that have not asked for two minutes are not waited behind any more.
  now = 120_000;
  expect(slots.take('a', 'a.new')).toBe(1_005);
});
