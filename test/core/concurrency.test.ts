import { describe, expect, test } from 'bun:test';
import {
  coalesce,
  createSemaphore,
  createTickJoin,
  mapAhead,
  replaceOrConfirm,
} from '../../server/core/concurrency.ts';

/** A promise that the test settles itself. */
function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('coalesce', () => {
  test('joins callers of one tick, and starts anew for those who come while it runs', async () => {
    const runs: ReturnType<typeof deferred<number>>[] = [];
    const run = coalesce(() => {
      const next = deferred<number>();
      runs.push(next);
      return next.promise;
    });
    const first = [run(), run()];
    await settle();
    expect(runs).toHaveLength(1);
    const later = [run(), run()];
    await settle();
    expect(runs).toHaveLength(1);
    runs[0]?.resolve(1);
    await settle();
    expect(runs).toHaveLength(2);
    runs[1]?.resolve(2);
    expect(await Promise.all([...first, ...later])).toEqual([1, 1, 2, 2]);
  });

  test('who waits behind a failure gets it; who comes after it does not', async () => {
    let fail = true;
    const run = coalesce(async () => {
      await settle();
      if (fail) {
        fail = false;
        throw new Error('once');
      }
      return 'well';
    });
    const first = run();
    await Promise.resolve();
    await Promise.resolve();
    const behind = run();
    const results = await Promise.allSettled([first, behind]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await run()).toBe('well');
  });
});

describe('createTickJoin', () => {
  test('joins callers of one tick, and lets those of the next not wait for them', async () => {
    const runs: ReturnType<typeof deferred<string>>[] = [];
    const join = createTickJoin<string>();
    const work = () => {
      const next = deferred<string>();
      runs.push(next);
      return next.promise;
    };
    const run = () => join('a', work);
    const first = [run(), run()];
    await Promise.resolve();
    first.push(run());
    await settle();
    expect(runs).toHaveLength(1);
    const later = run();
    await settle();
    expect(runs).toHaveLength(2);
    runs[1]?.resolve('later');
    expect(await later).toBe('later');
    runs[0]?.resolve('first');
    expect(await Promise.all(first)).toEqual(['first', 'first', 'first']);
  });

  test('a failure is that of its own tick alone', async () => {
    let fails = true;
    const join = createTickJoin<string>();
    const run = () =>
      join('a', async () => {
        if (fails) {
          fails = false;
          throw new Error('once');
        }
        return 'well';
      });
    const results = await Promise.allSettled([run(), run()]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await settle();
    expect(await run()).toBe('well');
  });
});

describe('mapAhead', () => {
  const numbers = async function* (count: number, read: number[]): AsyncGenerator<number> {
    for (let i = 0; i < count; i++) {
      read.push(i);
      yield i;
    }
  };

  test('keeps the order and at most so many under way', async () => {
    let under = 0;
    let most = 0;
    const out: number[] = [];
    for await (const value of mapAhead(numbers(20, []), 3, async (n) => {
      under += 1;
      most = Math.max(most, under);
      await settle();
      under -= 1;
      return n * 2;
    })) {
      out.push(value);
    }
    expect(out).toEqual(Array.from({ length: 20 }, (_, i) => i * 2));
    expect(most).toBe(3);
  });

  test('gives a result while the next item is still being read', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = async function* (): AsyncGenerator<number> {
      yield 0;
      await promise;
      yield 1;
    };
    const mapped = mapAhead(slow(), 3, async (n) => n);
    expect(await mapped.next()).toEqual({ done: false, value: 0 });
    resolve();
    expect(await mapped.next()).toEqual({ done: false, value: 1 });
    expect((await mapped.next()).done).toBe(true);
  });

  test('a failure comes at its turn, and nothing is left unhandled', async () => {
    const out: number[] = [];
    const failing = async (): Promise<void> => {
      for await (const value of mapAhead(numbers(5, []), 3, async (n) => {
        if (n === 2) {
          throw new Error('third');
        }
        return n;
      })) {
        out.push(value);
      }
    };
    await expect(failing()).rejects.toThrow('third');
    expect(out).toEqual([0, 1]);
  });
});

test('createSemaphore lets so many in, the others in order, and also after a failure', async () => {
  const gate = createSemaphore(2);
  let under = 0;
  let most = 0;
  const order: number[] = [];
  const results = await Promise.allSettled(
    Array.from({ length: 9 }, (_, n) =>
      gate(async () => {
        under += 1;
        most = Math.max(most, under);
        order.push(n);
        await settle();
        under -= 1;
        if (n % 3 === 0) {
          throw new Error('third');
        }
      }),
    ),
  );
  expect(most).toBe(2);
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(3);
});

describe('replaceOrConfirm', () => {
  const value = Buffer.from('new');
  const lost = (): Promise<boolean> => Promise.reject(new Error('lost'));

  test('passes on whether the value was replaced, without reading it', async () => {
    const read = (): Promise<never> => Promise.reject(new Error('was read'));
    expect(await replaceOrConfirm(value, async () => true, read)).toBe(true);
    expect(await replaceOrConfirm(value, async () => false, read)).toBe(false);
  });

  test('finds out what has happened when the reply is lost', async () => {
    expect(await replaceOrConfirm(value, lost, async () => Buffer.from('new'))).toBe(true);
    await expect(replaceOrConfirm(value, lost, async () => Buffer.from('old'))).rejects.toThrow('lost');
    await expect(replaceOrConfirm(value, lost, async () => undefined)).rejects.toThrow('lost');
  });
});
