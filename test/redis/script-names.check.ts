import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const folder = join(import.meta.dir, '../../server');

/** Parts of other scripts. */
const PARTS = /(?:^|[-/])prelude\.lua$/;

test('every script says its name first, by which it is measured: that of its file without the number of keys', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.lua') && !PARTS.test(name),
  );
  expect(files.length).toBeGreaterThan(20);
  const wrong = files.filter((name) => {
    const [first] = readFileSync(join(folder, name), 'utf8')
      .replace(/^#!.*\n/, '')
      .split('\n', 1);
    return first !== `-- ${basename(name).replace(/-(?:\d+|n)\.lua$/, '')}`;
  });
  expect(wrong).toEqual([]);
});
