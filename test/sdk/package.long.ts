import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Glob } from 'bun';
import { installSdk, packAll, run } from '../helpers/packages.ts';

const root = join(import.meta.dir, '../..');
/** A compiler that everything else on the machine competes with. */
const PACK_MS_MAX = 120_000;
let folder = '';
function installed(path: string) {
  return Bun.file(join(folder, 'node_modules/@cardvault/sdk', path));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-package-'));
  await installSdk(folder);
}, PACK_MS_MAX);
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
    'vaultPlaceholder',
    'webhooks',
  ]);
});

/** A file of a process; empty when the process has ended. */
function readProcess(pid: number | string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

/**
 * The environments of the programs that another process has started, by their command lines. Between fork and exec a
 * child still has both of its parent: such a child is left out, by its command line, which is read first.
 */
function environmentsUnder(parent: number): [command: string, environment: string][] {
  const own = readProcess(parent, 'cmdline');
  const parentOf = (pid: string): number =>
    Number(
      readProcess(pid, 'stat')
        .replace(/^.*\) /s, '')
        .split(' ')[1],
    );
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === parent)
    .map((pid): [string, string] => [readProcess(pid, 'cmdline'), readProcess(pid, 'environ')])
    .filter(([command]) => command !== own);
}

const SECRET = 'canary-of-a-master-key';

/** Packs as a server does as it starts, with its settings around, and gives the environments of what compiles. */
async function packAgain(to: string): Promise<ReadonlyMap<string, string>> {
  const child = Bun.spawn([process.execPath, join(root, 'scripts/pack.ts'), to], {
    env: { ...process.env, VAULT_MASTER_KEY: SECRET },
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
  return seen;
}

describe('packed again with the settings of a server around', () => {
  let seen: ReadonlyMap<string, string>;
  beforeAll(async () => {
    seen = await packAgain(join(folder, 'again'));
  }, PACK_MS_MAX);

  test('the same sources give the same bytes', async () => {
    const again = join(folder, 'again');
    const packed = await packAll();
    const names = [...new Glob('*').scanSync(again)].sort();
    expect(names).toEqual([...new Glob('*').scanSync(packed)].sort());
    for (const name of names) {
      expect(await Bun.file(join(again, name)).bytes()).toEqual(await Bun.file(join(packed, name)).bytes());
    }
  });

  test('what compiles it is told nothing of these settings', () => {
    expect([...seen.keys()].some((command) => command.includes('tsup'))).toBe(true);
    expect([...seen.values()].filter((environment) => environment.includes(SECRET))).toEqual([]);
  });
});
