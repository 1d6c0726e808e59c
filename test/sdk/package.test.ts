import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Glob } from 'bun';
import { installSdk, packSdk, run } from '../helpers/packed-sdk.ts';

const root = join(import.meta.dir, '../..');
let folder = '';
const installed = (path: string) => Bun.file(join(folder, 'node_modules/@cardvault/sdk', path));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-package-'));
  await installSdk(folder);
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the package holds what its manifest names, its page and the licence of the project', async () => {
  const files = [...new Glob('**').scanSync({ cwd: join(folder, 'node_modules/@cardvault/sdk'), dot: true })];
  expect(files.sort()).toEqual([
    'LICENSE',
    'README.md',
    'dist/index.cjs',
    'dist/index.d.cts',
    'dist/index.d.ts',
    'dist/index.js',
    'package.json',
  ]);
  expect(await installed('LICENSE').text()).toBe(await Bun.file(join(root, 'LICENSE')).text());
  expect(await installed('README.md').text()).toBe(await Bun.file(join(root, 'sdk/README.md')).text());
});

test('it needs nothing else, and nothing of a single runtime', async () => {
  const manifest = await installed('package.json').json();
  expect(manifest).not.toContainAnyKeys([
    'dependencies',
    'peerDependencies',
    'optionalDependencies',
    'scripts',
  ]);
  for (const file of ['index.cjs', 'index.js', 'index.d.ts', 'index.d.cts']) {
    const text = await installed(`dist/${file}`).text();
    expect(text).not.toMatch(/\bfrom ['"]|\brequire\(|\bprocess\.|\bBuffer\b|node:|sourceMappingURL/);
  }
});

test('it exports its clients, errors and the check of webhooks, and nothing else that runs', async () => {
  const say = "console.log(Object.keys(require('@cardvault/sdk')).sort().join())";
  expect((await run(['node', '-e', say], folder)).trim().split(',')).toEqual([
    'Vault',
    'VaultApiError',
    'VaultConnectionError',
    'VaultError',
    'VaultTimeoutError',
    'VaultWebhookError',
    'captureClient',
    'retrieveClient',
    'webhooks',
  ]);
});

test('the same sources give the same bytes', async () => {
  const again = join(folder, 'again');
  await run([process.execPath, join(root, 'scripts/pack-sdk.ts'), again], root);
  const packed = await packSdk();
  const names = [...new Glob('*').scanSync(again)].sort();
  expect(names).toEqual([...new Glob('*').scanSync(packed)].sort());
  for (const name of names) {
    expect(await Bun.file(join(again, name)).bytes()).toEqual(await Bun.file(join(packed, name)).bytes());
  }
}, 60_000);
