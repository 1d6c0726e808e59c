import { describe, expect, test } from 'bun:test';
import { type Argon2Timing, suggest } from '../../server/cli/argon2-command.ts';
import { parseArgon2 } from '../../server/config/values.ts';

const GB = 1_024 ** 3;
function timing(memoryKiB: number, passes: number, parallelism: number, ms: number): Argon2Timing {
  return {
    memoryKiB,
    passes,
    parallelism,
    ms,
  };
}

describe('the suggested cost of a passphrase', () => {
  const timings = [
    timing(19_456, 2, 1, 30),
    timing(65_536, 2, 1, 110),
    timing(65_536, 3, 1, 170),
    timing(65_536, 4, 1, 230),
    timing(131_072, 2, 1, 290),
    timing(131_072, 3, 1, 420),
    timing(262_144, 2, 1, 600),
  ];

  test('has the most memory that opens a key in about 200 ms', () => {
    expect(suggest(timings, 8 * GB)).toMatchObject({ memoryKiB: 131_072, passes: 2 });
  });

  test('with less memory free, as many passes as come nearest to 200 ms', () => {
    expect(suggest(timings, 1 * GB - 1)).toMatchObject({ memoryKiB: 65_536, passes: 4 });
  });

  test('is never under the floor, however slow or full the machine', () => {
    const floor = { memoryKiB: 19_456, passes: 2, parallelism: 1 };
    expect(suggest([timing(19_456, 2, 1, 5_000)], 8 * GB)).toMatchObject(floor);
    expect(suggest(timings, 0)).toMatchObject(floor);
    expect(suggest([], 8 * GB)).toMatchObject(floor);
  });

  test('is a setting that the server takes', () => {
    const { memoryKiB, passes, parallelism } = suggest(timings, 8 * GB);
    expect(parseArgon2(`m=${memoryKiB},t=${passes},p=${parallelism}`)).toEqual({
      memoryKiB,
      passes,
      parallelism,
    });
  });
});
