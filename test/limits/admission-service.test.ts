import { describe, expect, test } from 'bun:test';
import { Admission } from '../../server/limits/admission.ts';

const BURST = 2_400;
const STEADY = 512;

function createWorld() {
  let now = 0;
  const admission = new Admission(() => now);
  const ends: (() => void)[] = [];
  const tryIt = (...which: Parameters<typeof admission.start>): boolean => {
    try {
      ends.push(admission.start(...which));
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 'overloaded', status: 503, retryAfterSeconds: 1 });
      return false;
    }
  };
  return Object.assign(admission, {
    tryIt,
    /** How many places an account gets, asking for far too many. */
    fill: (...[work, account]: Parameters<typeof admission.start>): number =>
      Array.from({ length: 2 * BURST }, () => tryIt(work, account)).filter(Boolean).length,
    endOne: () => ends.pop()?.(),
    endAll: () => ends.splice(0).map((end) => end()),
    pass: (ms: number) => {
      now += ms;
    },
  });
}

describe('short work', () => {
  test('of one account takes most places, and a newcomer still finds one', () => {
    const world = createWorld();
    expect(world.fill('write', 'greedy')).toBe((BURST * 7) / 8);
    expect(world.tryIt('write', 'small')).toBe(true);
    expect(world.tryIt('write', 'greedy')).toBe(false);
    expect(world.fill('write', 'second')).toBeGreaterThan(50);
    expect(world.tryIt('write', 'third')).toBe(true);
  });

  test('that reads has fewer places, which writes do not take', () => {
    const world = createWorld();
    world.fill('write', 'greedy');
    expect(world.fill('read', 'greedy')).toBe((BURST * 0.75 * 7) / 8);
    expect(world.tryIt('read', 'greedy')).toBe(false);
    expect(world.tryIt('read', 'small')).toBe(true);
    expect(world.tryIt('write', 'small')).toBe(true);
  });

  test('a burst may be long; a line that stays may not, until it was short', () => {
    const world = createWorld();
    const burst = world.fill('write', 'a');
    world.pass(900);
    world.endOne();
    expect(world.tryIt('write', 'a')).toBe(true);
    world.pass(101);
    for (let over = burst; over > (STEADY * 7) / 8; over--) {
      world.endOne();
      expect(world.tryIt('write', 'a') && over > (STEADY * 7) / 8 + 1).toBe(false);
    }
    world.endOne();
    expect([world.tryIt('write', 'a'), world.tryIt('write', 'a')]).toEqual([true, false]);
    world.endAll();
    expect(world.fill('write', 'a')).toBe(burst);
  });
});

test('while a burst is worked off, who has little in hand is let in all the same', () => {
  const world = createWorld();
  world.fill('write', 'greedy');
  world.pass(1_001);
  expect(world.tryIt('write', 'greedy')).toBe(false);
  for (let n = 0; n < 16; n++) {
    expect(world.tryIt('write', 'small')).toBe(true);
  }
  expect(world.tryIt('write', 'small')).toBe(false);
});

test('listings have places of their own, with data few for one account', () => {
  const world = createWorld();
  world.fill('write', 'greedy');
  expect(world.fill('list', 'greedy')).toBe(256);
  expect(world.fill('open', 'greedy')).toBe(4);
  expect(world.fill('open', 'second')).toBe(4);
  expect(world.fill('open', 'third') + world.fill('open', 'fourth')).toBe(8);
  expect(world.tryIt('open', 'fifth')).toBe(false);
  expect(world.stats().inFlight).toMatchObject({ list: 256, open: 16 });
  expect(world.stats().rejected['open']).toBeGreaterThan(4_000);
});

describe('who finds no place to read a whole key', () => {
  test('waits for one, and gets the first that it may have', async () => {
    const admission = new Admission(() => 0);
    const ends = Array.from({ length: 4 }, () => admission.start('open', 'a'));
    const order: string[] = [];
    const note = (name: string) => (end: () => void) => {
      order.push(name);
      return end;
    };
    const first = admission.open('a').then(note('a 1'));
    const second = admission.open('a').then(note('a 2'));
    const other = await admission.open('b');
    ends[0]?.();
    (await first)();
    (await second)();
    expect(order).toEqual(['a 1', 'a 2']);
    for (const end of [other, ...ends]) {
      end();
    }
    expect([admission.stats().inFlight.open, admission.stats().rejected.open]).toEqual([0, 0]);
  });

  test('is refused after a while, and leaves the line', async () => {
    const admission = new Admission(() => 0, 1);
    const ends = Array.from({ length: 4 }, () => admission.start('open', 'a'));
    const refusal = await admission.open('a').catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'overloaded' });
    for (const end of ends) {
      end();
    }
    expect([admission.stats().inFlight.open, admission.stats().rejected.open]).toEqual([0, 1]);
  });

  test('is refused at once when too many wait already, of one account or of all', async () => {
    const admission = new Admission(() => 0, 60_000);
    const ends = ['a', 'b', 'c', 'd'].flatMap((name) =>
      Array.from({ length: 4 }, () => admission.start('open', name)),
    );
    const line = ['a', 'b', 'c'].flatMap((name) =>
      Array.from({ length: name === 'c' ? 8 : 12 }, () => admission.open(name)),
    );
    for (const name of ['a', 'c', 'new']) {
      expect(await admission.open(name).catch((error: unknown) => error)).toMatchObject({
        code: 'overloaded',
      });
    }
    for (const end of ends) {
      end();
    }
    for (const end of line) {
      (await end)();
    }
  });
});

test('a place that is given back twice was one place', () => {
  const admission = new Admission(() => 0);
  const end = admission.start('read', 'a');
  admission.start('read', 'a');
  end();
  end();
  expect(admission.stats().inFlight.read).toBe(1);
});
