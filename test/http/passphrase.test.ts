import { describe, expect, test } from 'bun:test';
import type { StoreInput } from '../../server/vault/vault.ts';
import { createClient } from './client.ts';

async function store(query: string, header?: string) {
  const client = createClient();
  const headers: Record<string, string> = header === undefined ? {} : { 'X-Vault-Passphrase': header };
  const answer = await client.send('POST', `/v1/vault?user=u1${query}`, { headers, body: '{}' });
  const input = client.lastInput() as StoreInput;
  return { answer, passphrase: () => Buffer.from(input.passphrase.expose()).toString('hex'), input };
}
function hex(text: string) {
  return Buffer.from(text).toString('hex');
}

describe('200', () => {
  const accepted: readonly (readonly [string, string | undefined, string])[] = [
    ['&passphrase=a+b', undefined, 'a b'],
    ['&passphrase=a%2Bb', undefined, 'a+b'],
    ['', 'a+b', 'a+b'],
    ['', 'a%20b', 'a b'],
    ['&passphrase=a+b', 'a%20b', 'a b'],
    ['&passphrase=e%CC%81', undefined, 'e\u0301'],
    ['&passphrase=%C3%A9', undefined, '\u00e9'],
    ['&passphrase=a%00b', undefined, 'a\0b'],
    ['&passphrase=%20a%20', undefined, ' a '],
    ['&passphrase=x', undefined, 'x'],
    ['', encodeURIComponent('😀'.repeat(4096)), '😀'.repeat(4096)],
  ];
  test.each(accepted)('exact bytes of %p and header %p', async (query, header, text) => {
    const { answer, passphrase } = await store(query, header);
    expect(answer.status).toBe(200);
    expect(passphrase()).toBe(hex(text));
  });

  test('it is nowhere in what the service is given but in its secret', async () => {
    const { input } = await store('&passphrase=canary-passphrase');
    expect(JSON.stringify(input)).not.toContain('canary-passphrase');
  });
});

describe('400', () => {
  const refused: readonly (readonly [string, string | undefined, string, string])[] = [
    ['', undefined, 'invalid_request', 'query.passphrase'],
    ['&passphrase=', undefined, 'invalid_request', 'query.passphrase'],
    [`&passphrase=${'p'.repeat(4097)}`, undefined, 'invalid_request', 'query.passphrase'],
    ['', 'p'.repeat(4097), 'invalid_request', 'header.X-Vault-Passphrase'],
    ['', '%zz', 'invalid_request', 'header.X-Vault-Passphrase'],
    ['', '%ff', 'invalid_request', 'header.X-Vault-Passphrase'],
    ['&passphrase=a+b', 'a+b', 'conflicting_parameters', 'query.passphrase'],
    ['&passphrase=a&passphrase=a', undefined, 'duplicate_parameter', 'query.passphrase'],
  ];
  test.each(refused)('query %p and header %p', async (query, header, code, field) => {
    const { answer } = await store(query, header);
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({ code, field });
  });

  test('a missing one is told where it goes, and that is not the query', async () => {
    const { answer } = await store('');
    expect(answer.error).toMatchObject({
      error: expect.stringContaining('send it in the header X-Vault-Passphrase'),
    });
  });
});
