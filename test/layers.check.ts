import { describe, expect, test } from 'bun:test';
import { findViolations, LAYERS } from './layers.ts';
import { readSources } from './sources.ts';

test('every file imports only what its layer may', async () => {
  const sources = await readSources('server', 'workers', 'sdk', 'forms', 'console', 'scripts');
  expect(sources.size).toBeGreaterThan(50);
  expect(findViolations(sources)).toEqual([]);
});

describe('the check finds', () => {
  const check = (files: Record<string, string>) => findViolations(new Map(Object.entries(files)));

  const wrong: [string, string, string][] = [
    ['a dynamic import', 'workers/worker.ts', "export const f = () => import('../server/redis/client.ts');"],
    ['elysia outside HTTP', 'server/key/keys.ts', "import { Elysia } from 'elysia';"],
    ['a socket in a worker', 'workers/worker.ts', "import { connect } from 'node:net';"],
    ['a package in the SDK', 'sdk/calls/key.ts', "import { ok } from 'somewhere';"],
    ['a file without a layer', 'server/utils/strings.ts', ''],
  ];
  test.each(wrong)('%s', (_, path, text) => {
    const found = check({ [path]: text });
    expect(found).toHaveLength(1);
    expect(found[0]).toStartWith(path);
  });

  test('values where only types may come from', () => {
    const path = 'server/key/keys.ts';
    expect(check({ [path]: "import { readKey } from './store.ts';" })).toEqual([
      `${path}:1 imports server/key/store.ts: services may take types alone from there (import type)`,
    ]);
    expect(check({ [path]: "import { type KeyStore } from './store.ts';" })).toEqual([]);
  });

  test('what the name of a file forbids', () => {
    const text = "import { readKey } from './store.ts';";
    for (const name of ['routes', 'recovery-routes', 'schema']) {
      expect(check({ [`server/key/${name}.ts`]: text })).toHaveLength(1);
    }
    expect(check({ 'server/key/store.ts': "import { find } from './keys.ts';" })).toHaveLength(1);
    expect(check({ 'server/http/request.ts': "import { Keys } from '../key/keys.ts';" })).toHaveLength(1);
  });

  test('nouns against their order', () => {
    const found = check({ 'server/key/keys.ts': "\nimport { openItem } from '../vault/vault.ts';" });
    expect(found).toHaveLength(1);
    expect(found[0]).toStartWith('server/key/keys.ts:2 imports server/vault/vault.ts: nouns import');
    expect(check({ 'server/vault/list/list.ts': "import { openKey } from '../../key/keys.ts';" })).toEqual(
      [],
    );
  });

  test('circles, of types too', () => {
    const found = check({
      'sdk/a.ts': "import type { B } from './b.ts';",
      'sdk/b.ts': "import { c } from './c.ts';",
      'sdk/c.ts': "export * from './a.ts';",
    });
    expect(found).toEqual([
      'These files import each other in a cycle: sdk/a.ts -> sdk/b.ts -> sdk/c.ts -> sdk/a.ts',
    ]);
  });

  test('folders that import each other, though no file does', () => {
    const found = check({
      'sdk/calls/a.ts': "import { b } from '../transport/b.ts';",
      'sdk/transport/b.ts': '',
      'sdk/transport/c.ts': "import { d } from '../calls/d.ts';",
      'sdk/calls/d.ts': '',
    });
    expect(found).toEqual([
      'These folders import each other in a cycle: sdk/calls -> sdk/transport -> sdk/calls',
    ]);
  });

  test('layers of nouns that import each other, though no file does', () => {
    const found = check({
      'server/vault/vault.ts': "import type { A } from '../key/a.ts';",
      'server/vault/list/b.ts': '',
      'server/key/a.ts': "import type { B } from '../vault/list/b.ts';",
    });
    expect(found.at(-1)).toContain('server/key/: services -> server/vault/: services');
  });

  test('nothing where all is well', () => {
    const main = LAYERS.map(({ name }) => `import '../${name}.ts';`).join('\n');
    expect(check({ 'server/main.ts': main })).toEqual([]);
    const worker =
      "import { maskAll } from '../server/domain/mask/mask.ts'; // import '../server/key/store.ts'";
    expect(check({ 'workers/worker.ts': worker })).toEqual([]);
  });
});
