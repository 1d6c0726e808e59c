import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { commentsOf, countDialect } from './dialect.ts';
import { measureFiles, spread } from './measure.ts';
import {
  countComments,
  countImports,
  exportsOf,
  type FunctionPlace,
  findCycles,
  folderGraph,
  functionsOf,
  importGraph,
} from './source.ts';
import { instrument, summarize } from './warm-store.ts';

const SAMPLE = `/** Says what it does. */
export async function outer(value: number): Promise<number> {
  // Why.
  const inner = (a: number) => a + 1;

  return [value].map((one) => inner(one))[0] ?? \`
  // no comment\`.length;
}
export class Box { // with code
  constructor(readonly size = 1) {}
  get half(): number {
    return this.size / 2;
  }
}
`;

test('functions are found with their names and lines, closures inside included', () => {
  const found = functionsOf('a.ts', SAMPLE).map(({ name, line, lines }) => [name, line, lines]);
  expect(found).toEqual([
    ['outer', 2, 7],
    ['inner', 4, 1],
    ['closure', 6, 1],
    ['constructor', 10, 1],
    ['half', 11, 3],
  ]);
});

test('a comment is a line without code, in a template it is text', () => {
  expect(countComments(SAMPLE)).toEqual({ filled: 13, comments: 2 });
});

test('lines of imports count, those of exports and calls do not', () => {
  const text = `import a from './a.ts';\nimport {\n  b,\n} from './b.ts';\nexport { c } from './c.ts';\nawait import('./d.ts');\n`;
  expect(countImports(text)).toBe(4);
});

test('dialect is found in comments of TypeScript and Lua alone', () => {
  const text = "/** What a caller says.\n * It stands beside the item. */\nconst a = 'whoever'; // Is it?\n";
  expect(commentsOf('a.ts', text)).toEqual(['What a caller says. It stands beside the item.', 'Is it?']);
  const found = countDialect(
    new Map([
      ['a.ts', text],
      ['b.lua', '-- Whoever asks.\nlocal whoever = 1\n'],
    ]),
  );
  expect(found['begins with a question word']).toBe(2);
  expect(found['whoever, nobody, somebody']).toBe(1);
  expect(found['beside, behind']).toBe(1);
});

test('spread is median, 95th percentile and maximum', () => {
  expect(spread(Array.from({ length: 100 }, (_, index) => 100 - index))).toBe('50 / 95 / 100');
  expect(spread([])).toBe('0 / 0 / 0');
});

test('exported names are those of declarations and of lists', () => {
  const text = `const a = 1; export { a, a as b }; export * from './x.ts'; export default a;
    export type C = 1; export interface D {} export const e = 1, f = 2; export { g } from './y.ts';`;
  expect(exportsOf(SAMPLE + text)).toEqual(['outer', 'Box', 'a', 'b', 'C', 'D', 'e', 'f', 'g']);
});

test('cycles are found through every kind of import', () => {
  const graph = importGraph(
    new Map([
      ['x/a.ts', "import type { B } from '../y/b.ts'; import 'pack'; // import './d.ts'"],
      ['y/b.ts', "export { c } from './c.ts';"],
      ['y/c.ts', "export const f = () => import('../x/d.ts');"],
      ['x/d.ts', "export type A = import('./a.ts').A; export * from './none.ts';"],
      ['z/e.ts', "import '../x/a.ts';"],
    ]),
  );
  expect(findCycles(graph)).toEqual([['x/a.ts', 'x/d.ts', 'y/b.ts', 'y/c.ts']]);
  expect(findCycles(folderGraph(graph))).toEqual([['x', 'y']]);
});

test('a checkout is measured by folder and scope', () => {
  const found = measureFiles(
    new Map([
      ['server/a.ts', SAMPLE],
      ['server/b.ts', 'export const outer = 1;\n'],
      ['server/c.lua', 'return 1\nreturn 2'],
      ['sdk/api.d.ts', SAMPLE],
    ]),
  );
  expect(found.scopes['server']).toMatchObject({ files: 2, '.ts': 15, '.lua': 2, functions: 5, '> 40': 0 });
  expect(found.scopes['sdk']).toMatchObject({ files: 0 });
  expect(found.folders[0]).toEqual({ path: 'server', files: 3 });
  expect(found.longest[0]).toEqual({ lines: 7, name: 'outer', at: 'server/a.ts:2' });
  expect(found.exportedTwice).toEqual({ outer: ['server/a.ts', 'server/b.ts'] });
});

test('instrumented code does the same and records each call', async () => {
  const known: FunctionPlace[] = [];
  const text = instrument('a.ts', SAMPLE, known);
  expect(text.split('\n')).toHaveLength(SAMPLE.split('\n').length);
  const calls: number[] = [];
  Reflect.set(globalThis, '__called', (id: number) => calls.push(id));
  const file = join(mkdtempSync(join(tmpdir(), 'instrumented-')), 'a.ts');
  writeFileSync(file, text);
  const { outer, Box } = await import(file);
  rmSync(dirname(file), { recursive: true });
  expect(await outer(1)).toBe(2);
  expect(new Box(4).half).toBe(2);
  Reflect.deleteProperty(globalThis, '__called');
  expect(calls.map((id) => known[id]?.name)).toEqual(['outer', 'closure', 'inner', 'constructor', 'half']);
});

test('a path counts calls, functions, files and changes of file', () => {
  const [a, b] = functionsOf('a.ts', 'function a() {} function b() {}') as [FunctionPlace, FunctionPlace];
  expect(summarize([a, a, { ...b, file: 'b.ts' }, a, b])).toEqual({
    calls: 5,
    functions: 3,
    files: 2,
    'file changes': 2,
  });
});
