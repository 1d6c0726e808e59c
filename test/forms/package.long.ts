import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildForms, buildReact } from '../../forms/build.ts';
import manifest from '../../forms/package.json';
import { installForms } from '../helpers/packed-forms.ts';
import { REACT_PAGE } from '../helpers/react-page.ts';

const ROOT = join(import.meta.dir, '..', '..');
/** The package must do no harm in Node, where pages are made; where there is none, Bun stands in. */
const node = Bun.which('node') ?? process.execPath;
/** A compiler that everything else on the machine competes with. */
const PACK_MS_MAX = 120_000;
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
  await installForms(folder);
}, PACK_MS_MAX);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the built package', () => {
  test('holds the scripts that the service serves, byte by byte, and their hashes', async () => {
    const { version, files } = await buildForms();
    for (const { name, text } of [...files, await buildReact()]) {
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
    expect(Object.values(manifest.peerDependenciesMeta)).toEqual([{ optional: true }]);
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
  }, PACK_MS_MAX);

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

describe('the entry for React', () => {
  const FLAGS = '--noEmit --strict --jsx react-jsx --target es2022 --lib es2022,dom'.split(' ');
  const HEAD = "import { CardNumber, Reveal, VaultCardForm, VaultElements } from '@cardvault/forms/react';\n";
  const WRONG: Readonly<Record<string, string>> = {
    'a group without its secret': '<VaultElements url="/v1/capture/shop" />',
    'an event that fields do not have': '<CardNumber onSubmit={() => {}} />',
    'the value of a field': '<CardNumber onChange={({ value }) => value} />',
    'a reveal without a token': '<Reveal url="" secret="" />',
    'a misspelt option': '<VaultCardForm url="" secret="" baseURL="" />',
  };

  test.each(['nodenext', 'preserve'])(
    'has types that find mistakes, and no others, in modules of the kind %s',
    async (kind) => {
      const lines = Object.values(WRONG).map((text, at) => `export const e${at} = ${text};\n`);
      await Bun.write(join(folder, 'page.tsx'), REACT_PAGE);
      await Bun.write(join(folder, 'wrong.tsx'), HEAD + lines.join(''));
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
      const { stdout } = await run([node, tsc, ...FLAGS, '--module', kind, 'page.tsx', 'wrong.tsx'], folder);
      const faults = [...stdout.matchAll(/^(\S+)\((\d+),\d+\): error TS/gm)].map(([, file, line]) => [
        file,
        Number(line),
      ]);
      expect(faults).toEqual(Object.keys(WRONG).map((_, at) => ['wrong.tsx', at + 2]));
    },
    PACK_MS_MAX,
  );

  test('is small, has the module beside it and not in it, and is code of the client', async () => {
    const { text, bytes } = await buildReact();
    expect(Bun.gzipSync(bytes).length).toBeLessThan(1.5 * 1024);
    expect([...text.matchAll(/\bfrom\s*"([^"]+)"/g)].map(([, name]) => name)).toEqual([
      'react',
      './vault-forms.js',
    ]);
    expect(text).toStartWith("'use client';");
  });

  test('renders its places on a server, with nothing of the options in them', async () => {
    const program = `
      import { createElement as h } from 'react';
      import { renderToString } from 'react-dom/server';
      import { CardNumber, Reveal, useVault, VaultCardForm, VaultElements } from '@cardvault/forms/react';
      const options = { url: '/v1/capture/shop', secret: 'vcs1_hidden' };
      const Pay = () => h('button', { disabled: !useVault().isReady }, 'Pay');
      console.log(renderToString(h('form', null,
        h(VaultElements, options, h(CardNumber, { className: 'field' }), h(Pay)),
        h(VaultCardForm, { ...options, id: 'form' }),
        h(Reveal, { ...options, token: 'ab12', style: { height: 40 } }))));
      try { renderToString(h(Pay)); } catch ({ message }) { console.log(message); }
    `;
    await Bun.write(join(folder, 'server.mjs'), program);
    expect(await run([node, 'server.mjs'], folder)).toEqual({
      code: 0,
      stdout: `<form><div class="field"></div><button disabled="">Pay</button><div id="form"></div><div style="height:40px"></div></form>
Fields and useVault need <VaultElements> around them.`,
      stderr: '',
    });
  });
});
