import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
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

/** The environments of the processes that another one has started, by their command lines. */
const environmentsUnder = (parent: number): [command: string, environment: string][] =>
  readdirSync('/proc').flatMap((pid): [string, string][] => {
    try {
      const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) (?=[A-Z] )/);
      const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8');
      return Number(fields.split(' ')[1]) === parent ? [[read('cmdline'), read('environ')]] : [];
    } catch {
      return []; // No process, or one that has ended meanwhile.
    }
  });

test('what compiles it is told nothing of the settings of a server', async () => {
  const secret = 'canary-of-a-master-key';
  const child = Bun.spawn([process.execPath, join(root, 'scripts/pack-sdk.ts'), join(folder, 'bare')], {
    env: { ...process.env, VAULT_MASTER_KEY: secret },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const seen = new Map<string, string>();
  while (child.exitCode === null) {
    for (const [command, environment] of environmentsUnder(child.pid)) {
      seen.set(command, environment);
    }
    await Bun.sleep(5);
  }
  expect(child.exitCode).toBe(0);
  expect([...seen.keys()].some((command) => command.includes('tsup'))).toBe(true);
  expect([...seen.values()].filter((environment) => environment.includes(secret))).toEqual([]);
}, 60_000);
