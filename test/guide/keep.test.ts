import { describe, expect, test } from 'bun:test';
import { keep } from '../../server/guide/keep.ts';
import { createClient } from '../http/client.ts';

const AT_ONCE = 100;
const NOBODY = { headers: { authorization: '', 'accept-encoding': 'gzip' } };

/** Milliseconds of all processors that some work took, whatever else the machine does. */
const costOf = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

const ask = (times: number): Promise<number> => {
  const client = createClient();
  const all = () =>
    Promise.all(Array.from({ length: times }, () => client.send('GET', '/guide/search.json', NOBODY)));
  return costOf(all);
};

describe('what is kept', () => {
  test('is made once for many who ask at once, and is kept', async () => {
    let makings = 0;
    const kept = keep(async (key: string) => {
      makings += 1;
      await Bun.sleep(1);
      return { key };
    });
    const [first, ...others] = await Promise.all(Array.from({ length: 10 }, () => kept('a')));
    expect(others.every((other) => other === first)).toBe(true);
    expect(await kept('a')).toBe(first ?? { key: 'none' });
    expect(makings).toBe(1);
  });

  test('is neither what failed nor what is not there', async () => {
    let makings = 0;
    const kept = keep(async (key: string): Promise<string | undefined> => {
      makings += 1;
      if (key === 'broken') {
        throw new Error('broken');
      }
      return undefined;
    });
    for (const time of [1, 2]) {
      await expect(kept('broken')).rejects.toThrow('broken');
      expect(await kept('missing')).toBeUndefined();
      expect(makings).toBe(2 * time);
    }
  });

  test('costs a server that has just begun the same, however many ask for the index of the search', async () => {
    await ask(1); // What the runtime has to learn once is nobody's cost.
    const forOne = await ask(1);
    expect(await ask(AT_ONCE)).toBeLessThan(3 * forOne);
  });
});
