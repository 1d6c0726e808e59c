import { describe, expect, test } from 'bun:test';
import { readSources } from '../sources.ts';
import { findExcess } from './limits.ts';

test('files, folders and functions are within their limits', async () => {
  const sources = await readSources('server', 'workers', 'sdk', 'forms', 'scripts', 'test');
  expect(sources.size).toBeGreaterThan(500);
  expect(findExcess(sources)).toEqual([]);
});

describe('the check finds', () => {
  const check = (files: Record<string, string>) => findExcess(new Map(Object.entries(files)));
  const lines = (count: number): string => '\n'.repeat(count);

  test('a file that is too long', () => {
    expect(check({ 'sdk/key.ts': lines(400).concat('export {};') })).toEqual([
      'sdk/key.ts has 401 lines, more than 400',
    ]);
    expect(check({ 'sdk/key.ts': lines(399).concat('export {};') })).toEqual([]);
  });

  test('a function that is too long, inside of another too', () => {
    const inner = `\nfunction outer() {\n  const inner = () => {${lines(69)}};${lines(1)}}`;
    expect(check({ 'server/a.ts': inner })).toEqual(['server/a.ts:2 outer has 72 lines, more than 70']);
    expect(check({ 'server/a.ts': `function f() {${lines(69)}}` })).toEqual([]);
  });

  test('a callback that is too long, but not a group of tests', () => {
    const callback = `describe('it', () => {${lines(70)}});`;
    expect(check({ 'server/a.ts': callback })).toEqual(['server/a.ts:1 closure has 71 lines, more than 70']);
    expect(check({ 'test/a.test.ts': callback })).toEqual([]);
  });

  test('an arrow where a declaration is meant', () => {
    expect(check({ 'server/a.ts': '\nexport const f = async () => 1;' })).toEqual([
      'server/a.ts:2 f is an arrow: declare it as a function',
    ]);
    expect(check({ 'server/a.ts': 'const f: Handler = () => 1; call(() => 2);' })).toEqual([]);
  });

  test('a folder with too many files', () => {
    const filesIn = (folder: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${folder}/${at}.ts`, 'export {};']));
    expect(check(filesIn('server/boot', 21))).toEqual([
      'server/boot has 21 files, more than 20: group them by noun',
    ]);
    expect(check({ ...filesIn('server/boot', 20), ...filesIn('test/http', 40) })).toEqual([]);
  });
});
