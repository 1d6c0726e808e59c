/** Pastes the recipe of a whole shop into an empty folder. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { inWordsOf } from './guide.ts';
import { PastedPage } from './paste.ts';

const MS_MAX = 240_000;
const LINES_MAX = 120;
const SERVERS = 3;

const page = new PastedPage('docs/recipes/one-shop.md', []);
const { shop, steps } = page;

beforeAll(() => page.run(), MS_MAX);
afterAll(() => page.remove());

test.each(steps.map((step, at) => [`${step.line} (${step.info})`, at, page.outputOf(step) ?? ''] as const))(
  'line %s works as shown',
  (_name, at, expected) => {
    expect(page.printed.length > at ? '' : page.errors).toBe('');
    expect(inWordsOf(expected, page.printed[at] ?? '')).toBe(expected);
  },
);

test('nobody else may read the secrets, also after the change', () => {
  expect(statSync(join(shop, 'shop.env')).mode & 0o077).toBe(0);
});

test('without a next passphrase the key keeps the one that is known', () => {
  const { exitCode, stderr } = Bun.spawnSync(['sh', '-c', '. ./shop.env; exec node rotate.mjs'], {
    cwd: shop,
  });
  expect([exitCode, stderr.toString()]).toEqual([1, expect.stringContaining('Write the next passphrase')]);
});

test('nothing complains', () => {
  // What npm has to say of the machine's own settings, and the shell of what the page ends.
  const expected = /^npm warn|^Terminated$|^$/;
  expect(page.errors.split('\n').filter((line) => !expected.test(line))).toEqual([]);
});

test('it is little code, without Bun, and every server listens on this machine alone', () => {
  const files = steps.filter(({ info }) => info?.startsWith('js '));
  const [secrets = ''] = steps
    .filter(({ code }) => code.startsWith('cat > shop.env'))
    .map(({ code }) => /<<END\n(.*?)^END$/ms.exec(code)?.[1] ?? '');
  const code = `${files.map((block) => block.code).join('')}${secrets}`;
  expect(files.length).toBeGreaterThan(7);
  expect(code.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(LINES_MAX);
  expect(steps.filter((step) => /\bbun\b/.test(step.code))).toEqual([]);
  const listening = code.match(/\.listen\(.*?\)/g) ?? [];
  expect(listening).toHaveLength(SERVERS);
  expect(listening.filter((call) => !call.endsWith(", '127.0.0.1')"))).toEqual([]);
});
