/** What one process reports to its supervisor costs neither the supervisor nor the metrics of the other processes. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { GUARD } from '../helpers/guard.ts';

/** More scrapes than the second process has wrong answers. */
const SCRAPES = 40;
const TEST_MS_MAX = 60_000;

const child = Bun.spawn([...GUARD, process.execPath, join(import.meta.dir, 'hostile-processes.ts')], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
afterAll(async () => {
  child.kill('SIGKILL');
  await child.exited;
});

interface Line {
  readonly text?: string;
  readonly collected?: number;
  readonly event?: string;
}

async function readLines(count: number): Promise<readonly Line[]> {
  let text = '';
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    const lines = text.split('\n').slice(0, -1);
    if (lines.length >= count) {
      return lines.map((line) => JSON.parse(line) as Line);
    }
  }
  throw new Error(`the supervisor has ended: ${text}`);
}

test(
  'wrong figures and floods of one process leave the metrics of the others as they are',
  async () => {
    const lines = await readLines(SCRAPES);
    expect(lines.filter(({ event }) => event !== undefined)).toEqual([]);
    for (const { text } of lines.slice(1)) {
      expect(text).toContain('vault_good_total{of="a"} 2\n');
      // What it reported last that was right.
      expect(text).toContain('vault_other_total{of="a"} 3\n');
      expect(text).not.toMatch(/bad|99/);
    }
    // Thousands of requests for the metrics do not become as many.
    expect(lines.at(-1)?.collected).toBeLessThan(1_000);
  },
  TEST_MS_MAX,
);
