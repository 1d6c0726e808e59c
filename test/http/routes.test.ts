import { describe, expect, test } from 'bun:test';
import { createClient } from './client.ts';

const PASSPHRASE = { headers: { 'X-Vault-Passphrase': 'pass' } };

describe('GET /v1/vault chooses', () => {
  const choices: readonly (readonly [string, RequestInit, string])[] = [
    ['', {}, 'list'],
    ['?user=u1', PASSPHRASE, 'list'],
    ['?user=u1&token=tok', {}, 'list'],
    ['?user=u1&token=tok', PASSPHRASE, 'decrypt'],
    ['?user=u1&token=tok&decrypt_all=true', PASSPHRASE, 'decrypt'],
    ['?user=u1&decrypt_all=true', PASSPHRASE, 'decryptAll'],
    ['?user=u1&decrypt_all=false', PASSPHRASE, 'list'],
  ];
  test.each(choices)('%s %j: %s', async (query, init, operation) => {
    const client = createClient();
    expect((await client.send('GET', `/v1/vault${query}`, init)).status).toBe(200);
    expect(client.deps.asked.at(-1)?.operation).toBe(operation);
  });

  test('decrypted bytes are the reply as they are', async () => {
    const answer = await createClient().send('GET', '/v1/vault?user=u1&token=tok', PASSPHRASE);
    expect(answer.text).toBe('{"number":"1.10"}');
    expect(answer.headers.get('Content-Type')).toBe('application/json');
  });
});

describe('what services are given', () => {
  test.each([
    ['GET', '/v1/passphrase', { operation: 'passphrase', input: 64 }],
    ['GET', '/v1/passphrase?length=-3', { operation: 'passphrase', input: -3 }],
    ['GET', '/v1/luhn?number=4111+1', { operation: 'luhn', input: '4111 1' }],
    ['GET', '/v1/key', { operation: 'listKeys', input: { limit: 65_536 } }],
    ['DELETE', '/v1/key?user=u1', { operation: 'removeKey', input: { user: 'u1', safe: true } }],
    ['DELETE', '/v1/key?user=u1&safe=f', { operation: 'removeKey', input: { user: 'u1', safe: false } }],
    [
      'GET',
      '/v1/vault/metadata?user=u1&token=tok',
      { operation: 'log', input: { user: 'u1', token: 'tok', limit: 1024 } },
    ],
    [
      'DELETE',
      '/v1/vault?user=u1&token=tok&reference=r',
      { operation: 'remove', input: { user: 'u1', token: 'tok', reference: 'r' } },
    ],
  ])('%s %s', async (method, target, expected) => {
    const client = createClient();
    expect((await client.send(method, target)).status).toBe(200);
    expect(client.deps.asked.at(-1)).toMatchObject(expected);
  });

  test('a key is created under the passphrase that was sent, byte for byte', async () => {
    const client = createClient();
    const body = JSON.stringify({ user: 'u1', passphrase: ' pässphrase\u0000' });
    await client.send('POST', '/v1/key', { body });
    const input = client.lastInput() as { passphrase: { expose: () => Uint8Array } };
    expect(new TextDecoder().decode(input.passphrase.expose())).toBe(' pässphrase\u0000');
  });

  test.each([
    ['POST', '/v1/key', '{"user":"u1"}'],
    ['PUT', '/v1/key', '{"user":"u1","passphrase":"old"}'],
  ])('%s %s shows the passphrase once', async (method, target, body) => {
    const answer = await createClient().send(method, target, { body });
    expect(JSON.parse(answer.text)).toEqual({ user: 'u1', passphrase: 'generated-passphrase' });
  });
});
