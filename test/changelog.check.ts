import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { YAML } from 'bun';
import { SERVER_SETTING_NAMES } from '../server/config/settings.ts';

const root = join(import.meta.dir, '..');
function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
const changelog = read('CHANGELOG.md');
const { version } = JSON.parse(read('package.json')) as { version: string };

test('the changelog has the sections of its form, the newest release first', () => {
  const [first, ...released] = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading);
  expect(first).toBe('Unreleased');
  for (const heading of released) {
    expect(heading).toMatch(/^\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}$/);
  }
  const numbers = released.map((heading) => heading.split(' ')[0] ?? '');
  expect(numbers.toSorted((a, b) => Bun.semver.order(b, a))).toEqual(numbers);
  const kinds = [...changelog.matchAll(/^### (.*)$/gm)].map(([, kind = '']) => kind);
  const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
  expect(kinds.filter((kind) => !known.includes(kind))).toEqual([]);
});

test('the changelog names settings that there are, or that it removes', () => {
  const kept = changelog.replaceAll(/^### Removed\n[^#]*/gm, '');
  const names = [...kept.matchAll(/`(VAULT_[A-Z_]+)/g)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !SERVER_SETTING_NAMES.some((known) => known === name))).toEqual([]);
});

test('what has the number of a version has the same one', () => {
  const manifests = ['sdk/package.json', 'forms/package.json'].map((path) => JSON.parse(read(path)).version);
  const { appVersion } = YAML.parse(read('deploy/helm/Chart.yaml')) as { appVersion: string };
  const { info } = JSON.parse(read('sdk/openapi.json')) as { info: { version: string } };
  expect([...manifests, appVersion, info.version]).toEqual(Array(4).fill(version));
});
