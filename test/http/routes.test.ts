import { describe, expect, test } from 'bun:test';
import { createClient } from './client.ts';
import { ENDPOINT } from './stub-endpoints.ts';

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
    expect(client.parts.asked.at(-1)?.operation).toBe(operation);
  });
});

describe('what services are given', () => {
  test.each([
    ['GET', '/v1/passphrase', { operation: 'passphrase', input: 64 }],
    ['GET', '/v1/luhn?number=4111+1', { operation: 'luhn', input: '4111 1' }],
    ['DELETE', '/v1/retrieve/%ff', { operation: 'removeEndpoint', input: '' }],
  ])('%s %s', async (method, target, expected) => {
    const client = createClient();
    expect((await client.send(method, target)).status).toBe(200);
    expect(client.parts.asked.at(-1)).toMatchObject(expected);
  });
});

describe('endpoints', () => {
  const secret = (name: string, value = ENDPOINT.secret) => ({
    headers: { authorization: '', [name]: value },
  });

  test.each(['token', 'reference', 'limit', 'decrypt_all', 'next_token'])(
    '%s of a retrieval cannot be given twice, as a list or in another spelling',
    async (name) => {
      for (const query of [
        `${name}=1&${name}=1`,
        `${name}=1&%${name.charCodeAt(0).toString(16)}${name.slice(1)}=2`,
      ]) {
        const client = createClient();
        const answer = await client.send(
          'GET',
          `/v1/retrieve/shop?${query}`,
          secret('X-Vault-Retrieve-Secret'),
        );
        expect(answer.error).toMatchObject({ code: 'duplicate_parameter', field: `query.${name}` });
        expect(client.parts.asked).toEqual([]);
      }
    },
  );

  test.each(['token=', 'reference=', 'limit=0', 'limit=0x10', 'limit=1.5', 'decrypt_all=yes', 'next_token='])(
    '?%s of a retrieval is refused',
    async (query) => {
      const answer = await createClient().send(
        'GET',
        `/v1/retrieve/shop?${query}`,
        secret('X-Vault-Retrieve-Secret'),
      );
      expect(answer.error.code).toBe('invalid_request');
    },
  );
});
