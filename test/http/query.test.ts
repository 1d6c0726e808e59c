import { describe, expect, test } from 'bun:test';
import type { StoreInput } from '../../server/vault/vault.ts';
import { createClient } from './client.ts';

const CANARY = '4929123412341234';

describe('200', () => {
  const client = createClient();
  const accepted: readonly (readonly [string, Record<string, unknown>])[] = [
    ['', {}],
    ['user=u1&limit=7', { user: 'u1', limit: 7 }],
    ['limit=-5', { limit: -1 }],
    ['reference=a+b%2Bc%20d', { reference: 'a b+c d' }],
    [`reference=${encodeURIComponent('😀'.repeat(255))}`, { reference: '😀'.repeat(255) }],
    ['stored_after=2026-01-31T12:00:00Z', { stored_after: Date.UTC(2026, 0, 31, 12) }],
    ['us%65r=u1', { user: 'u1' }],
    ['decrypt_all=f&return_card_metadata=0&rules=&mask_fields=', {}],
  ];
  test.each(accepted)('GET /v1/vault?%s', async (query, expected) => {
    expect((await client.send('GET', `/v1/vault?${query}`)).status).toBe(200);
    expect(client.lastInput()).toMatchObject(expected);
  });

  test('a path with a trailing slash is the same route', async () => {
    expect((await client.send('GET', '/v1/vault/?limit=7')).status).toBe(200);
    expect(client.lastInput()).toMatchObject({ limit: 7 });
  });

  test('booleans have three spellings each, lists are separated by commas', async () => {
    for (const [text, value] of Object.entries({
      true: true,
      t: true,
      1: true,
      false: false,
      f: false,
      0: false,
    })) {
      const query = `user=u1&token=tok&return_card_metadata=${text}&rules=r1,r2&mask_fields=a.b`;
      await client.send('GET', `/v1/vault?${query}`, { headers: { 'X-Vault-Passphrase': 'pass' } });
      const expected = { return_card_metadata: value, rules: ['r1', 'r2'], mask_fields: ['a.b'] };
      expect(client.lastInput()).toMatchObject(expected);
    }
  });

  const numbers: readonly (readonly [string, string | undefined])[] = [
    ['number=1', '1'],
    ['n=1&number=2', '1'],
    ['n=1&account_number=2&number=3', '2'],
    ['number=1&card_number=2&account_number=3&n=4', '2'],
    ['card_number=none&number=4', '4'],
    ['card_number=none', undefined],
  ];
  test.each(numbers)('number from %s', async (query, expected) => {
    const answer = await client.send('POST', `/v1/vault?user=u1&passphrase=pass&${query}`, { body: '{}' });
    expect(answer.status).toBe(200);
    expect((client.lastInput() as StoreInput).number).toBe(expected);
  });
});

describe('400', () => {
  const client = createClient();
  const refused: readonly (readonly [string, string, string])[] = [
    ['limit=0', 'invalid_request', 'query.limit'],
    ['limit=1e3', 'invalid_request', 'query.limit'],
    ['limit=99999999999999999999', 'invalid_request', 'query.limit'],
    ['limit=1&lim%69t=2', 'duplicate_parameter', 'query.limit'],
    [`${CANARY}=1&${CANARY}=2`, 'unknown_parameter', 'query'],
    ['refrence=1', 'unknown_parameter', 'query.refrence'],
    ['decrypt_all=yes', 'invalid_request', 'query.decrypt_all'],
    ['rules=a,,b', 'invalid_request', 'query.rules'],
    ['rules=iframe', 'invalid_request', 'query.rules'],
    ['stored_after=2026-02-30T00:00:00Z', 'invalid_request', 'query.stored_after'],
    ['user=iframe', 'invalid_request', 'query.user'],
    ['user=a%0Ab', 'invalid_request', 'query.user'],
    [`user=${'u'.repeat(129)}`, 'invalid_request', 'query.user'],
    ['reference=', 'invalid_request', 'query.reference'],
    [`reference=${'r'.repeat(256)}`, 'invalid_request', 'query.reference'],
    ['reference=%ff', 'invalid_request', 'query.reference'],
    ['reference=%ED%A0%80', 'invalid_request', 'query.reference'],
    [`other${CANARY}=%`, 'invalid_request', 'query'],
    ['token=tok', 'invalid_request', 'query.key'],
    ['decrypt_all=1&passphrase=pass', 'invalid_request', 'query.key'],
    ['decrypt_all=1&user=u1', 'invalid_request', 'query.passphrase'],
  ];
  test.each(refused)('GET /v1/vault?%s', async (query, code, field) => {
    const answer = await client.send('GET', `/v1/vault?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({ code, field });
    expect(answer.text).not.toContain(CANARY);
    expect(client.parts.asked.at(-1)?.operation).toBe('signIn');
  });

  test('a missing parameter is named', async () => {
    const answer = await client.send('GET', '/v1/luhn');
    expect(answer.error).toMatchObject({ code: 'invalid_request', field: 'query.number' });
  });

  test.each(['partial_7_start', 'partial_17_end', 'partial_8', 'FULL', 'md5', 'partial_middle_100_1'])(
    'algorithm %s',
    async (algorithm) => {
      const target = `/v1/vault?user=u1&passphrase=pass&algorithm=${algorithm}`;
      const answer = await client.send('POST', target, { body: '{}' });
      expect(answer.error).toMatchObject({ code: 'invalid_request', field: 'query.algorithm' });
    },
  );
});

const PASSPHRASE = { headers: { 'X-Vault-Passphrase': 'pass' } };

describe('what was expected', () => {
  const client = createClient();
  const messages: readonly (readonly [string, string])[] = [
    ['limit=0', '`limit` must be an integer other than 0.'],
    [
      'user=a%20b',
      '`user` must have 1 to 128 letters, digits or characters of `._@:-`, and must not be `iframe`.',
    ],
    ['decrypt_all=yes', '`decrypt_all` must be `true` or `false`.'],
    ['stored_after=today', '`stored_after` must be a time as in RFC 3339, such as `2026-01-31T12:00:00Z`.'],
    ['refrence_prefix=a', '`refrence_prefix` is not known here: did you mean `reference_prefix`?'],
    ['Decrypt-All=t', '`Decrypt-All` is not known here: did you mean `decrypt_all`?'],
    ['%34111111111111111=1', 'The query has a name that is not known here.'],
  ];
  test.each(messages)('GET /v1/vault?%s', async (query, message) => {
    expect((await client.send('GET', `/v1/vault?${query}`)).error.error).toBe(message);
  });

  test('a list may be repeated', async () => {
    expect(
      (await client.send('GET', '/v1/vault?user=u1&token=t&mask_fields=a&mask_fields=b,c', PASSPHRASE))
        .status,
    ).toBe(200);
    expect(client.lastInput()).toMatchObject({ mask_fields: ['a', 'b', 'c'] });
  });

  test('a public route ignores what processors append', async () => {
    const { status } = await client.send('GET', '/v1/retrieve/shop?utm_source=mail');
    expect(status).not.toBe(400);
  });
});
