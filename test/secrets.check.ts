import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import { findEscapes, JSON_PARSED_IN, secretPlaces } from './secrets.ts';
import { readSources } from './sources.ts';

const sources = await readSources('server', 'workers', 'sdk', 'forms', 'console', 'scripts', 'test');

test('secrets, ciphers, settings and output stay where they belong', () => {
  expect(findEscapes(sources)).toEqual([]);
}, 60_000);

test('no key or certificate lies in the root of the tree, where somebody tried something', async () => {
  const root = join(import.meta.dir, '..');
  expect(await Array.fromAsync(new Glob('*.{pem,key,crt,p12,pfx}').scan({ cwd: root, dot: true }))).toEqual(
    [],
  );
});

test('no allowance to parse JSON is left over', () => {
  const unused = Object.keys(JSON_PARSED_IN).filter(
    (path) => sources.get(path)?.includes('JSON.parse') !== true,
  );
  expect(unused).toEqual([]);
});

/** The schemas, and the one parameter that the plugin beside them adds to many. */
function isSchema(path: string): boolean {
  return (
    /^server\/(?:.+\/)?(?:[a-z]+-)*schema\.ts$|^server\/schema\//.test(path) ||
    path === 'server/http/passphrase.ts'
  );
}

test('the schema marks exactly these properties as secret', async () => {
  const places: string[] = [];
  for (const path of [...sources.keys()].filter((name) => isSchema(name))) {
    const schemas: Record<string, unknown> = await import(`../${path}`);
    for (const [name, schema] of Object.entries(schemas)) {
      places.push(...secretPlaces(schema, name));
    }
  }
  expect(places.sort()).toEqual([
    'AcceptInvitation.token',
    'AccountPassword.password',
    'CaptureEndpoint.secret',
    'CaptureOrder.webhook.secret',
    'CaptureQuery.number',
    'ChangePassphraseBody.new_passphrase',
    'ChangePassphraseBody.passphrase',
    'ChangePasswordBody.new_password',
    'ChangePasswordQuery.new_password',
    'CreateConnection.headers.^(.*)$',
    'CreateConnection.sign.key',
    'CreateInbound.secret',
    'CreateKeyBody.passphrase',
    'CreateRecoveryBody.passphrase',
    'CredentialWithSecret.secret',
    'GeneratedPassphrase.passphrase',
    'InboundWithSecret.secret',
    'InvitationOptionsBody.token',
    'InvitedPerson.invitation',
    'KeptPassphrase.wrap',
    'KeptPassphrases.wrap',
    'KeyWithPassphrase.passphrase',
    'LuhnQuery.number',
    'NetworkTokenBody.0.secret',
    'NetworkTokenBody.1.webhook.secret',
    'NewAccount.password',
    'NumberParameter',
    'PassphraseParameter',
    'ProxyOrder.webhook.secret',
    'ProxyWebhook.secret',
    'PutWrap.wrap',
    'RecoverBody.new_passphrase',
    'RecoverBody.shares',
    'RemoveRecoveryBody.passphrase',
    'ReplaceConnection.headers.^(.*)$',
    'ReplaceConnection.sign.key',
    'ReplacedPassword.password',
    'ResealBody.passphrase',
    'RetrieveEndpoint.secret',
    'StoreBatchBody.number',
    'StoreQuery.number',
    'SubscriptionBody.secret',
    'WEBHOOK_MEMBERS.secret',
  ]);
});

describe('no test is left out', () => {
  const leftOut =
    /\b(?:test|it|describe)\s*(?:\.\s*\w+\s*)*\.\s*(?:only|skip|todo|failing)\b|\bx(?:it|test|describe)\s*\(/;

  test('in any file', () => {
    const found = [...sources].filter(([, text]) => leftOut.test(text)).map(([path]) => path);
    expect(found).toEqual([]);
  });
});

describe('the search finds', () => {
  const check = (path: string, text: string) => findEscapes(new Map([[path, text]]));

  const wrong: [string, string][] = [
    ['server/key/keys.ts', 'log(passphrase.expose());'],
    ['workers/jobs/key/handlers.ts', 'const port = process.env.PORT;'],
    ['server/redis/client.ts', 'console.error(error);'],
    ['server/key/keys.ts', 'process.stdout.write(text);'],
    ['server/crypto/client.ts', "createCipheriv('aes-256-gcm', key, nonce);"],
    ['workers/crypto/primitives/bytes.ts', 'await crypto.subtle.digest(a, b);'],
    ['server/key/keys.ts', 'const id = Math.random();'],
    ['server/vault/routes.ts', 'const body = JSON.parse(text);'],
    ['server/domain/template/parse.ts', 'new Function(text)();'],
  ];
  test.each(wrong)('in %s: %s', (path, text) => {
    const found = check(path, text);
    expect(found).toHaveLength(1);
    expect(found[0]).toStartWith(`${path} uses `);
  });

  const right: [string, string][] = [
    ['server/crypto/client.ts', 'pool.run(passphrase.expose());'],
    ['workers/crypto/primitives/symmetric.ts', "createCipheriv('aes-256-gcm', key, nonce);"],
    ['server/key/keys.ts', '// passphrase.expose() would be wrong here\nexport {};'],
  ];
  test.each(right)('nothing in %s: %s', (path, text) => {
    expect(check(path, text)).toEqual([]);
  });
});
