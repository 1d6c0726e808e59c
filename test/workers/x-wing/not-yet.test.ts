/** Work that needs what the runtime gives later runs again, and only then. */
import { describe, expect, test } from 'bun:test';
import { NotYet, whenReady } from '../../../workers/crypto/primitives/not-yet.ts';

/** Work that throws each of these, one a run, and then gives how often it has run. */
function worker(errors: readonly Error[]): { readonly work: () => number; readonly runs: () => number } {
  let runs = 0;
  const work = () => {
    const error = errors[runs];
    runs++;
    if (error) {
      throw error;
    }
    return runs;
  };
  return { work, runs: () => runs };
}

describe('work', () => {
  test('that needs nothing gives its result at once', () => {
    expect(whenReady(worker([]).work)).toBe(1);
  });

  test('that fails does so at once, and is not run again', () => {
    const { work, runs } = worker([new RangeError('no')]);
    expect(() => whenReady(work)).toThrow(RangeError);
    expect(runs()).toBe(1);
  });

  test('is run again when what it needs is ready, as often as it needs something', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { work, runs } = worker([new NotYet(promise), new NotYet(Promise.resolve())]);
    let ended = 0;
    const result = whenReady(work, () => {
      ended++;
    });
    await Bun.sleep(1);
    expect([runs(), ended]).toEqual([1, 0]);
    resolve();
    expect(await result).toBe(3);
    expect(ended).toBe(2);
  });

  test('fails with what it waited for, and with what it fails with later', async () => {
    const late = new NotYet(Promise.reject(new RangeError('late')));
    await expect(Promise.resolve(whenReady(worker([late]).work))).rejects.toBeInstanceOf(RangeError);
    const { work, runs } = worker([new NotYet(Promise.resolve()), new TypeError('no')]);
    let ended = 0;
    const result = Promise.resolve(whenReady(work, () => ended++));
    await expect(result).rejects.toBeInstanceOf(TypeError);
    expect([runs(), ended]).toEqual([2, 1]);
  });
});
