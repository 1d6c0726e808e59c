import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PATH_WITH_AGE } from '../helpers/age.ts';
import type { GuideParties } from './parties.ts';
import type { GuideServer } from './server.ts';

const ROOT = join(import.meta.dir, '..', '..');
const PAGE_RUNNER = join(import.meta.dir, 'run-page.ts');
const SEPARATOR = '\x1e';
/**
 * A block that is run, and the block of its output where one follows directly. With a name (`ts receiver.ts`) it is a
 * file that the others find under that name. Blocks of text with a name say what the program of that name, which then
 * runs beside the others, has printed since, or what the page at a URL shows once somebody has used it.
 */
const BLOCK = /^```(sh|ts|js|html|text(?= ))(?: (\S+))?\n(.*?)^```\n(?:\n?```(?:json|text)\n(.*?)^```$)?/gms;

/** A code block of a page that must work. */
export interface Block {
  readonly name: string;
  readonly language: string;
  /** Of the file that it is saved as, or of what this is the output of: a program beside the others, or a URL. */
  readonly file: string | undefined;
  readonly code: string;
  /** What it prints; `…` stands for what differs each time. Undefined when the page does not say. */
  readonly output: string | undefined;
}

/** All blocks of a page in `sh`, `ts`, `js` and `html`: each of them is run. Anything else is for reading only. */
export function blocksOf(path: string, markdown: string): Block[] {
  return [...markdown.matchAll(BLOCK)].map(
    ({ index, 1: language = '', 2: file, 3: code = '', 4: output }) => {
      const line = markdown.slice(0, index).split('\n').length;
      const name = `${path}:${line} (${language})`;
      return { name, language, file, code, output: language === 'text' ? code : output };
    },
  );
}

/** Tells whether a text is what a page shows, where `…` stands for what differs each time. */
function isAsShown(shown: string, printed: string): boolean {
  return new RegExp(`^${shown.split('…').map(RegExp.escape).join('[^"\\s]+')}$`).test(printed);
}

/** The text without line breaks and the indentation behind them: a page breaks long lines, the vault does not. */
function unbroken(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, '');
}

/** What a block printed, in the words of the page where it fits these. */
export function inWordsOf(expected: string, printed: string): string {
  return isAsShown(unbroken(expected), unbroken(printed)) ? expected : printed;
}

/** The same for what a program beside has printed, or a page shows: every line, and every space in it. */
export function inLinesOf(expected: string, printed: string): string {
  return isAsShown(expected.trimEnd(), printed.trimEnd()) ? expected : printed;
}

/** Waits for as many lines of the program beside as the page shows. */
function readLines(output: string): string {
  return '\n'
    .repeat(output.trimEnd().split('\n').length)
    .replaceAll('\n', 'IFS= read -r LINE <&3; printf \'%s\\n\' "$LINE"\n');
}

const LISTENS = join(import.meta.dir, 'await-port.ts');

/** The page is for this runtime: plain JavaScript for Node, which recipes ask for, and TypeScript for Bun. */
function runnerOf(path: string): string {
  return path.endsWith('.mjs') ? 'node' : 'bun';
}

/** Starts a program that serves something on PORT, and waits until it does. */
function beginBeside(path: string): string {
  return `mkfifo '${path}.out'
exec 3<>'${path}.out'
${runnerOf(path)} '${path}' >&3 &
BESIDE=$!
trap 'kill $BESIDE; wait $BESIDE || true' EXIT
bun '${LISTENS}' "$PORT"
`;
}

/** The variables of the shell that a page of HTML names, which need not be exported for others. */
function givenTo(html: string): string {
  const names = new Set([...html.matchAll(/\bTHE_([A-Z_]+)\b/g)].map(([, name = '']) => name));
  return [...names].map((name) => `${name}="\${${name}}" `).join('');
}

/** The command that runs a block in the shell of its page, whose folder holds what the page says to save. */
function commandOf({ language, file, code }: Block, path: string, beside: ReadonlySet<string>): string {
  if (language === 'sh') {
    return code;
  }
  if (language === 'text') {
    return file?.startsWith('http') ? `bun '${PAGE_RUNNER}' '${file}'\n` : readLines(code);
  }
  writeFileSync(path, code);
  if (file !== undefined) {
    return beside.has(file) ? beginBeside(path) : '';
  }
  return language === 'html'
    ? `${givenTo(code)}bun '${PAGE_RUNNER}' '${path}'\n`
    : `${runnerOf(path)} '${path}'\n`;
}

function replaced(text: string, pairs: Iterable<readonly [from: string, to: string]>): string {
  return [...pairs].reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
}

/**
 * Makes a folder that is a project with the SDK, with the certificate of the reader's own servers, and in which the
 * operator's commands work as in the checkout. One that is there, of a page before, is used as it is.
 */
function makeFolder(folder: string, { certPem, keyPem }: GuideParties['certificate']): void {
  if (existsSync(folder)) {
    return;
  }
  mkdirSync(folder);
  const paths = { '@cardvault/sdk': [join(ROOT, 'sdk', 'index.ts')] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { paths } }));
  const scripts = {
    vault: `cd '${ROOT}' && bun run --silent vault`,
    drill: `cd '${ROOT}' && bun run --silent drill`,
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', scripts }));
  writeFileSync(join(folder, 'sandbox.pem'), certPem);
  writeFileSync(join(folder, 'sandbox-key.pem'), keyPem);
}

/**
 * Runs the blocks of a page one after another in one shell, whose variables the later ones see, against a server
 * that stands for the one of the page. Gives what each printed, up to the first that failed, and the errors. Pages are
 * shown in the Chromium at an address. A secrets file of the folder is read first, as in a new terminal.
 */
export async function runBlocks(
  blocks: readonly Block[],
  { url, password, dataDir }: GuideServer,
  { here, caFile, certificate, shopPort }: GuideParties,
  browser: string,
  folder: string,
): Promise<{ readonly printed: readonly string[]; readonly errors: string }> {
  makeFolder(folder, certificate);
  const beside = new Set(blocks.flatMap(({ language, file }) => (language === 'text' && file) || []));
  const meant = (text: string): string =>
    replaced(text, [
      ['http://127.0.0.1:8080', url],
      ['the-password-that-was-printed', password],
      // The same, without fetching what runs this test.
      ['npx --yes bun@1.4.5', 'bun'],
      ...here,
    ]);
  const script = blocks
    .map((block) => ({ ...block, file: block.file && meant(block.file), code: meant(block.code) }))
    .map((block, at) => {
      const path = join(folder, block.file ?? `${at}.${block.language.replace('js', 'mjs')}`);
      return `${commandOf(block, path, beside)}printf '\\036'\n`;
    })
    .join('');
  const file = join(folder, 'page.sh');
  writeFileSync(file, `[ ! -f shop.env ] || . ./shop.env\n${script}`);
  const shell = Bun.spawn(['sh', '-eu', file], {
    cwd: folder,
    env: {
      PATH: `${dirname(process.execPath)}:${PATH_WITH_AGE}`,
      HOME: process.env['HOME'],
      VAULT_DATA_DIR: dataDir,
      CURL_CA_BUNDLE: caFile,
      PORT: String(shopPort),
      PAGE_BROWSER: browser,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([
    new Response(shell.stdout).text(),
    new Response(shell.stderr).text(),
  ]);
  const said = replaced(output, [
    [url, 'http://127.0.0.1:8080'],
    ...here.map(([page, meant]): [string, string] => [meant, page]),
  ]);
  return { printed: said.split(SEPARATOR).slice(0, -1), errors };
}
