import { expect, test } from 'bun:test';
import { createCallBounds, createJobSlots, JOBS_AT_ONCE } from '../../server/services/proxy/slots.ts';

/** What one account may have of all places. */
const PLACES = JOBS_AT_ONCE / 2;

test('an account has its places and no more, whatever the others do', () => {
  const slots = createJobSlots({ now: () => 0, random: () => 0 });
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
  const slots = createJobSlots({ now: () => now, random: () => 1 });
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

test('each account gets less than is left, so that a newcomer finds a place beside six others', () => {
  const slots = createJobSlots({ now: () => 0, random: () => 0 });
  const takeAll = (aid: string): number => {
    let taken = 0;
    while (slots.take(aid, `${aid}.${taken}`) === undefined) {
      taken += 1;
    }
    return taken;
  };
  expect(['a', 'b', 'c', 'd', 'e', 'f', 'newcomer'].map(takeAll)).toEqual([32, 16, 8, 4, 2, 1, 1]);
  expect(slots.take('too late', 'too late.1')).toBe(1_000);
  slots.give('a');
  expect(slots.take('too late', 'too late.1')).toBeUndefined();
});

test('callers who wait are bounded, for each account and for all', () => {
  const bounds = createCallBounds();
  const enter = (aid: string, times: number): void => {
    for (let i = 0; i < times; i++) {
      bounds.enter(aid);
    }
  };
  enter('greedy', 256);
  expect(() => bounds.enter('greedy')).toThrow(expect.objectContaining({ code: 'overloaded' }));
  for (const aid of ['b', 'c', 'd']) {
    enter(aid, 255);
  }
  enter('e', 3);
  expect(() => bounds.enter('late')).toThrow(expect.objectContaining({ code: 'overloaded' }));
  bounds.leave('greedy');
  enter('late', 1);
  expect(() => bounds.enter('greedy')).toThrow(expect.objectContaining({ code: 'overloaded' }));
  bounds.leave('late');
  enter('greedy', 1);
});
