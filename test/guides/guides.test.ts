import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Glob } from 'bun';
import { VaultError } from '../../server/errors.ts';
import { routeErrors } from '../../server/plugins/route.ts';
import { ROUTES } from '../../server/routes/table.ts';
import { blocksOf, inWordsOf, runBlocks } from './guide.ts';
import { type GuideServer, startServer } from './server.ts';

/** The pages in the order in which a reader tries them, all on one server. */
const PAGES = ['README.md', 'docs/guides/capture.md', 'docs/guides/retrieve.md', 'docs/guides/rules.md'];
const MS_MAX = 60_000;
const ROOT = join(import.meta.dir, '..', '..');

const folder = mkdtempSync(join(tmpdir(), 'cv-guides-'));
let server: GuideServer;

beforeAll(async () => {
  server = await startServer(join(folder, 'data'));
}, MS_MAX);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(PAGES)('%s', (path) => {
  const markdown = readFileSync(join(ROOT, path), 'utf8');
  const blocks = blocksOf(path, markdown);
  let printed: readonly string[] = [];
  let errors = '';

  beforeAll(async () => {
    ({ printed, errors } = await runBlocks(blocks, server, join(folder, path.replaceAll('/', '-'))));
  }, MS_MAX);

  test('has examples, and runs all that it has', () => {
    expect(blocks.length).toBeGreaterThan(2);
    expect(blocks).toHaveLength(
      markdown.match(/^ *```(?:sh|bash|shell|ts|js|typescript|html)\b/gm)?.length ?? 0,
    );
  });

  test.each(blocks.map(({ name, output }, at) => [name, at, output] as const))('%s', (_name, at, output) => {
    expect(printed.length > at ? '' : errors).toBe('');
    expect(printed.length).toBeGreaterThan(at);
    if (output !== undefined) {
      expect(inWordsOf(output, printed[at] ?? '')).toBe(output);
    }
  });
});

test('every guide is run', () => {
  expect(PAGES).toEqual(expect.arrayContaining([...new Glob('docs/guides/*.md').scanSync({ cwd: ROOT })]));
});

describe('what a guide says is printed', () => {
  const says = (expected: string, printed: string): boolean => inWordsOf(expected, printed) === expected;
  test.each([
    ['{"a":1,\n "b":2}', '{"a":1,"b":2}', true],
    ['{"token":"…","b":2}', '{"token":"9f","b":2}\n', true],
    ['{"a":1}', '{"a":2}', false],
    ['{"a":1}', '{"a":1}{"b":2}', false],
    ['{"token":"…"}', '{"token":"9f","b":2}', false],
    ['{"token":"…"}', '{"token":""}', false],
    ['a.c', 'abc', false],
  ])('%j for %j: %p', (expected, printed, same) => {
    expect(says(expected, printed)).toBe(same);
  });
});

describe('the errors that a guide lists', () => {
  const listed = ['capture', 'retrieve'].flatMap((operationId) => {
    const markdown = readFileSync(join(ROOT, 'docs', 'guides', `${operationId}.md`), 'utf8');
    return [...markdown.matchAll(/^\| (\d{3}) \| (.*?) \|/gm)].flatMap(([, status, codes = '']) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => ({ operationId, status: Number(status), code })),
    );
  });

  test.each(listed)('$operationId: $status $code', ({ operationId, status, code }) => {
    const known = ROUTES.filter((route) => route.operationId === operationId).flatMap(routeErrors);
    const found = known.find((name) => name === code);
    expect(found && new VaultError(found).status).toBe(status);
  });

  test.each(['capture', 'retrieve'])('%s: are all but faults of the service and of form', (operationId) => {
    const known = ROUTES.filter((route) => route.operationId === operationId).flatMap(routeErrors);
    const codes = new Set(listed.filter((row) => row.operationId === operationId).map(({ code }) => code));
    expect(known.filter((code) => !codes.has(code)).sort()).toEqual([
      'duplicate_parameter',
      'integrity_failed',
      'internal',
    ]);
  });
});
