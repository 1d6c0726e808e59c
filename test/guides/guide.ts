import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GuideParties } from './parties.ts';
import type { GuideServer } from './server.ts';

const ROOT = join(import.meta.dir, '..', '..');
const PAGE_RUNNER = join(import.meta.dir, 'run-page.ts');
const SEPARATOR = '\x1e';
/**
 * A block that is run, and the block of its output where one follows directly. With a name (`ts receiver.ts`) it is a
 * program that runs beside the others, and a block of text with that name says what it has printed since.
 */
const BLOCK = /^```(sh|ts|html|text(?= ))(?: (\S+))?\n(.*?)^```\n(?:\n?```(?:json|text)\n(.*?)^```$)?/gms;

/** A code block of a page that must work. */
export interface Block {
  readonly name: string;
  readonly language: string;
  /** Of the program that runs beside the others, or whose output this is. */
  readonly program: string | undefined;
  readonly code: string;
  /** What it prints; `…` stands for what differs each time. Undefined when the page does not say. */
  readonly output: string | undefined;
}

/** All blocks of a page in `sh`, `ts` and `html`: each of them is run. Anything else is for reading only. */
export const blocksOf = (path: string, markdown: string): Block[] =>
  [...markdown.matchAll(BLOCK)].map(({ index, 1: language = '', 2: program, 3: code = '', 4: output }) => {
    const line = markdown.slice(0, index).split('\n').length;
    const name = `${path}:${line} (${language})`;
    return { name, language, program, code, output: language === 'text' ? code : output };
  });

/** The text without line breaks and the indentation behind them: a page breaks long lines, the vault does not. */
const unbroken = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, '');

/** What a block printed, in the words of the page where it fits these. */
export const inWordsOf = (expected: string, printed: string): string => {
  const pattern = unbroken(expected).split('…').map(RegExp.escape).join('[^"\\s]+');
  return new RegExp(`^${pattern}$`).test(unbroken(printed)) ? expected : printed;
};

/** Waits for as many lines of the program beside as the page shows. */
const readLines = (output: string): string =>
  '\n'
    .repeat(output.trimEnd().split('\n').length)
    .replaceAll('\n', 'IFS= read -r LINE <&3; printf \'%s\\n\' "$LINE"\n');

/** The command that runs a block in the shell of its page. */
const commandOf = ({ language, program, code }: Block, file: string): string => {
  if (language === 'sh') {
    return code;
  }
  if (language === 'text') {
    return readLines(code);
  }
  writeFileSync(file, code);
  if (language === 'html') {
    return `bun '${PAGE_RUNNER}' '${file}'\n`;
  }
  return program === undefined
    ? `bun '${file}'\n`
    : `mkfifo '${file}.out'\nexec 3<>'${file}.out'\nbun '${file}' >&3 &\ntrap "kill $!" EXIT\n`;
};

const replaced = (text: string, pairs: Iterable<readonly [from: string, to: string]>): string =>
  [...pairs].reduce((changed, [from, to]) => changed.replaceAll(from, to), text);

/**
 * Runs the blocks of a page one after another in one shell, whose variables the later ones see, against a server
 * that stands for the one of the page. Gives what each printed, up to the first that failed, and the errors.
 */
export const runBlocks = async (
  blocks: readonly Block[],
  { url, password, dataDir }: GuideServer,
  { here, caFile, shopPort }: GuideParties,
  folder: string,
): Promise<{ readonly printed: readonly string[]; readonly errors: string }> => {
  mkdirSync(folder);
  const paths = { '@cardvault/sdk': [join(ROOT, 'sdk', 'index.ts')] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { paths } }));
  const script = blocks
    .map((block) => ({
      ...block,
      code: replaced(block.code, [
        ['http://127.0.0.1:8080', url],
        ['the-password-that-was-printed', password],
        ...here,
      ]),
    }))
    .map((block, at) => `${commandOf(block, join(folder, `${at}.${block.language}`))}printf '\\036'\n`)
    .join('');
  const file = join(folder, 'page.sh');
  writeFileSync(file, script);
  const shell = Bun.spawn(['sh', '-aeu', file], {
    cwd: ROOT,
    env: {
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: process.env['HOME'],
      VAULT_DATA_DIR: dataDir,
      CURL_CA_BUNDLE: caFile,
      PORT: String(shopPort),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([
    new Response(shell.stdout).text(),
    new Response(shell.stderr).text(),
  ]);
  const said = replaced(
    output,
    here.map(([page, meant]) => [meant, page]),
  );
  return { printed: said.split(SEPARATOR).slice(0, -1), errors };
};
