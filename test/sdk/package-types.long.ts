import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installSdk, run } from '../helpers/packages.ts';
import { readmeProgram } from './readme.ts';
import { findDeno } from './runtimes/programs.ts';

const root = join(import.meta.dir, '../..');
let folder = '';

const CONSUMER = `
  import { Vault, VaultApiError, type Page } from '@cardvault/sdk';
  const client = new Vault({ baseUrl: 'https://vault.example', username: 'a', password: 'b' });
  export const store = async (): Promise<string> => {
    try {
      return (await client.vault.store({ user: 'shop', passphrase: 'p', data: { card_number: '4111' } })).token;
    } catch (error) {
      if (error instanceof VaultApiError && error.code === 'passphrase_wrong') return 'wrong';
      throw error;
    }
  };
  export const keys = async (): Promise<Page<{ user: string }[]>> => client.keys.list({ limit: 1 });
`;

const MISTAKES = {
  'a key without its user': 'client.keys.create({})',
  'an endpoint without its user': "client.capture.create({ ttl: '45m' })",
  'a capture without its secret': "client.capture.submit({ unique_id: 'shop', data: {} })",
  'a capture without its endpoint': "client.capture.submit({ secret: 's', data: {} })",
  'a capture without data': "captureClient({ url: 'u', secret: 's' }).submit({ reference: 'r' })",
  'an endpoint without its secret': "captureClient({ url: 'u' })",
  'an endpoint with credentials': "retrieveClient({ url: 'u', secret: 's', username: 'shop' })",
  'a listing that names an item': "retrieveClient({ url: 'u', secret: 's' }).list({ token: 't' })",
  'an item without its token': "client.retrieve.decrypt({ unique_id: 'shop', secret: 's', reference: 'r' })",
  'a rule without operations': "client.rules.create({ id: 'r' })",
  'a webhook without its secret': "webhooks.verify({}, '')",
  'a webhook whose body was parsed': "webhooks.verify({}, { error: 'e' }, secret)",
  'an operation without its name': "client.rules.create({ id: 'r', operations: [{ arguments: {} }] })",
};

const IMPORTS =
  "import { type CaptureClient, captureClient, type RetrieveClient, retrieveClient, Vault, VaultApiError, vaultPlaceholder, webhooks } from '@cardvault/sdk';\n";
const DECLARED = [
  'client: Vault',
  'checkout: CaptureClient',
  'desk: RetrieveClient',
  'token: string',
  'secret: string',
];

/** One function of each text, among the names that examples use. */
function functionsOf(texts: readonly string[]): string {
  const declared = DECLARED.map((name) => `declare const ${name};\n`).join('');
  const functions = texts.map((text, index) => `export const f${index} = async () => { ${text} };\n`);
  return `${IMPORTS}${declared}${functions.join('')}`;
}

/** The examples of the docstrings as the package publishes them. */
function examplesOf(declarations: string): string[] {
  return [...declarations.matchAll(/@example\n(.*?)\*\//gs)].map(([, text = '']) =>
    text.replaceAll(/^ *\* ?/gm, ''),
  );
}

/** The file in which every function is a mistake. */
const MISTAKEN = 'mistakes.mts';

/** How the several kinds of projects find types; `strict` and what goes beyond it are on in all of them. */
const PROJECTS: Readonly<Record<string, { readonly flags: string; readonly files: readonly string[] }>> = {
  nodenext: {
    flags: '--module nodenext --lib es2022,dom',
    files: ['consumer.mts', 'consumer.cts', 'examples.mts', 'readme.mts', MISTAKEN],
  },
  bundler: { flags: '--module esnext --moduleResolution bundler --lib es2022,dom', files: ['consumer.mts'] },
  node10: { flags: '--module commonjs --moduleResolution node10 --lib es2022,dom', files: ['consumer.ts'] },
  'of Node without those of browsers': {
    flags: `--module nodenext --lib es2022 --types node --typeRoots ${join(root, 'node_modules/@types')}`,
    files: ['consumer.mts', 'consumer.cts'],
  },
};
const FLAGS =
  '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2022 --skipDefaultLibCheck';
const COMPILE_MS_MAX = 60_000;

/** The errors that the compiler finds, one a line. */
async function compile(flags: string, files: readonly string[]): Promise<string[]> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const command = [process.execPath, tsc, ...`${FLAGS} --pretty false ${flags}`.split(' '), ...files];
  const { stdout } = Bun.spawn(command, { cwd: folder, stdin: 'ignore', stderr: 'inherit' });
  return (await stdout.text()).split('\n').filter((line) => line.includes('error TS'));
}

/** By project; all are compiled side by side. */
const errors = new Map<string, Promise<readonly string[]>>();
function isMistaken(line: string): boolean {
  return line.startsWith(MISTAKEN);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-types-'));
  await installSdk(folder);
  const declarations = Bun.file(join(folder, 'node_modules/@cardvault/sdk/dist/index.d.ts'));
  const examples = examplesOf(await declarations.text());
  expect(examples.length).toBeGreaterThan(20);
  const files = {
    'consumer.mts': CONSUMER,
    'consumer.cts': CONSUMER,
    'consumer.ts': CONSUMER,
    [MISTAKEN]: functionsOf(Object.values(MISTAKES)),
    'examples.mts': functionsOf(examples),
    'readme.mts': await readmeProgram(),
  };
  for (const [name, text] of Object.entries(files)) {
    await Bun.write(join(folder, name), text);
  }
  for (const [name, { flags, files }] of Object.entries(PROJECTS)) {
    errors.set(name, compile(flags, files));
  }
}, 60_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(Object.keys(PROJECTS))(
  'the types of the package suit a project %s',
  async (name) => {
    expect((await errors.get(name))?.filter((line) => !isMistaken(line))).toEqual([]);
  },
  COMPILE_MS_MAX,
);

test(
  'they suit Deno',
  async () => {
    await run([findDeno(), 'check', '--quiet', '--no-remote', 'consumer.mts'], folder);
  },
  COMPILE_MS_MAX,
);

test(
  'they find mistakes',
  async () => {
    const found = (await errors.get('nodenext'))?.filter(isMistaken) ?? [];
    const lines = found.map((line) => Number(/^mistakes\.mts\((\d+),\d+\): error TS2\d{3}:/.exec(line)?.[1]));
    const first = IMPORTS.split('\n').length + DECLARED.length;
    expect([...new Set(lines)]).toEqual(Object.keys(MISTAKES).map((_, index) => first + index));
  },
  COMPILE_MS_MAX,
);
