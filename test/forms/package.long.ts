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
/** The types of the package are checked, and not those of the language, which are most of the work. */
const CHECK =
  '--noEmit --strict --skipDefaultLibCheck --jsx react-jsx --target es2022 --lib es2022,dom'.split(' ');
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

/** The errors in modules of a kind, as the file and the line of each. */
async function compile(
  kind: string,
  ...files: string[]
): Promise<readonly (readonly [string, number, string])[]> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run([node, tsc, ...CHECK, '--module', kind, ...files], folder);
  const faults = [...stdout.matchAll(/^([^\s(]*)(?:\((\d+),\d+\): )?error (TS\d+)/gm)];
  return faults.map(([, file = '', line, code = '']) => [file, Number(line), code] as const);
}

const WRONG: Readonly<Record<string, string>> = {
  'a group without its secret': '<VaultElements url="/v1/capture/shop" />',
  'an event that fields do not have': '<CardNumber onSubmit={() => {}} />',
  'the value of a field': '<CardNumber onChange={({ value }) => value} />',
  'a reveal without a token': '<Reveal url="" secret="" />',
  'a misspelt option': '<VaultCardForm url="" secret="" baseURL="" />',
};
const HEAD = "import { CardNumber, Reveal, VaultCardForm, VaultElements } from '@cardvault/forms/react';\n";

describe('the types', () => {
  /** Of one compilation: most of its work is the same for all of the files. */
  let errors: Awaited<ReturnType<typeof compile>> = [];

  beforeAll(async () => {
    const functions = Object.values(MISTAKES).map((text, at) => `export const f${at} = () => ${text};\n`);
    const elements = Object.values(WRONG).map((text, at) => `export const e${at} = ${text};\n`);
    await Bun.write(join(folder, 'consumer.mts'), CONSUMER);
    await Bun.write(join(folder, 'mistakes.mts'), `${IMPORTS}${functions.join('')}`);
    await Bun.write(join(folder, 'page.tsx'), REACT_PAGE);
    await Bun.write(join(folder, 'wrong.tsx'), HEAD + elements.join(''));
    errors = await compile('nodenext', 'consumer.mts', 'mistakes.mts', 'page.tsx', 'wrong.tsx');
  }, PACK_MS_MAX);

  test('find mistakes', () => {
    const found = errors.filter(([file]) => file === 'mistakes.mts');
    expect([...new Set(found.map(([, line]) => line))]).toEqual(Object.keys(MISTAKES).map((_, at) => at + 2));
    expect(found.filter(([, , code]) => !/^TS2\d{3}$/.test(code))).toEqual([]);
  });

  test('let through a page that uses everything', () => {
    expect(errors.filter(([file]) => file !== 'mistakes.mts' && file !== 'wrong.tsx')).toEqual([]);
  });

  const inReact = Object.keys(WRONG).map((_, at) => ['wrong.tsx', at + 2]);

  test('of the entry for React find mistakes, and no others', () => {
    const found = errors.filter(([file]) => file.endsWith('.tsx'));
    expect(found.map(([file, line]) => [file, line])).toEqual(inReact);
  });

  test(
    'of the entry for React do so for a bundler too',
    async () => {
      const found = await compile('preserve', 'page.tsx', 'wrong.tsx');
      expect(found.map(([file, line]) => [file, line])).toEqual(inReact);
    },
    PACK_MS_MAX,
  );
});

describe('the entry for React', () => {
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
