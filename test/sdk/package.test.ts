import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import manifest from '../../sdk/package.json';
import { chunk, HEAD_CHUNKED, openRawPeer } from './peer.ts';

const root = join(import.meta.dir, '../..');
/** The package must work in Node; where there is none, Bun at least shows that it is complete. */
const node = Bun.which('node') ?? process.execPath;
let folder = '';

const run = async (command: string[], cwd: string) => {
  const child = Bun.spawn(command, { cwd, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout: stdout.trim(), stderr };
};

const USE = `
  const client = new Vault({ baseUrl: process.argv[2], username: 'shop', password: 'p', passphrase: 'q', retries: 0 });
  const say = async () => {
    const tokens = [];
    try {
      for await (const item of client.vault.decryptAll({ user: 'shop' })) tokens.push(item.token);
    } catch (error) {
      tokens.push(error instanceof VaultError && error.name);
    }
    console.log(tokens.join());
  };
  say();
`;

const CONSUMER = `
  import { Vault, VaultApiError, type Page } from '@cardvault/sdk';
  const client = new Vault({ baseUrl: 'https://vault.example', username: 'a', password: 'b' });
  export const store = async (): Promise<string> => {
    try {
      return (await client.vault.store({ user: 'shop', passphrase: 'p', data: { card_number: '4111' } })).token;
    } catch (error) {
      if (error instanceof VaultApiError && error.code === 'passphrase_wrong') return 'wrong';
      throw error;
    }
  };
  export const keys = async (): Promise<Page<{ user: string }[]>> => client.keys.list({ limit: 1 });
`;

const MISTAKE = `
  import { Vault } from '@cardvault/sdk';
  export const nameless = (client: Vault) => client.keys.create({});
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-sdk-'));
  const installed = join(folder, 'node_modules/@cardvault/sdk');
  const build = [node, join(root, 'node_modules/tsup/dist/cli-default.js'), '--config', 'sdk/tsup.config.ts'];
  const built = await run([...build, '--out-dir', join(installed, 'dist')], root);
  if (built.code !== 0) {
    throw new Error(`The build failed:\n${built.stderr}`);
  }
  await Bun.write(join(installed, 'package.json'), JSON.stringify(manifest));
  await Bun.write(join(folder, 'use.mjs'), `import { Vault, VaultError } from '@cardvault/sdk';${USE}`);
  await Bun.write(join(folder, 'use.cjs'), `const { Vault, VaultError } = require('@cardvault/sdk');${USE}`);
  await Bun.write(join(folder, 'consumer.mts'), CONSUMER);
  await Bun.write(join(folder, 'consumer.cts'), CONSUMER);
  await Bun.write(join(folder, 'mistake.mts'), MISTAKE);
}, 60_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the built package', () => {
  test('holds what its manifest names and needs nothing else', async () => {
    const files = await readdir(join(folder, 'node_modules/@cardvault/sdk/dist'));
    expect(files.sort()).toEqual(['index.cjs', 'index.d.cts', 'index.d.ts', 'index.js']);
    expect(manifest).not.toHaveProperty('dependencies');
    for (const file of files) {
      const text = await Bun.file(join(folder, 'node_modules/@cardvault/sdk/dist', file)).text();
      expect(text).not.toMatch(/\bfrom ['"]|\brequire\(|\bprocess\.|\bBuffer\b|node:/);
    }
  });

  test.each(['use.mjs', 'use.cjs'])(
    'works in Node as %s, where a stream cut off throws too',
    async (script) => {
      const whole = '{"shop":[{"token":"a","data":{}},{"token":"b","data":{}}]}';
      const peer = openRawPeer(
        (socket) => socket.end(`${HEAD_CHUNKED}${chunk(whole)}${chunk('')}`),
        (socket) => socket.end(HEAD_CHUNKED + chunk(whole.slice(0, 40))),
      );
      try {
        const said = [
          await run([node, script, peer.baseUrl], folder),
          await run([node, script, peer.baseUrl], folder),
        ];
        expect(said.map(({ stdout }) => stdout)).toEqual(['a,b', 'a,VaultConnectionError']);
      } finally {
        peer.close();
      }
    },
  );

  const compile = (...files: string[]) => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
    ];
    return run([node, tsc, ...flags, ...files], folder);
  };

  test('has types for both kinds of module', async () => {
    expect((await compile('consumer.mts', 'consumer.cts')).stdout).toBe('');
  }, 60_000);

  test('has types that find a mistake', async () => {
    expect((await compile('mistake.mts')).stdout).toMatch(/^mistake\.mts.*error TS2345:/);
  }, 60_000);
});
