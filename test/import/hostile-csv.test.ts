/** CSV that others have written to hold up an import. */
import { expect, test } from 'bun:test';
import { csvRows } from '../../server/import/csv.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';

/** The rows of a CSV file of one column that consists of `count` times the same bytes. */
async function rowsOf(piece: Uint8Array, count: number): Promise<number> {
  async function* bytes() {
    yield Buffer.from('number\n');
    for (let n = 0; n < count; n++) {
      yield piece;
    }
  }
  let rows = 0;
  for await (const some of csvRows(bytes(), { delimiter: ',', map: undefined })) {
    rows += some.length;
  }
  return rows;
}

test('a line that never ends is told, and blank lines are passed over', async () => {
  await expect(rowsOf(Buffer.alloc(65_536, 'x'), 40)).rejects.toThrow('Line 2 of FILE is longer than 2 MB.');
  expect(await rowsOf(Buffer.alloc(65_536, '\n'), 40)).toBe(0);
});

test('faulty lines take a time that grows as they do', async () => {
  const timeOf = async (lines: number): Promise<number> => {
    const passedMs = startCpuClock();
    expect(await rowsOf(Buffer.from('""x\n'.repeat(lines)), 1)).toBe(lines);
    return passedMs();
  };
  await timeOf(500);
  // Four times as many took sixteen times as long.
  expect(await timeOf(8_000)).toBeLessThan(8 * (await timeOf(2_000)) + 500);
});
