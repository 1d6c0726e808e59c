import { describe, expect, test } from 'bun:test';
import { limitsOf, type WorkClass } from '../../server/limits/classes.ts';
import { Limiter } from '../../server/limits/limiter.ts';

const CAPACITY = { threads: 2, unlocks: 3, guesses: 1 };
const LIMITS = limitsOf(CAPACITY);
const CLASSES = Object.keys(LIMITS) as WorkClass[]; // The names of the table.
const QUEUED = CLASSES.filter((work) => LIMITS[work].waiting > 0);
const BOUNDED = QUEUED.filter((work) => Number.isFinite(LIMITS[work].waiting));
const OVERLOADED = expect.objectContaining({ code: 'overloaded', status: 503, retryAfterSeconds: 1 });
/** Longer than the limiter's own interval. */
const CHECKED_MS = 300;

type Outcome = 'granted' | 'waits' | 'rejected';

function createWorld() {
  let now = 0;
  const limiter = new Limiter(CAPACITY, () => now);
  const started: string[] = [];
  const dropped: string[] = [];
  const world = {
    limiter,
    started,
    dropped,
    pass: (ms: number) => {
      now += ms;
    },
    ask(work: WorkClass, owner: string, units = 1, name = owner): Outcome {
      try {
        const granted = limiter.acquire(work, owner, units);
        granted?.then(
          () => started.push(owner),
          (error: unknown) => {
            expect(error).toEqual(OVERLOADED);
            dropped.push(name);
          },
        );
        return granted === undefined ? 'granted' : 'waits';
      } catch (error) {
        expect(error).toEqual(OVERLOADED);
        return 'rejected';
      }
    },
    /** Asks until an outcome is another one; returns how often it was this one. */
    fill(work: WorkClass, owner: string, wanted: Outcome = 'granted', units = 1): number {
      let count = 0;
      while (world.ask(work, owner, units) === wanted) {
        count += 1;
      }
      return count;
    },
    /** Fills a class with one unit of each of many owners; returns these. */
    crowd(work: WorkClass): string[] {
      const owners: string[] = [];
      for (let left = LIMITS[work].max - limiter.stats()[work].used; left > 0; left--) {
        owners.push(`crowd ${left}`);
        void limiter.acquire(work, `crowd ${left}`);
      }
      return owners;
    },
  };
  return world;
}

/** What one owner gets of a class. */
function eachOf(work: WorkClass, isAlone: boolean): number {
  const limits: { readonly max: number; readonly each: number; readonly beside?: number } = LIMITS[work];
  return Math.min(limits.max, isAlone ? limits.each : (limits.beside ?? limits.each));
}

describe.each(CLASSES)('work of class %s', (work) => {
  const unit = LIMITS[work].max > 1e6 ? 65_536 : 1;
  const count = (units: number) => Math.floor(units / unit);

  test('has its units for one owner, fewer beside an active one, and no more for all', () => {
    const alone = createWorld();
    expect(alone.fill(work, 'a', 'granted', unit)).toBe(count(eachOf(work, true)));
    const world = createWorld();
    world.limiter.noteActive('b');
    world.limiter.noteActive('a');
    const beside = world.fill(work, 'a', 'granted', unit);
    expect(beside).toBe(count(eachOf(work, false)));
    let all = beside;
    for (let n = 0; n < 200; n++) {
      all += world.fill(work, `owner ${n}`, 'granted', unit);
    }
    expect(all).toBe(count(LIMITS[work].max));
    expect(world.limiter.stats()[work].used).toBe(all * unit);
  });

  test('leaves nothing behind when it is released', () => {
    const { limiter, ask } = createWorld();
    for (let round = 0; round < 3; round++) {
      expect([ask(work, 'a'), ask(work, 'b')].includes('rejected')).toBe(false);
      const { used, waiting } = limiter.stats()[work];
      for (let n = 0; n < used + waiting; n++) {
        limiter.release(work, n === 0 ? 'a' : 'b');
      }
      expect(limiter.stats()[work]).toMatchObject({ used: 0, waiting: 0 });
    }
  });
});

describe.each(QUEUED)('waiting work of class %s', (work) => {
  test('starts round robin over its owners, each in its own order', async () => {
    const { limiter, ask, crowd, started } = createWorld();
    const held = crowd(work);
    for (const owner of ['b', 'b', 'b', 'c', 'c', 'd']) {
      expect(ask(work, owner)).toBe('waits');
    }
    for (let count = 1; count <= 6; count++) {
      limiter.release(work, held.shift() ?? '');
      await Promise.resolve();
      held.push(...started.slice(count - 1));
      expect(started).toHaveLength(count);
    }
    expect(started).toEqual(['b', 'c', 'd', 'b', 'c', 'b']);
  });
});

describe.each(BOUNDED)('a full queue of class %s', (work) => {
  test('drops the newest of the owner with the most, and rejects that owner at once', async () => {
    const world = createWorld();
    world.fill(work, 'a');
    for (let n = 1; n < LIMITS[work].waiting; n++) {
      expect(world.ask(work, 'a', 1, `a${n}`)).toBe('waits');
    }
    world.crowd(work);
    expect([world.ask(work, 'a'), world.ask(work, 'b'), world.ask(work, 'a')]).toEqual([
      'rejected',
      'waits',
      'rejected',
    ]);
    await Promise.resolve();
    expect(world.dropped).toEqual([`a${LIMITS[work].waiting - 1}`]);
    expect(world.limiter.stats()[work].waiting).toBe(LIMITS[work].waiting);
  });
});

