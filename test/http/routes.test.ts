import { describe, expect, test } from 'bun:test';
import type { CaptureInput } from '../../server/services/capture/capture.ts';
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
    ['GET', '/v1/key', { operation: 'listKeys', input: {} }],
    ['DELETE', '/v1/key?user=u1', { operation: 'removeKey', input: { user: 'u1', safe: true } }],
    ['DELETE', '/v1/key?user=u1&safe=f', { operation: 'removeKey', input: { user: 'u1', safe: false } }],
    [
      'GET',
      '/v1/vault/metadata?user=u1&token=tok',
      { operation: 'log', input: { user: 'u1', token: 'tok' } },
    ],
    [
      'DELETE',
      '/v1/vault?user=u1&token=tok&reference=r',
      { operation: 'remove', input: { user: 'u1', token: 'tok', reference: 'r' } },
    ],
    [
      'POST',
      '/v1/capture?user=u1&passphrase=pass',
      {
        operation: 'createCapture',
        input: { user: 'u1', rules: [] },
      },
    ],
    [
      'POST',
      '/v1/capture/?user=u1&passphrase=pass&unique_id=shop&ttl=45m&rules=a,b',
      { operation: 'createCapture', input: { unique_id: 'shop', ttl: '45m', rules: ['a', 'b'] } },
    ],
    ['GET', '/v1/capture?user=u1', { operation: 'listEndpoints', input: { kind: 'capture', user: 'u1' } }],
    ['DELETE', '/v1/capture/shop', { operation: 'removeEndpoint', input: 'shop' }],
    [
      'POST',
      '/v1/retrieve/?user=u1&passphrase=pass&token=tok&mask_fields=cvv',
      { operation: 'createRetrieve', input: { user: 'u1', token: 'tok', rules: [], mask_fields: ['cvv'] } },
    ],
    ['GET', '/v1/retrieve', { operation: 'listEndpoints', input: { kind: 'retrieve' } }],
    ['DELETE', '/v1/retrieve/shop/', { operation: 'removeEndpoint', input: 'shop' }],
    ['DELETE', '/v1/retrieve/%ff', { operation: 'removeEndpoint', input: '' }],
    ['GET', '/v1/rule', { operation: 'listRules' }],
    ['GET', '/v1/rule?id=r', { operation: 'readRule', input: 'r' }],
    ['DELETE', '/v1/rule?id=r', { operation: 'removeRule', input: 'r' }],
    ['GET', '/v1/connection', { operation: 'listConnections' }],
    ['GET', '/v1/connection/pay', { operation: 'readConnection', input: 'pay' }],
    ['DELETE', '/v1/connection/pay', { operation: 'removeConnection', input: 'pay' }],
    ['GET', '/v1/rule/operations', { operation: 'operations' }],
  ])('%s %s', async (method, target, expected) => {
    const client = createClient();
    expect((await client.send(method, target)).status).toBe(200);
    expect(client.parts.asked.at(-1)).toMatchObject(expected);
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

describe('endpoints', () => {
  const secret = (name: string, value = ENDPOINT.secret) => ({
    headers: { authorization: '', [name]: value },
  });

  test('a new one shows its secret', async () => {
    for (const target of ['/v1/capture', '/v1/retrieve']) {
      const answer = await createClient().send('POST', `${target}?user=u1&passphrase=pass`);
      expect(JSON.parse(answer.text)).toMatchObject({ unique_id: ENDPOINT.id, secret: ENDPOINT.secret });
    }
  });

  test('a capture gives the data as it came, with everything else beside it', async () => {
    const client = createClient();
    const body = '{"number":"4111111111111111","big":123456789012345678901234567890}';
    const query = 'reference=r&algorithm=luhn&form_type=pcd&return_card_metadata=t';
    const answer = await client.send('POST', `/v1/capture/shop?${query}`, {
      ...secret('X-Vault-Capture-Secret'),
      body,
    });
    expect(JSON.parse(answer.text)).toEqual({ token: 'tok', user: 'u1', reference: 'shop' });
    const input = client.lastInput() as CaptureInput;
    expect(new TextDecoder().decode(input.body)).toBe(body);
    expect(input).toMatchObject({
      unique_id: 'shop',
      reference: 'r',
      algorithm: 'luhn',
      form_type: 'pcd',
      return_card_metadata: true,
    });
    expect(client.parts.asked.at(-1)?.ctx).toMatchObject({ account: undefined });
  });

  test('a capture without any of it leaves all to the endpoint', async () => {
    const client = createClient();
    await client.send('POST', '/v1/capture/shop', { ...secret('X-Vault-Capture-Secret'), body: '{}' });
    const { secret: _, body: __, ...rest } = client.lastInput() as CaptureInput;
    expect(rest).toEqual({ unique_id: 'shop' });
  });

  test('a retrieval gives the bytes as they are', async () => {
    const client = createClient();
    const answer = await client.send('GET', '/v1/retrieve/shop?token=tok', secret('X-Vault-Retrieve-Secret'));
    expect(answer.text).toBe('{"number":"1.10"}');
    expect(client.lastInput()).toMatchObject({
      unique_id: 'shop',
      token: 'tok',
      decrypt_all: false,
    });
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

  test('a connection goes to its service as it came', async () => {
    const client = createClient();
    const body = ' {"id":"pay"} ';
    expect((await client.send('POST', '/v1/connection', { body })).status).toBe(200);
    expect(client.lastInput()).toEqual(new TextEncoder().encode(body));
    expect((await client.send('PUT', '/v1/connection/pay', { body })).status).toBe(200);
    expect(client.lastInput()).toEqual({ id: 'pay', body: new TextEncoder().encode(body) });
  });

  test('a rule goes to its service as it came', async () => {
    const client = createClient();
    const body = ' [ {"name":"noop"} ]';
    expect((await client.send('POST', '/v1/rule?id=r', { body })).status).toBe(200);
    expect(client.lastInput()).toEqual({ id: 'r', body: new TextEncoder().encode(body) });
  });
});
