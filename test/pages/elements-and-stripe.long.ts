/** Pastes the recipe of a shop in TypeScript into an empty folder, with the local payment service in Stripe's place. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_BLOCKS } from './code-blocks.ts';
import { inWordsOf } from './guide.ts';
import { PastedPage } from './paste.ts';

const MS_MAX = 240_000;
const LINES_MAX = 120;
const ROOT = join(import.meta.dir, '..', '..');

const packages = mkdtempSync(join(tmpdir(), 'cv-packages-'));
const { devDependencies }: { readonly devDependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);

/** Stands for the package tsx, which these tests do not fetch: Node loads TypeScript without its types. */
function makeTsx(): string {
  const folder = join(packages, 'tsx');
  const hooks = `import { readFileSync } from 'node:fs';
import ts from ${JSON.stringify(join(ROOT, 'node_modules/typescript/lib/typescript.js'))};
export async function load(url, context, next) {
  if (!url.endsWith('.mts')) return next(url, context);
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true };
  const { outputText } = ts.transpileModule(readFileSync(new URL(url), 'utf8'), { compilerOptions });
  return { format: 'module', source: outputText, shortCircuit: true };
}
`;
  const files = {
    'package.json': '{ "name": "tsx", "version": "4.0.0", "type": "module", "exports": "./index.js" }',
    'index.js': "import { register } from 'node:module';\nregister('./hooks.js', import.meta.url);\n",
    'hooks.js': hooks,
  };
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const FETCHED = `stripe@${devDependencies['stripe']} tsx@4`;
const page = new PastedPage('docs/recipes/elements-and-stripe.md', [
  [FETCHED, `${join(ROOT, 'node_modules/stripe')} ${makeTsx()}`],
]);
const { shop, steps } = page;

beforeAll(() => {
  const sandbox = ALL_BLOCKS.find(
    (block) => block.page === 'docs/guides/sandbox.md' && block.info === 'js sandbox.mjs',
  );
  return page.run({ 'sandbox.mjs': sandbox?.code ?? '' });
}, MS_MAX);
afterAll(() => {
  page.remove();
  rmSync(packages, { recursive: true, force: true });
});

test.each(steps.map((step, at) => [`${step.line} (${step.info})`, at, page.outputOf(step) ?? ''] as const))(
  'line %s works as shown',
  (_name, at, expected) => {
    expect(page.printed.length > at ? '' : page.errors).toBe('');
    expect(inWordsOf(expected, page.printed[at] ?? '')).toBe(expected);
  },
);

test('nobody else may read the secrets', () => {
  for (const name of ['shop.env', 'shop.secret', 'charger.secret', 'keeper.secret']) {
    expect([name, statSync(join(shop, name)).mode & 0o077]).toEqual([name, 0]);
  }
});

test('nothing complains', () => {
  const expected = /^npm warn|^Terminated$|^$/;
  expect(page.errors.split('\n').filter((line) => !expected.test(line))).toEqual([]);
});

const FILES = steps.filter(({ info }) => info?.startsWith('ts '));

test('it is little code, the version of the SDK is the one that tests know, and nothing but Node runs it', () => {
  const lines = FILES.flatMap(({ code }) => code.split('\n')).filter((line) => line.trim() !== '');
  expect(FILES.length).toBeGreaterThan(4);
  expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
  expect(steps.filter(({ code }) => code.includes(FETCHED))).toHaveLength(1);
  expect(steps.filter(({ code }) => /\bbun\b/.test(code))).toEqual([]);
});

test(
  'its types are right',
  () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const flags =
      '--noEmit --strict --target es2022 --module nodenext --allowImportingTsExtensions --lib es2022,dom --skipLibCheck --types node --typeRoots';
    const names = FILES.map(({ info = '' }) => info.slice(3));
    const { stdout } = Bun.spawnSync(
      [process.execPath, tsc, ...flags.split(' '), join(ROOT, 'node_modules/@types'), ...names],
      { cwd: shop },
    );
    expect(stdout.toString()).toBe('');
  },
  MS_MAX,
);
