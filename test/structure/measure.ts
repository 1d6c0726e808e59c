/**
 * Measures the structure of a checkout, so that two states of it can be compared by the same script:
 * `bun test/structure/measure.ts [--root DIR] [--json] [--path]`. `--path` adds the functions of one warm store.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { findExceptions } from '../layers.ts';
import { countDialect } from './dialect.ts';
import {
  countComments,
  countImports,
  exportsOf,
  findCycles,
  folderGraph,
  functionsOf,
  importGraph,
  type Sources,
} from './source.ts';
import { measureStore, type StorePath } from './warm-store.ts';

const GENERATED = /\/api\.d\.ts$/;
const PRODUCT = /^(?:server|workers|sdk|forms|console)\//;
const SERVER = /^(?:server|workers|console)\//;
const SCOPES = [
  'server|workers|console',
  'server|workers',
  'server',
  'workers',
  'workers/crypto',
  'sdk',
  'forms',
  'console',
  'scripts',
  'test',
];
const LONGEST = 10;
const FILE_LINES_MAX = 400;
const FOLDERS = 15;

/** Median, 95th percentile and maximum, by nearest rank. */
export function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return [0.5, 0.95, 1].map((share) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0).join(' / ');
}

function pick(files: Sources, scope: RegExp, ending: string): [string, string][] {
  return [...files].filter(([path]) => scope.test(path) && path.endsWith(ending) && !GENERATED.test(path));
}

function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

function measureScope(files: Sources, scope: RegExp): Readonly<Record<string, string | number>> {
  const sources = pick(files, scope, '.ts');
  const lengths = sources.map(([, text]) => countLines(text));
  const functions = sources.flatMap(([path, text]) => functionsOf(path, text)).map(({ lines }) => lines);
  const counted = sources.map(([, text]) => countComments(text));
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const linesOf = (ending: string): number =>
    sum(pick(files, scope, ending).map(([, text]) => countLines(text)));
  const comments = sum(counted.map((one) => one.comments));
  const filled = sum(counted.map((one) => one.filled));
  const imports = sum(sources.map(([, text]) => countImports(text)));
  return {
    files: sources.length,
    '.ts': sum(lengths),
    '.tsx': linesOf('.tsx'),
    '.lua': linesOf('.lua'),
    '.css': linesOf('.css'),
    '.js': linesOf('.js'),
    'file p50/p95/max': spread(lengths),
    functions: functions.length,
    'function p50/p95/max': spread(functions),
    '> 40': functions.filter((lines) => lines > 40).length,
    '> 70': functions.filter((lines) => lines > 70).length,
    code: filled - comments - imports,
    comments,
    imports,
    'comments %': ((comments / filled) * 100).toFixed(1),
  };
}

/** Signs of a structure that an editor or a reader cannot follow. */
function measureSigns(files: Sources): Readonly<Record<string, number>> {
  const sources = pick(files, SERVER, '.ts');
  const found = (pattern: RegExp): number =>
    sources.reduce((sum, [, text]) => sum + [...text.matchAll(pattern)].length, 0);
  return {
    'Pick<': found(/\bPick</g),
    'Omit<': found(/\bOmit</g),
    bindParts: found(/\bbindParts\(/g),
    'interface …Parts': found(/\binterface \w+Parts\b/g),
    'ReturnType<typeof create…>': found(/\bReturnType<typeof (?:create|open)/g),
    'files under 60 lines': sources.filter(([, text]) => countLines(text) < 60).length,
    'imports by exception': findExceptions(files).length,
    'folders of product': new Set(sources.map(([path]) => posix.dirname(path))).size,
  };
}

/** All that can be read from the files of a checkout; the keys are paths from its root. */
export function measureFiles(files: Sources) {
  const sources = new Map(pick(files, PRODUCT, '.ts'));
  const graph = importGraph(sources);
  const exported = [...sources].flatMap(([file, text]) => exportsOf(text).map((name) => ({ name, file })));
  const byName = [...Map.groupBy(exported, ({ name }) => name)];
  const folders = [...Map.groupBy(files.keys(), (path) => posix.dirname(path))]
    .map(([path, inside]) => ({ path, files: inside.length }))
    .sort((a, b) => b.files - a.files);
  return {
    scopes: Object.fromEntries(
      SCOPES.map((scope) => [scope, measureScope(files, new RegExp(`^(?:${scope})/`))]),
    ),
    signs: measureSigns(files),
    dialect: countDialect(new Map([...sources, ...pick(files, PRODUCT, '.lua')])),
    folders: folders.slice(0, FOLDERS),
    foldersOverLimit: folders.filter(({ path, files: count }) => count > (/^test\b/.test(path) ? 40 : 20))
      .length,
    longFiles: pick(files, /./, '.ts')
      .map(([path, text]) => ({ path, lines: countLines(text) }))
      .filter(({ lines }) => lines > FILE_LINES_MAX),
    longest: [...sources]
      .flatMap(([path, text]) => functionsOf(path, text))
      .sort((a, b) => b.lines - a.lines)
      .slice(0, LONGEST)
      .map(({ file, name, line, lines }) => ({ lines, name, at: `${file}:${line}` })),
    fileCycles: findCycles(graph),
    folderCycles: findCycles(folderGraph(graph)),
    exportedNames: byName.length,
    exportedTwice: Object.fromEntries(
      byName.filter(([, at]) => at.length > 1).map(([name, at]) => [name, at.map(({ file }) => file)]),
    ),
  };
}

type Found = ReturnType<typeof measureFiles> & { readonly commit: string; readonly store: StorePath };

function report(found: Found, withPath: boolean): string {
  const { scopes, signs, dialect, folders, longFiles, longest, fileCycles, folderCycles, store } = found;
  const { table } = Bun.inspect;
  const sizes = (cycles: string[][]): string => cycles.map(({ length }) => length).join(', ') || 'none';
  const called = Object.entries(store.called).map(([file, names]) => `${file}\n  ${names.join('\n  ')}`);
  return [
    `Structure of ${found.commit}\n${table(scopes)}`,
    `Signs in server, workers and console\n${table(signs)}`,
    `Dialect in comments of server, workers, sdk, forms and console\n${table(dialect)}`,
    `Folders with the most files; ${found.foldersOverLimit} hold over 20 (test: 40)\n${table(folders)}`,
    `Files of more than ${FILE_LINES_MAX} lines\n${table(longFiles)}`,
    `Longest functions of server, workers, sdk and forms\n${table(longest)}`,
    `Files in cycles of imports: ${sizes(fileCycles)}. Folders in cycles: ${sizes(folderCycles)}`,
    ...folderCycles.map((group) => `  ${group.join(' ')}`),
    `Exported names: ${found.exportedNames}; by more than one file: ${Object.keys(found.exportedTwice).length}`,
    `One warm store\n${table(store.threads)}`,
    ...(withPath ? called : []),
  ].join('\n');
}

function git(root: string, ...args: string[]): string {
  return Bun.spawnSync(['git', ...args], { cwd: root })
    .stdout.toString()
    .trim();
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { root: { type: 'string' }, json: { type: 'boolean' }, path: { type: 'boolean' } },
  });
  const root = resolve(values.root ?? join(import.meta.dir, '../..'));
  const paths = git(root, 'ls-files')
    .split('\n')
    .filter((path) => existsSync(join(root, path)));
  const files = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  const commit = git(root, 'describe', '--always', '--dirty');
  const found = { commit, ...measureFiles(files), store: await measureStore(root) };
  console.log(values.json === true ? JSON.stringify(found, null, 2) : report(found, values.path === true));
}

if (import.meta.main) {
  await main();
}
