import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchSharedChromium } from '../browser/chromium.ts';
import { packAll } from '../helpers/packages.ts';
import { ALL_BLOCKS } from './code-blocks.ts';
import { blocksOf, inLinesOf, inWordsOf, runBlocks } from './guide.ts';
import { RUNS } from './pages.ts';
import { startParties } from './parties.ts';
import { startServer } from './server.ts';

const QUICK_START = 'docs/quick-start.md';
const MS_MAX = 300_000;
const ROOT = join(import.meta.dir, '..', '..');

const folder = mkdtempSync(join(tmpdir(), 'cv-guides-'));
function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** What every recipe asks for: the folder of the shop up to its third step, without the certificate. */
const SHOP = blocksOf('docs/recipes/one-shop.md', textOf('docs/recipes/one-shop.md')).slice(1, 5);

/** What the blocks of each page printed. */
const ran = new Map<string, Awaited<ReturnType<typeof runBlocks>>>();
/** What the quick start's server said as it started, in the words of the page. */
let greeting = '';

/** Tries the pages of one server, one after the other as a reader does, with third parties of their own. */
async function tryPages(pages: readonly string[], browser: string): Promise<void> {
  const own = mkdtempSync(join(folder, 'pages-'));
  const parties = await startParties(own);
  const server = await startServer(join(own, 'data'), {
    VAULT_PROXY_ALLOW: '127.0.0.0/8',
    VAULT_PROXY_CA_FILE: parties.caFile,
  });
  try {
    for (const path of pages) {
      const blocks = blocksOf(path, textOf(path));
      const isRecipe = path.startsWith('docs/recipes/');
      const place = join(own, isRecipe ? 'shop' : path.replaceAll('/', '-'));
      if (isRecipe && !existsSync(place)) {
        const { printed } = await runBlocks(SHOP, server, parties, browser, place);
        expect(printed).toHaveLength(SHOP.length);
      }
      ran.set(path, await runBlocks(blocks, server, parties, browser, place));
    }
  } finally {
    await server.stop();
    parties.stop();
  }
  if (pages.includes(QUICK_START)) {
    greeting = server.greeting
      // Passkeys need a host with a name, so this server has its console there.
      .replaceAll(server.url.replace('127.0.0.1', 'localhost'), server.url)
      .replaceAll(server.url, 'http://127.0.0.1:8080')
      .replace(server.password, 'the-password-that-was-printed');
  }
}

beforeAll(async () => {
  // Pages install the SDK that the server gives out.
  await packAll();
  const browser = await launchSharedChromium();
  try {
    // Most of the time a page waits for one program; readers of several servers do not wait for each other.
    await Promise.all(RUNS.map((pages) => tryPages(pages, browser.wsEndpoint())));
  } finally {
    await browser.close();
  }
}, MS_MAX);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(RUNS.flat())('%s', (path) => {
  const markdown = textOf(path);
  const blocks = blocksOf(path, markdown);

  test('has examples, and runs all that it has', () => {
    expect(blocks.length).toBeGreaterThan(0);
    expect(blocks).toHaveLength(
      markdown.match(/^ *```(?:sh|bash|shell|ts|js|typescript|html|text(?= \S))\b/gm)?.length ?? 0,
    );
  });

  const shown = blocks.map(({ name, language, output }, at) => [name, at, language, output] as const);
  test.each(shown)('%s', (_name, at, language, output) => {
    const { printed = [], errors = '' } = ran.get(path) ?? {};
    expect(printed.length > at ? '' : errors).toBe('');
    expect(printed.length).toBeGreaterThan(at);
    if (output !== undefined) {
      const inPageOf = language === 'text' ? inLinesOf : inWordsOf;
      expect(inPageOf(output, printed[at] ?? '')).toBe(output);
    }
  });
});

test('a start prints what the quick start shows', () => {
  const shown = ALL_BLOCKS.find(({ page, code }) => page === QUICK_START && code.startsWith('Cardvault '));
  const lines = (shown?.code ?? '').trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(5);
  const isPrinted = (line: string): boolean =>
    greeting.split('\n').some((each) => inWordsOf(line, each) === line);
  expect(lines.filter((line) => !isPrinted(line))).toEqual([]);
});
