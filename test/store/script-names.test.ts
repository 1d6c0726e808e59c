import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dir, '../../server/store/scripts');

/** A part of other scripts. */
const PARTS = new Set(['prelude.lua']);

test('every script says its name first, by which it is measured: that of its file without the number of keys', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.lua') && !PARTS.has(name));
  expect(files.length).toBeGreaterThan(20);
  const wrong = files.filter((name) => {
    const [first] = readFileSync(join(folder, name), 'utf8')
      .replace(/^#!.*\n/, '')
      .split('\n', 1);
    return first !== `-- ${name.replace(/-(?:\d+|n)\.lua$/, '')}`;
  });
  expect(wrong).toEqual([]);
});
