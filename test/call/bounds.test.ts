import { describe, expect, test } from 'bun:test';
import { CallBounds, JOBS_AT_ONCE, JobSlots } from '../../server/call/bounds.ts';

/** What one account may have of all places. */
const PLACES = JOBS_AT_ONCE / 2;

test('an account has its places and no more, whatever the others do', () => {
  const slots = new JobSlots(
    () => 0,
    () => 0,
  );
  for (let i = 0; i < PLACES; i++) {
    expect(slots.acquire('greedy', `greedy.${i}`)).toBeUndefined();
  }
  expect(slots.acquire('greedy', 'greedy.more')).toBeGreaterThanOrEqual(1_000);
  expect(slots.acquire('other', 'other.1')).toBeUndefined();
  slots.release('greedy');
  expect(slots.acquire('greedy', 'greedy.more')).toBeUndefined();
  expect(slots.acquire('greedy', 'greedy.last')).toBeGreaterThanOrEqual(1_000);
});

test('the more wait, the longer each does, up to a minute; who asks again counts once', () => {
  let now = 0;
  const slots = new JobSlots(
    () => 1,
    () => now,
  );
  for (let i = 0; i < PLACES; i++) {
    slots.acquire('a', `a.running-${i}`);
  }
  expect(slots.acquire('a', 'a.0')).toBe(1_005);
  expect(slots.acquire('a', 'a.0')).toBe(1_005);
  for (let i = 1; i < 100; i++) {
    slots.acquire('a', `a.${i}`);
  }
  expect(slots.acquire('a', 'a.0')).toBe(1_500);
  for (let i = 100; i < 20_000; i++) {
    slots.acquire('a', `a.${i}`);
  }
  expect(slots.acquire('a', 'a.0')).toBe(60_000);
  // Those that have not asked for two minutes are not waited behind any more.
  now = 120_000;
  expect(slots.acquire('a', 'a.new')).toBe(1_005);
});

test('each account gets less than is left, so that a newcomer finds a place beside six others', () => {
  const slots = new JobSlots(
    () => 0,
    () => 0,
  );
  const takeAll = (aid: string): number => {
    let taken = 0;
    while (slots.acquire(aid, `${aid}.${taken}`) === undefined) {
      taken += 1;
    }
    return taken;
  };
  expect(['a', 'b', 'c', 'd', 'e', 'f', 'newcomer'].map(takeAll)).toEqual([32, 16, 8, 4, 2, 1, 1]);
  expect(slots.acquire('too late', 'too late.1')).toBe(1_000);
  slots.release('a');
  expect(slots.acquire('too late', 'too late.1')).toBeUndefined();
});

const OVERLOADED = expect.objectContaining({ code: 'overloaded' });
const MIB = 1_048_576;

describe('calls to third parties', () => {
  test('are bounded, for each account and for all', () => {
    const bounds = new CallBounds();
    const enter = (aid: string, times: number) => Array.from({ length: times }, () => bounds.enter(aid, 0));
    const [first] = enter('greedy', 256);
    expect(() => bounds.enter('greedy', 0)).toThrow(OVERLOADED);
    for (const aid of ['b', 'c', 'd']) {
      enter(aid, 255);
    }
    enter('e', 3);
    expect(() => bounds.enter('late', 0)).toThrow(OVERLOADED);
    first?.leave();
    // Twice is once.
    first?.leave();
    const [late] = enter('late', 1);
    expect(() => bounds.enter('greedy', 0)).toThrow(OVERLOADED);
    late?.leave();
    enter('greedy', 1);
    expect(() => bounds.enter('late', 0)).toThrow(OVERLOADED);
  });

  test('hold 32 MB of requests an account, twice their length each, and 128 MB in all', () => {
    const bounds = new CallBounds();
    const enterAll = (aid: string): ReturnType<typeof bounds.enter>[] => {
      const entered = [];
      for (;;) {
        try {
          entered.push(bounds.enter(aid, MIB));
        } catch (error) {
          expect(error).toEqual(OVERLOADED);
          return entered;
        }
      }
    };
    const counts = ['a', 'b', 'c', 'd', 'e'].map((aid) => enterAll(aid));
    expect(counts.map(({ length }) => length)).toEqual([15, 15, 15, 15, 0]);
    counts.flat().forEach(({ leave }) => void leave());
    expect(enterAll('a')).toHaveLength(15);
  });

  test('have eight long replies an account at a time, and 32 in all; the others wait in turn', async () => {
    const bounds = new CallBounds();
    const told: string[] = [];
    const ask = (aid: string) => {
      const call = bounds.enter(aid, 0);
      const turn = call.room();
      void turn?.then(() => told.push(aid));
      return { ...call, waits: turn !== undefined };
    };
    const ofA = Array.from({ length: 10 }, () => ask('a'));
    expect(ofA.map(({ waits }) => waits)).toEqual([...Array<boolean>(8).fill(false), true, true]);
    // Who has room asks for no more; who waits has one place in the queue.
    expect(ofA[0]?.room()).toBeUndefined();
    ofA[8]?.room();
    for (const aid of ['b', 'c']) {
      expect(Array.from({ length: 8 }, () => ask(aid)).some(({ waits }) => waits)).toBeFalse();
    }
    // The last one is for an account that has none.
    const ofD = Array.from({ length: 8 }, () => ask('d'));
    expect(ofD.map(({ waits }) => waits)).toEqual([...Array<boolean>(7).fill(false), true]);
    expect(ask('e').waits).toBeFalse();
    expect(ask('f').waits).toBeTrue();
    ofA[0]?.leave();
    await Bun.sleep(0);
    expect(told).toEqual(['f']);
    // One that gives up passes its turn on.
    ofA[8]?.leave();
    ofA[1]?.leave();
    await Bun.sleep(0);
    expect(told).toEqual(['f', 'a', 'a']);
  });
});
