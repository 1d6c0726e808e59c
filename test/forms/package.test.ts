import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildForms } from '../../forms/build.ts';
import manifest from '../../forms/package.json';

const ROOT = join(import.meta.dir, '..', '..');
/** The package must do no harm in Node, where pages are made; where there is none, Bun stands in. */
const node = Bun.which('node') ?? process.execPath;
let folder = '';
function installed(name: string): string {
  return join(folder, 'node_modules/@cardvault/forms', name);
}

async function run(command: string[], cwd: string) {
  const child = Bun.spawn(command, { cwd, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout: stdout.trim(), stderr };
}

const IMPORTS =
  "import { defineVaultCardForm, mountCardForm, mountForm, VaultCardForm } from '@cardvault/forms';\n";
const CONSUMER = `${IMPORTS}
  import type { FormEvents, FormHandle, FormOptions, VaultForms } from '@cardvault/forms';
  declare const VaultForms: VaultForms;
  const options: FormOptions = { url: '/v1/capture/shop', secret: 'vcs1_x', extraData: { order: '7' } };
  export const handle: FormHandle = mountCardForm('#card', options);
  export const off: () => void = handle.on('success', ({ token, reference, user }: FormEvents['success']) => {
    document.title = token + reference + user;
  });
  handle.on('height', ({ height }) => height.toFixed());
  handle.iframe.style.maxWidth = '30em';
  VaultForms.mountForm(document.body, { ...options, form: 'ach' }).submit();
  const element = document.createElement('vault-card-form');
  element.addEventListener('vault-error', ({ detail: { status, code } }) => status.toFixed() + code);
  element.reset();
  new VaultCardForm().submit();
  defineVaultCardForm();
`;
const MISTAKES: Readonly<Record<string, string>> = {
  'a form without its secret': "mountCardForm('#card', { url: '/v1/capture/shop' })",
  'a form without its endpoint': "mountCardForm('#card', { secret: 'vcs1_x' })",
  'a form without options': "mountCardForm('#card')",
  'any form without saying which': "mountForm('#card', { url: '', secret: '' })",
  'a misspelt option': "mountCardForm('#card', { url: '', secret: '', baseURL: '' })",
  'extra data that is no text': "mountCardForm('#card', { url: '', secret: '', extraData: { order: 7 } })",
  'an event that forms do not have': "mountCardForm('#card', { url: '', secret: '' }).on('done', () => {})",
  'the number of the card':
    "mountCardForm('#card', { url: '', secret: '' }).on('success', ({ card_number }) => card_number)",
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-forms-'));
  const scripts = await run([process.execPath, 'scripts/build-forms.ts', installed('dist')], ROOT);
  if (scripts.code !== 0) {
    throw new Error(`The package was not built:\n${scripts.stderr}`);
  }
  await Bun.write(installed('package.json'), JSON.stringify(manifest));
}, 60_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the built package', () => {
  test('holds the scripts that the service serves, byte by byte, and their hashes', async () => {
    const { version, files } = await buildForms();
    for (const { name, text } of files) {
      expect(await Bun.file(installed(`dist/${name}`)).text()).toBe(text);
    }
    expect(await Bun.file(installed('dist/sri.json')).json()).toEqual({
      version,
      integrity: Object.fromEntries(files.map(({ name, integrity }) => [name, integrity])),
    });
  });

  test('has every file that its manifest names, and needs nothing else', async () => {
    const named = JSON.stringify(manifest.exports).match(/\.\/dist\/[\w.-]+/g) ?? [];
    expect(named.length).toBeGreaterThan(3);
    for (const name of [...named, ...manifest.sideEffects, manifest.types, manifest.module, manifest.unpkg]) {
      expect([name, await Bun.file(installed(name)).exists()]).toEqual([name, true]);
    }
    expect(manifest).not.toHaveProperty('dependencies');
    expect(await Bun.file(installed('dist/index.d.ts')).text()).not.toMatch(/\bfrom ['"]|import\(/);
  });

  test('can be loaded where there is no page', async () => {
    const program = `${IMPORTS} defineVaultCardForm(); console.log(typeof mountCardForm, typeof mountForm, typeof VaultCardForm);`;
    await Bun.write(join(folder, 'use.mjs'), program);
    expect(await run([node, 'use.mjs'], folder)).toEqual({
      code: 0,
      stdout: 'function function function',
      stderr: '',
    });
  });

  test('keeps the element in a bundle that only imports it', async () => {
    const entry = join(folder, 'entry.mjs');
    await Bun.write(entry, "import '@cardvault/forms';");
    const { outputs } = await Bun.build({ entrypoints: [entry], target: 'browser', minify: true });
    expect(await outputs[0]?.text()).toContain('vault-card-form');
  });
});

describe('the types', () => {
  const FLAGS = '--noEmit --strict --module nodenext --target es2022 --lib es2022,dom'.split(' ');
  let errors: readonly string[] = [];

  beforeAll(async () => {
    const functions = Object.values(MISTAKES).map((text, at) => `export const f${at} = () => ${text};\n`);
    await Bun.write(join(folder, 'consumer.mts'), CONSUMER);
    await Bun.write(join(folder, 'mistakes.mts'), `${IMPORTS}${functions.join('')}`);
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run([node, tsc, ...FLAGS, 'consumer.mts', 'mistakes.mts'], folder);
    errors = stdout.split('\n').filter((line) => line.includes('error TS'));
  }, 60_000);

  test('find mistakes', () => {
    const lines = errors.map((line) =>
      Number(/^mistakes\.mts\((\d+),\d+\): error TS2\d{3}:/.exec(line)?.[1]),
    );
    expect([...new Set(lines)]).toEqual(Object.keys(MISTAKES).map((_, at) => at + 2));
  });

  test('let through a page that uses everything', () => {
    expect(errors.filter((line) => !line.startsWith('mistakes.mts'))).toEqual([]);
  });
});
