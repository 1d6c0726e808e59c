import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installSdk, run } from '../helpers/packages.ts';

function tool(path: string): string {
  return join(import.meta.dir, '../../node_modules', path);
}
/** What a page may cost for all of the SDK: bytes of the module, minified and packed as a server sends it. */
const GZIP_MAX = 13_500;

type Bundler = (entry: string) => Promise<string>;

/** The bundlers that people use, each told to leave out what is not used, and nothing about this package. */
const BUNDLERS: Readonly<Record<string, Bundler>> = {
  Bun: async (entry) => {
    const built = await Bun.build({ entrypoints: [entry], target: 'browser', minify: true });
    expect(built.logs).toEqual([]);
    return (await built.outputs[0]?.text()) ?? '';
  },
  esbuild: (entry) =>
    run([tool('esbuild/bin/esbuild'), entry, '--bundle', '--format=esm', '--minify'], folder),
  // It bundles and leaves out; making names short is another tool's work.
  rollup: async (entry) => {
    const bundled = join(folder, 'rolled.js');
    await run(
      [process.execPath, tool('rollup/dist/bin/rollup'), entry, '--silent', '--file', bundled],
      folder,
    );
    return run([tool('esbuild/bin/esbuild'), bundled, '--format=esm', '--minify'], folder);
  },
};

/** By export: the most bytes, minified, and texts of other parts that must not come along. */
const PARTS = {
  '*': [36_800, []],
  Vault: [27_300, []],
  // Both with HPKE, for what is sealed.
  captureClient: [15_200, ['whoami', 'decrypt_all', 'reference_prefix', 'Basic ', 'webhook']],
  retrieveClient: [15_100, ['whoami', 'Basic ', 'webhook']],
  webhooks: [4_000, ['fetch', 'setTimeout', 'AbortController', 'idempotency']],
  VaultApiError: [1_500, ['fetch', 'webhook', 'crypto', 'decrypt']],
} as const;

/** Rollup by itself knows no packages: it is given the file. */
const ENTRIES = {
  package: '@cardvault/sdk',
  file: './node_modules/@cardvault/sdk/dist/index.js',
} as const;
function entryOf(kind: string, part: string): string {
  return `${kind}-${part === '*' ? 'all' : part}.mjs`;
}

let folder = '';
const sizes: Record<string, string | number>[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-size-'));
  await installSdk(folder);
  for (const [kind, from] of Object.entries(ENTRIES)) {
    for (const name of Object.keys(PARTS)) {
      const exported = name === '*' ? '*' : `{ ${name} }`;
      await Bun.write(join(folder, entryOf(kind, name)), `export ${exported} from '${from}';`);
    }
  }
}, 60_000);

afterAll(async () => {
  console.table(sizes);
  await rm(folder, { recursive: true, force: true });
});

function gzipOf(text: string): number {
  return Bun.gzipSync(text, { level: 9 }).length;
}

test('the module of the package, minified and packed, is small', async () => {
  const file = join(folder, 'node_modules/@cardvault/sdk/dist/index.js');
  const raw = await Bun.file(file).text();
  const minified = await run([tool('esbuild/bin/esbuild'), file, '--format=esm', '--minify'], folder);
  const gzip = gzipOf(minified);
  sizes.push({ part: 'dist/index.js', by: '', raw: raw.length, minified: minified.length, gzip });
  expect(gzip).toBeLessThanOrEqual(GZIP_MAX);
});

describe.each(Object.entries(BUNDLERS))('bundled by %s', (by, bundle) => {
  test.each(Object.entries(PARTS))('%s brings no more than it needs', async (part, [bytesMax, without]) => {
    const text = await bundle(join(folder, entryOf(by === 'rollup' ? 'file' : 'package', part)));
    sizes.push({ part, by, minified: text.length, gzip: gzipOf(text) });
    expect(text.length).toBeLessThanOrEqual(bytesMax);
    expect(text.length).toBeGreaterThan(100);
    expect(text).not.toMatch(/\bprocess\b|\bBuffer\b|\brequire\(|node:/);
    expect(without.filter((word) => text.includes(word))).toEqual([]);
  });
});
