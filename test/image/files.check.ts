import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Glob } from 'bun';
import { layOut } from './image.ts';

const root = join(import.meta.dir, '..', '..');
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-image-'));
  await layOut(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function filesOf(pattern: string): string[] {
  return [...new Glob(pattern).scanSync({ cwd: folder, dot: true })];
}

interface Bom {
  readonly components: readonly {
    readonly type: string;
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes?: readonly { readonly content: string }[];
  }[];
}

describe('what an image holds', () => {
  test('is the server, its packages and the bill of materials', () => {
    expect(readdirSync(folder).sort()).toEqual([
      'LICENSE',
      'bun.lock',
      'bunfig.toml',
      'dist',
      'forms',
      'node_modules',
      'package.json',
      'sbom.cdx.json',
      'sdk',
      'server',
      'tsconfig.json',
      'workers',
    ]);
    expect(readdirSync(join(folder, 'sdk')).sort()).toEqual(['openapi.json', 'seal']);
    expect(readdirSync(join(folder, 'dist/packages')).sort()).toEqual([
      expect.stringMatching(/^cardvault-forms-\d+\.\d+\.\d+\.tgz$/),
      expect.stringMatching(/^cardvault-sdk-\d+\.\d+\.\d+\.tgz$/),
      'cardvault-sdk.d.ts',
      'cardvault-sdk.js',
      'sources.sha256',
    ]);
    expect(readdirSync(join(folder, 'dist/guide'))).toContain('guide.json');
    expect(readdirSync(join(folder, 'dist/console'))).toContain('console.json');
  });

  test('is no test, no key, no history and no tool', () => {
    const own = filesOf('{server,workers,forms,sdk}/**');
    expect(own.length).toBeGreaterThan(200);
    expect(
      own.filter((path) => /\.test\.ts$|\.pem$|\.key$|\.env|\/dist\/|\/node_modules\//.test(path)),
    ).toEqual([]);
    expect(filesOf('**/.git/**')).toEqual([]);
    expect(filesOf('**/*.{node,so,dll,dylib}')).toEqual([]);
    const packages = readdirSync(join(folder, 'node_modules'));
    for (const name of ['typescript', 'marked', 'highlight.js', 'minisearch']) {
      expect(packages).not.toContain(name);
    }
  });

  test('is listed with licence and digest, package by package', async () => {
    const bom: Bom = await Bun.file(join(folder, 'sbom.cdx.json')).json();
    const listed = new Map(bom.components.map((component) => [component.purl, component]));
    const manifests = filesOf('node_modules/**/package.json').filter((path) =>
      /node_modules\/(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path),
    );
    expect(manifests.length).toBeGreaterThan(20);
    for (const path of manifests) {
      const { name, version } = await Bun.file(join(folder, path)).json();
      expect(listed.get(`pkg:npm/${name.replace('@', '%40')}@${version}`)).toMatchObject({ name, version });
    }
    const libraries = bom.components.filter(({ type }) => type === 'library');
    expect(libraries.every(({ hashes }) => /^[0-9a-f]{128}$/.test(hashes?.[0]?.content ?? ''))).toBe(true);
    // Each package is somebody who could harm all: one more should be a decision.
    expect(libraries.length).toBeLessThanOrEqual(73);
  });

  test('refuses to be listed with a package that nobody has locked, or under another licence', async () => {
    const listing = (): Promise<number> =>
      Bun.spawn([process.execPath, join(root, 'scripts/sbom.ts'), folder], {
        stdio: ['ignore', 'ignore', 'pipe'],
      }).exited;
    expect(await listing()).toBe(0);
    const manifest = Bun.file(join(folder, 'node_modules/mustache/package.json'));
    const text = await manifest.text();
    for (const changed of [
      text.replace(/"version": "[^"]+"/, '"version": "9.9.9"'),
      text.replace('"MIT"', '"SSPL-1.0"'),
    ]) {
      expect(changed).not.toBe(text);
      await manifest.write(changed);
      expect(await listing()).toBe(1);
    }
    await manifest.write(text);
    expect(await listing()).toBe(0);
  });
});

describe('packages', () => {
  test('have exact versions, digests in the lock file, and no leave to run scripts', async () => {
    const manifest = await Bun.file(join(root, 'package.json')).json();
    const versions: string[] = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
    // Left out, the runtime trusts a list of its own.
    expect(manifest.trustedDependencies).toEqual([]);
    const lock = await Bun.file(join(root, 'bun.lock')).text();
    const entries = lock.split('"packages": {')[1]?.match(/^ {4}"[^"]+": \[.*$/gm) ?? [];
    expect(entries.length).toBeGreaterThan(100);
    expect(entries.filter((entry) => !/"sha512-[A-Za-z0-9+/]{86}=="\],?$/.test(entry))).toEqual([]);
    expect(lock).not.toMatch(/https?:\/\//);
    // The fast path of msgpackr, machine code that nobody here has read: no installer finds this version of it.
    expect(manifest.overrides).toEqual({ 'msgpackr-extract': '0.0.0-none' });
    expect(lock).not.toContain('@msgpackr-extract');
  });
});
