import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Glob } from 'bun';
import { isErrorCode, VaultError } from '../../server/errors.ts';
import { routeErrors } from '../../server/plugins/route.ts';
import { ROUTES } from '../../server/routes/table.ts';
import { blocksOf, inWordsOf, runBlocks } from './guide.ts';
import { type GuideParties, startParties } from './parties.ts';
import { type GuideServer, startServer } from './server.ts';

/** The pages in the order in which a reader tries them, all on one server. */
const PAGES = [
  'README.md',
  'docs/guides/capture.md',
  'docs/guides/retrieve.md',
  'docs/guides/rules.md',
  'docs/guides/proxy.md',
  'docs/guides/webhooks.md',
  'docs/guides/client-certificates.md',
  'docs/guides/forms.md',
  'docs/guides/billing-and-preferences.md',
  'docs/guides/backup.md',
  'docs/guides/audit.md',
];
/** For who runs a vault: their commands are for machines, Redis and files of one's own, and are tried where those are. */
const OPERATOR_PAGES = ['limits', 'master-key', 'monitoring', 'production', 'redis-cluster'].map(
  (name) => `docs/guides/${name}.md`,
);
const MS_MAX = 60_000;
const ROOT = join(import.meta.dir, '..', '..');

const folder = mkdtempSync(join(tmpdir(), 'cv-guides-'));
let parties: GuideParties;
let server: GuideServer;

beforeAll(async () => {
  parties = await startParties(folder);
  server = await startServer(join(folder, 'data'), {
    VAULT_PROXY_ALLOW: '127.0.0.0/8',
    VAULT_PROXY_CA_FILE: parties.caFile,
  });
}, MS_MAX);
afterAll(async () => {
  await server?.stop();
  parties?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(PAGES)('%s', (path) => {
  const markdown = readFileSync(join(ROOT, path), 'utf8');
  const blocks = blocksOf(path, markdown);
  let printed: readonly string[] = [];
  let errors = '';

  beforeAll(async () => {
    ({ printed, errors } = await runBlocks(blocks, server, parties, join(folder, path.replaceAll('/', '-'))));
  }, MS_MAX);

  test('has examples, and runs all that it has', () => {
    expect(blocks.length).toBeGreaterThan(2);
    expect(blocks).toHaveLength(
      markdown.match(/^ *```(?:sh|bash|shell|ts|js|typescript|html|text(?= \S))\b/gm)?.length ?? 0,
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

test('every guide is run, or is one for operators', () => {
  const guides = [...new Glob('docs/guides/*.md').scanSync({ cwd: ROOT })].sort();
  expect([...PAGES.filter((page) => page !== 'README.md'), ...OPERATOR_PAGES].sort()).toEqual(guides);
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

/** The operations of a guide. */
const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  capture: ['capture'],
  retrieve: ['retrieve'],
  proxy: ['proxyPost', 'proxyGet', 'requestNetworkToken'],
  forms: ['createForm', 'listForms', 'showForm', 'deleteForm'],
};

describe.each(Object.entries(OPERATIONS))('the errors that the guide %s lists', (name, operations) => {
  const markdown = readFileSync(join(ROOT, 'docs', 'guides', `${name}.md`), 'utf8');
  const known = ROUTES.filter((route) => operations.includes(route.operationId)).flatMap(routeErrors);
  const listed = [...markdown.matchAll(/^\| (\d{3}) \| (.*?) \|/gm)].flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => [Number(status), code] as const),
  );

  test.each(listed)('%d %s', (status, code) => {
    const found = known.find((each) => each === code);
    expect(found && new VaultError(found).status).toBe(status);
  });

  test('are all but faults of the service and of form', () => {
    const codes = new Set<string>(listed.map(([, code]) => code));
    expect([...new Set(known)].filter((code) => !codes.has(code)).sort()).toEqual([
      'duplicate_parameter',
      'integrity_failed',
      'internal',
    ]);
  });
});

test('the codes that the guide of webhooks explains are codes', () => {
  const markdown = readFileSync(join(ROOT, 'docs', 'guides', 'webhooks.md'), 'utf8');
  const explained = /^## When nobody knows$(.*?)^## /ms.exec(markdown)?.[1] ?? '';
  const codes = [...explained.matchAll(/^\| (`.*?) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/\w+/g) ?? [],
  );
  expect(codes).toContain('outcome_unknown');
  expect(codes.filter((code) => code !== 'code' && !isErrorCode(code))).toEqual([]);
});
