import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import manifest from '../../sdk/package.json';
import { chunk, HEAD_CHUNKED, json, openPeer, openRawPeer } from './peer.ts';
import { README_GIVEN, readmeProgram } from './readme.ts';

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

const CAPTURE = `
  import { captureClient } from '@cardvault/sdk';
  const checkout = captureClient({ url: process.argv[2] + '/v1/capture/shop', secret: 'vcs1_secret' });
  console.log((await checkout.submit({ data: { card_number: '4111' } })).token);
`;

/** The published example of Standard Webhooks, and the same with one byte changed. */
const WEBHOOK = `
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const check = (body) =>
    webhooks.verify(headers, body, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', { now: 1614265330000 });
  check('{"test": 2432232314}').then(({ test }) =>
    check('{"test": 2432232315}').catch((error) =>
      console.log(test, error instanceof VaultWebhookError && error instanceof VaultError && error.code)));
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

const MISTAKES = {
  'a key without its user': 'client.keys.create({})',
  'an endpoint without its user': "client.capture.create({ ttl: '45m' })",
  'a capture without its secret': "client.capture.submit({ unique_id: 'shop', data: {} })",
  'a capture without its endpoint': "client.capture.submit({ secret: 's', data: {} })",
  'a capture without data': "captureClient({ url: 'u', secret: 's' }).submit({ reference: 'r' })",
  'an endpoint without its secret': "captureClient({ url: 'u' })",
  'an endpoint with credentials': "retrieveClient({ url: 'u', secret: 's', username: 'shop' })",
  'a listing that names an item': "retrieveClient({ url: 'u', secret: 's' }).list({ token: 't' })",
  'an item without its token': "client.retrieve.decrypt({ unique_id: 'shop', secret: 's', reference: 'r' })",
  'a rule without operations': "client.rules.create({ id: 'r' })",
  'a webhook without its secret': "webhooks.verify({}, '')",
  'a webhook whose body was parsed': "webhooks.verify({}, { error: 'e' }, secret)",
  'an operation without its name': "client.rules.create({ id: 'r', operations: [{ arguments: {} }] })",
};

const IMPORTS =
  "import { type CaptureClient, captureClient, type RetrieveClient, retrieveClient, Vault, webhooks } from '@cardvault/sdk';\n";
const DECLARED = [
  'client: Vault',
  'checkout: CaptureClient',
  'desk: RetrieveClient',
  'token: string',
  'secret: string',
];

/** One function of each text, among the names that examples use. */
const functionsOf = (texts: readonly string[]): string => {
  const declared = DECLARED.map((name) => `declare const ${name};\n`).join('');
  const functions = texts.map((text, index) => `export const f${index} = async () => { ${text} };\n`);
  return `${IMPORTS}${declared}${functions.join('')}`;
};

/** The examples of the docstrings as the package publishes them. */
const examplesOf = (declarations: string): string[] =>
  [...declarations.matchAll(/@example\n(.*?)\*\//gs)].map(([, text = '']) =>
    text.replaceAll(/^ *\* ?/gm, ''),
  );

const installedFile = (name: string): string => join(folder, 'node_modules/@cardvault/sdk/dist', name);

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
  await Bun.write(join(folder, 'capture.mjs'), CAPTURE);
  const names = '{ VaultError, VaultWebhookError, webhooks }';
  await Bun.write(join(folder, 'webhook.mjs'), `import ${names} from '@cardvault/sdk';${WEBHOOK}`);
  await Bun.write(join(folder, 'webhook.cjs'), `const ${names} = require('@cardvault/sdk');${WEBHOOK}`);
}, 60_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the built package', () => {
  test('holds what its manifest names and needs nothing else', async () => {
    const files = await readdir(join(folder, 'node_modules/@cardvault/sdk/dist'));
    expect(files.sort()).toEqual(['index.cjs', 'index.d.cts', 'index.d.ts', 'index.js']);
    expect(manifest).not.toHaveProperty('dependencies');
    for (const file of files) {
      const text = await Bun.file(installedFile(file)).text();
      expect(text).not.toMatch(/\bfrom ['"]|\brequire\(|\bprocess\.|\bBuffer\b|node:/);
    }
  });

  test('exports its clients, errors and the check of webhooks, and nothing else that runs', async () => {
    const said = await run(
      [node, '-e', "console.log(Object.keys(require('@cardvault/sdk')).sort().join())"],
      folder,
    );
    expect(said.stdout.split(',')).toEqual([
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

  test.each(['webhook.mjs', 'webhook.cjs'])('checks webhooks in Node as %s', async (script) => {
    expect(await run([node, script], folder)).toMatchObject({ stdout: '2432232314 signature_mismatch' });
  });

  test('sends a capture from Node without credentials', async () => {
    const peer = openPeer(json({ token: 'captured' }));
    try {
      expect(await run([node, 'capture.mjs', peer.baseUrl], folder)).toMatchObject({ stdout: 'captured' });
      expect(peer.seen[0]?.headers.get('x-vault-capture-secret')).toBe('vcs1_secret');
      expect(peer.seen[0]?.headers.get('authorization')).toBeNull();
    } finally {
      await peer.close();
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
});

describe('the types', () => {
  const FILES = ['consumer.mts', 'consumer.cts', 'mistakes.mts', 'examples.mts', 'readme.mts'] as const;
  const FLAGS = '--noEmit --strict --module nodenext --target es2022 --lib es2022,dom'.split(' ');
  let examples: readonly string[] = [];
  let errors: readonly string[] = [];

  beforeAll(async () => {
    examples = examplesOf(await Bun.file(installedFile('index.d.ts')).text());
    const given = README_GIVEN.map((name) => `declare const ${name}: string;\n`).join('');
    await Bun.write(join(folder, 'mistakes.mts'), functionsOf(Object.values(MISTAKES)));
    await Bun.write(join(folder, 'examples.mts'), functionsOf(examples));
    await Bun.write(join(folder, 'readme.mts'), `${given}${await readmeProgram()}`);
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run([node, tsc, ...FLAGS, ...FILES], folder);
    errors = stdout.split('\n').filter((line) => line.includes('error TS'));
  }, 60_000);

  test('find mistakes', () => {
    const lines = errors.map((line) =>
      Number(/^mistakes\.mts\((\d+),\d+\): error TS2\d{3}:/.exec(line)?.[1]),
    );
    const first = IMPORTS.split('\n').length + DECLARED.length;
    expect([...new Set(lines)]).toEqual(Object.keys(MISTAKES).map((_, index) => first + index));
  });

  test('let through a program of either kind, and the examples of the page and of the docstrings', () => {
    expect(examples.length).toBeGreaterThan(20);
    expect(errors.filter((line) => !line.startsWith('mistakes.mts'))).toEqual([]);
  });
});

describe('a bundle for browsers', () => {
  const bundle = async (name: string): Promise<string> => {
    const entry = join(folder, `${name}.entry.mjs`);
    await Bun.write(entry, `export { ${name} } from '@cardvault/sdk';`);
    const built = await Bun.build({ entrypoints: [entry], target: 'browser', minify: true });
    expect(built.logs).toEqual([]);
    expect(built.outputs).toHaveLength(1);
    return (await built.outputs[0]?.text()) ?? '';
  };

  test.each([
    ['Vault', 15_500, []],
    ['captureClient', 8_500, ['whoami', 'decrypt_all', 'reference_prefix', 'Basic ', 'btoa']],
    ['retrieveClient', 10_000, ['whoami', 'Basic ', 'btoa']],
    ['webhooks', 4_000, ['fetch', 'setTimeout', 'AbortController', 'idempotency']],
  ] as const)('with %s alone takes at most %d bytes and nothing of Node', async (name, bytesMax, without) => {
    const text = await bundle(name);
    expect(text.length).toBeLessThanOrEqual(bytesMax);
    expect(text).not.toMatch(/\bprocess\b|\bBuffer\b|\brequire\b|node:/);
    expect(without.filter((word) => text.includes(word))).toEqual([]);
  });
});