test('a request is rejected after the longest wait of its class, and not before', async () => {
  const worlds = BOUNDED.map((work) => ({ work, world: createWorld() }));
  const dropped = () => worlds.map(({ world }) => world.dropped.length);
  for (const { work, world } of worlds) {
    world.fill(work, 'a');
    world.pass(LIMITS[work].waitMs - 1);
    world.ask(work, 'a');
  }
  await Bun.sleep(CHECKED_MS);
  expect(dropped()).toEqual(BOUNDED.map(() => 0));
  for (const { world } of worlds) {
    world.pass(1);
  }
  await Bun.sleep(CHECKED_MS);
  expect(dropped()).toEqual(BOUNDED.map(() => 1));
  expect(worlds.map(({ work, world }) => world.limiter.stats()[work].waiting)).toEqual(BOUNDED.map(() => 1));
});

describe('an owner is alone', () => {
  test('until another one asks, and again a second after that', () => {
    const { limiter, pass } = createWorld();
    const alone = () => [limiter.isAlone('a'), limiter.isAlone('b')];
    limiter.noteActive('a');
    expect(alone()).toEqual([true, false]);
    pass(500);
    limiter.noteActive('b');
    expect(alone()).toEqual([false, false]);
    pass(501);
    expect(alone()).toEqual([false, true]);
    pass(499);
    expect(alone()).toEqual([true, true]);
  });

  test('however often it asks itself', () => {
    const { limiter, pass } = createWorld();
    for (const owner of ['b', 'a', 'a']) {
      limiter.noteActive(owner);
    }
    expect(limiter.isAlone('a')).toBe(false);
    pass(1_000);
    limiter.noteActive('a');
    expect(limiter.isAlone('a')).toBe(true);
  });
});

test('a burst of one owner waits, and another one starts at once', () => {
  const { ask, limiter } = createWorld();
  expect(Array.from({ length: 2_000 }, () => ask('write', 'a')).includes('rejected')).toBe(false);
  expect(limiter.stats().write).toMatchObject({ used: 84, waiting: 1_916 });
  limiter.noteActive('b');
  expect(ask('write', 'b')).toBe('granted');
});

test('an owner that is no longer alone starts nothing before it has fewer than its part', async () => {
  const { ask, fill, limiter, started } = createWorld();
  expect(fill('write', 'a')).toBe(84);
  limiter.noteActive('b');
  for (let left = 84; left > 16; left--) {
    limiter.release('write', 'a');
  }
  await Promise.resolve();
  expect(started).toEqual([]);
  limiter.release('write', 'a');
  await Promise.resolve();
  expect([started, ask('write', 'b')]).toEqual([['a'], 'granted']);
});

test('an owner that is alone again starts what waits, in order', async () => {
  const { ask, fill, limiter, pass, started } = createWorld();
  limiter.noteActive('b');
  expect(fill('write', 'a')).toBe(16);
  expect([ask('write', 'a'), ask('write', 'a')]).toEqual(['waits', 'waits']);
  pass(1_000);
  expect(ask('write', 'a')).toBe('waits');
  limiter.release('write', 'a');
  await Promise.resolve();
  expect(started).toHaveLength(4);
  expect(limiter.stats().write).toMatchObject({ used: 19, waiting: 0 });
});

test('an owner is not alone while another one has units of the class', () => {
  const { ask, fill } = createWorld();
  ask('piece', 'b');
  expect(fill('piece', 'a')).toBe(4);
});

test('work that is held is released once, and work that is run also if it fails', async () => {
  const { limiter } = createWorld();
  const end = await limiter.hold('open', 'a');
  await limiter.hold('open', 'a');
  end();
  end();
  expect(limiter.stats().open.used).toBe(1);
  const failed = limiter.run('piece', 'a', () => Promise.reject(new Error('lost')));
  expect(limiter.stats().piece.used).toBe(1);
  expect(await failed.catch(String)).toBe('Error: lost');
  expect(limiter.stats().piece.used).toBe(0);
});

describe('units that can be taken back', () => {
  const MIB = 1_048_576;
  const hold = (limiter: Limiter, owner: string, cut: string[], name: string) => {
    void limiter.acquire('longBody', owner, MIB);
    const entry = { units: MIB, cut: () => void cut.push(name) };
    limiter.offer('longBody', owner, entry);
    return entry;
  };

  test('are those of the owner with the most, the oldest first', () => {
    const { limiter, ask } = createWorld();
    const cut: string[] = [];
    for (let n = 0; n < 16; n++) {
      hold(limiter, n % 2 === 0 ? 'a' : 'b', cut, `${n % 2 === 0 ? 'a' : 'b'}${n >> 1}`);
    }
    expect(ask('longBody', 'c', 3 * MIB)).toBe('granted');
    expect(cut).toEqual(['a0', 'b0', 'a1']);
    expect(ask('longBody', 'a', 3 * MIB)).toBe('rejected');
    expect(limiter.stats().longBody.used).toBe(16 * MIB);
  });

  test('are none of owners with less', () => {
    const { limiter, ask } = createWorld();
    const cut: string[] = [];
    for (let n = 0; n < 16; n++) {
      hold(limiter, `owner ${n}`, cut, `${n}`);
    }
    expect([ask('longBody', 'c', MIB), cut]).toEqual(['rejected', []]);
  });

  test('are none that were withdrawn', () => {
    const { limiter, ask } = createWorld();
    const cut: string[] = [];
    for (const owner of ['a', 'b']) {
      for (let n = 0; n < 8; n++) {
        const entry = hold(limiter, owner, cut, owner);
        limiter.withdraw('longBody', owner, entry);
      }
    }
    expect([ask('longBody', 'c', MIB), cut]).toEqual(['rejected', []]);
  });
});
