/** What the console knows of the server by heart. */
import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { csvOf } from '../../console/app/csv.ts';
import { durationOf } from '../../console/app/duration.ts';
import { readNewest } from '../../console/app/newest.ts';
import { T } from '../../console/app/text.ts';
import { ARGUMENTS } from '../../console/screens/rule-arguments.ts';
import type { ListedItem, ListItems, Tree } from '../../sdk/transport/types.ts';
import { compileOperation, OPERATION_NAMES } from '../../server/domain/rule/operations.ts';
import { parseDuration } from '../../server/domain/text/time.ts';
import { ADDITIONAL_TYPES } from '../../server/form/schema.ts';
import { run } from '../helpers/packages.ts';

test('it offers the operations that there are, with their arguments', () => {
  expect(Object.keys(ARGUMENTS)).toEqual([...OPERATION_NAMES]);
  for (const name of OPERATION_NAMES) {
    let expected: unknown;
    try {
      compileOperation(name, { unknown: 1 }, 'arguments');
    } catch (error) {
      expected = Reflect.get(Object(error), 'expected');
    }
    const names = Object.keys(ARGUMENTS[name]).map((argument) => `\`${argument}\``);
    expect(expected).toBe(`is not known here${names.length === 0 ? '' : `, only ${names.join(', ')}`}`);
  }
});

test('it has a name for each type of additional field', () => {
  expect(Object.keys(T.forms.extra.types)).toEqual([...ADDITIONAL_TYPES]);
});

test('it stays small', async () => {
  const root = join(import.meta.dir, '..', '..');
  const folder = mkdtempSync(join(tmpdir(), 'vault-console-'));
  await run([process.execPath, join(root, 'scripts/build-console.ts'), folder], root);
  const sizes = await Promise.all(
    [...new Bun.Glob('*.{js,css,html}.gz').scanSync(folder)].map((name) => Bun.file(join(folder, name)).size),
  );
  rmSync(folder, { recursive: true });
  expect(sizes).toHaveLength(3);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(70_000);
}, 60_000);

describe('a duration', () => {
  test.each([
    ['1 hour', '1h'],
    ['90 min', '90m'],
    ['1.5 hours', '90m'],
    ['2 Days, 3 hrs and 10 minutes', '2d3h10m'],
    ['1 week', '1w'],
    ['3 months', 'P3M'],
    ['1 year', 'P1Y'],
    ['1h30m', '1h30m'],
  ])('%p is %s', (typed, expected) => {
    expect(parseDuration(durationOf(typed))).toBe(parseDuration(expected));
  });

  test.each(['P30D', 'PT10M', '0', '5', 'soon', '1 hour soon', '1 fortnight', '-1 hour', '0 hours'])(
    '%p is left to the API',
    (typed) => {
      expect(durationOf(` ${typed} `)).toBe(typed);
    },
  );
});

describe('a file for spreadsheets', () => {
  test('has a line of names, and members of objects as columns', () => {
    const metadata = JSON.parse('{"plan":"a, \\"b\\"","__proto__":"x"}');
    const rows = [
      { token: 't', count: -2, card: { brand: 'visa' }, scopes: ['a', 'b'] },
      { token: 'u', metadata, expires_at: null, attempts: [{ ms: 1 }] },
    ];
    expect(csvOf(rows)).toBe(
      [
        '\uFEFFtoken,count,card.brand,scopes,metadata.plan,metadata.__proto__,expires_at,attempts',
        't,-2,visa,a b,,,,',
        'u,,,,"a, ""b""",x,,"[{""ms"":1}]"',
        '',
      ].join('\r\n'),
    );
  });

  // The second list has the separators of spreadsheets in other languages.
  test.each([
    '=1+1',
    '+1',
    '-1+1',
    '@SUM(A1)',
    '\t=1',
    ' =1',
    '\uFF1D1',
    '\r=1',
    'a\n=1',
    'a;=1',
    'a\t@b',
    'a";"=1',
  ])('%j is no formula in it, as a value or as a name', (text) => {
    const csv = csvOf([{ reference: text, metadata: { [text]: 'x' } }]).slice(1);
    const cells = csv.split(/[;\t\r\n]|^|,(?=")|(?<="),/).map((cell) => cell.replace(/^["\s]+/, ''));
    expect(cells.filter((cell) => /^[=+\-@\uFF1D]/.test(cell))).toEqual([]);
    expect(csv).toContain("'");
  });
});

describe('the newest items', () => {
  /** A listing as the API gives it: by key, the oldest first. */
  function listingOf(items: readonly ListedItem[]) {
    const reads: number[] = [];
    const read = async ({ stored_after, stored_before, limit = 0, next_token = '0' }: ListItems) => {
      const wanted = items
        .filter(
          ({ stored_at }) => stored_after === undefined || Date.parse(stored_at) >= Date.parse(stored_after),
        )
        .filter(
          ({ stored_at }) => stored_before === undefined || Date.parse(stored_at) < Date.parse(stored_before),
        )
        .sort((a, b) => (`${a.user} ${a.stored_at}` < `${b.user} ${b.stored_at}` ? -1 : 1));
      const end = Number(next_token) + limit;
      const some = wanted.slice(Number(next_token), end);
      reads.push(some.length);
      const data: Tree = Object.groupBy(some, ({ user }) => user) as Tree; // No group is empty.
      return { data, next_token: end < wanted.length ? String(end) : undefined };
    };
    return { reads, read };
  }

  function itemAt(ms: number, number: number): ListedItem {
    const token = `t${String(number).padStart(5, '0')}`;
    return { token, user: number % 3 === 0 ? 'a' : 'b', stored_at: new Date(ms).toISOString() };
  }

  const now = Date.now();
  const YEAR_MS = 365 * 86_400_000;

  test.each([
    ['none', []],
    ['one page', Array.from({ length: 50 }, (_, at) => now - at)],
    ['some of a clock ahead', Array.from({ length: 60 }, (_, at) => now + 60_000 - 3_000 * at)],
    ['some of years', Array.from({ length: 120 }, (_, at) => now - (at * YEAR_MS) / 12)],
    ['an import in one second', Array.from({ length: 2_500 }, () => now - YEAR_MS)],
    ['an import of an hour', Array.from({ length: 3_000 }, (_, at) => now - YEAR_MS - 1_200 * at)],
  ])('of %s come in pages', async (_name, times) => {
    const items = times.map(itemAt);
    const { reads, read } = listingOf(items);
    const found: ListedItem[] = [];
    let next: string | undefined;
    do {
      const before = reads.length;
      const page = await readNewest(read, {}, next);
      found.push(...page.data);
      next = page.next_token;
      expect(page.data.length).toBe(next === undefined ? page.data.length : 50);
      expect(reads.length - before).toBeLessThan(60);
    } while (next !== undefined);
    expect(found.map(({ token }) => token).sort()).toEqual(items.map(({ token }) => token).sort());
    const stored = found.map(({ stored_at }) => stored_at);
    expect(stored).toEqual(stored.toSorted().reverse());
  });

  test('lie between the times of the filter', async () => {
    const start = Date.parse('2026-01-01T00:00:00Z');
    const { read } = listingOf(Array.from({ length: 40 }, (_, at) => itemAt(start + 60_000 * at, at)));
    const bounds = { stored_after: '2026-01-01T00:10:00Z', stored_before: '2026-01-01T00:12:00Z' };
    const { data, next_token } = await readNewest(read, bounds, undefined);
    expect(data.map(({ token }) => token)).toEqual(['t00011', 't00010']);
    expect(next_token).toBeUndefined();
  });
});
