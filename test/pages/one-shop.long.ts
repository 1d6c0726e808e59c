/** Pastes the recipe of a whole shop into an empty folder: a plain `sh`, the `node` of the machine, and nothing of this project. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchSharedChromium } from '../browser/chromium.ts';
import { freePort } from '../helpers/free-port.ts';
import { packAll } from '../helpers/packages.ts';
import { ALL_BLOCKS, type CodeBlock } from './code-blocks.ts';
import { inWordsOf } from './guide.ts';
import { startServer } from './server.ts';
import { settingsOf } from './start-settings.ts';

const MS_MAX = 240_000;
const LINES_MAX = 120;
const MARK = '\x1e';
const LISTENS = join(import.meta.dir, 'await-port.ts');
const PAGE_RUNNER = join(import.meta.dir, 'run-page.ts');
/** Ends the page's servers where the page has not come to that. */
const LEAVE = `trap 'kill $SANDBOX $RECEIVER $SHOP 2>/dev/null' EXIT\ntrap 'exit 1' TERM\n`;

const BLOCKS = ALL_BLOCKS.filter(({ page }) => page === 'docs/recipes/one-shop.md');
const FILES = BLOCKS.filter(({ info }) => info?.startsWith('js '));
const [CERTIFICATE, ...STEPS] = BLOCKS.filter(({ info }) => info !== 'console' && !isOutput(info));

/** Whether a block shows what the one before it printed. */
function isOutput(info: string | undefined): boolean {
  return info === 'text' || info === 'json';
}

const folder = mkdtempSync(join(tmpdir(), 'cv-shop-'));
const shop = join(folder, 'shop');
const ports = ['3000', '3001', '8443'].map((said) => [said, String(freePort())] as const);
let printed: readonly string[] = [];
let errors = '';

/** The text with the ports of this test. */
function here(text: string): string {
  return ports.reduce((changed, [said, meant]) => changed.replaceAll(said, meant), text);
}

/** Waits, for a minute at most, until a log has as many lines as the page shows. */
function readLog(file: string, lines: number): string {
  return `TRIES=600
until [ "$(wc -l < ${file})" -ge ${lines} ] || [ $((TRIES -= 1)) = 0 ]; do sleep 0.1; done
cat ${file}
`;
}

/** What a reader does for a block: pastes it, saves it, opens the page at a URL, or looks into a log. */
function stepOf({ info = '', code }: CodeBlock): string {
  const [language, name = ''] = info.split(' ');
  if (language === 'js') {
    return `cat > ${name} <<'END_OF_FILE'\n${code}END_OF_FILE\n`;
  }
  if (language === 'sh') {
    return code;
  }
  const { port } = name.startsWith('http') ? new URL(here(name)) : { port: '' };
  const bun = process.execPath;
  return port === ''
    ? readLog(name, code.trimEnd().split('\n').length)
    : `${bun} ${LISTENS} ${port}\n${bun} ${PAGE_RUNNER} ${name}\n`;
}

async function paste(script: string, browser: string): Promise<readonly [output: string, errors: string]> {
  const file = join(folder, 'page.sh');
  writeFileSync(file, here(script));
  const shell = Bun.spawn(['sh', file], {
    cwd: shop,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PAGE_BROWSER: browser },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return Promise.all([new Response(shell.stdout).text(), new Response(shell.stderr).text()]);
}

beforeAll(async () => {
  await packAll();
  const browser = await launchSharedChromium();
  await Bun.$`mkdir ${shop}`;
  await paste(CERTIFICATE?.code ?? '', '');
  const settings = BLOCKS.find(({ info }) => info === 'console')?.code ?? '';
  const server = await startServer(join(folder, 'data'), settingsOf(settings, shop));
  try {
    const script = STEPS.map((block) => `${stepOf(block)}printf '\\036'\n`).join('');
    const [output, said] = await paste(
      `${LEAVE}${script}`
        .replaceAll('http://127.0.0.1:8080', server.url)
        .replaceAll('the-password-that-was-printed', server.password),
      browser.wsEndpoint(),
    );
    printed = output.split(MARK).slice(0, -1);
    errors = said;
  } finally {
    await server.stop();
    await browser.close();
  }
}, MS_MAX);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const OUTPUTS = STEPS.map((step) => {
  const next = BLOCKS[BLOCKS.indexOf(step) + 1];
  const shown = isOutput(next?.info) && next?.after === step ? next : undefined;
  return step.info?.startsWith('text ') ? step : shown;
});

test.each(STEPS.map(({ line, info }, at) => [`${line} (${info})`, at] as const))(
  'line %s works as shown',
  (_name, at) => {
    const expected = OUTPUTS[at]?.code ?? '';
    expect(printed.length > at ? '' : errors).toBe('');
    expect(inWordsOf(expected, printed[at] ?? '')).toBe(expected);
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
  expect(errors.split('\n').filter((line) => !expected.test(line))).toEqual([]);
});

test('it is little code, without Bun, and every server listens on this machine alone', () => {
  const [secrets = ''] = STEPS.filter(({ code }) => code.startsWith('cat > shop.env')).map(
    ({ code }) => /<<END\n(.*?)^END$/ms.exec(code)?.[1] ?? '',
  );
  const code = `${FILES.map((block) => block.code).join('')}${secrets}`;
  expect(FILES.length).toBeGreaterThan(7);
  expect(code.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(LINES_MAX);
  expect(STEPS.filter((step) => /\bbun\b/.test(step.code))).toEqual([]);
  const listening = code.match(/\.listen\(.*?\)/g) ?? [];
  expect(listening).toHaveLength(ports.length);
  expect(listening.filter((call) => !call.endsWith(", '127.0.0.1')"))).toEqual([]);
});
