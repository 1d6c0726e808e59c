/** Replies that are sealed to their reader: nothing between the vault and it sees a digit. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { retrieveClient } from '../../../sdk/index.ts';
import { sealedReader } from '../../../sdk/seal/seal.ts';
import type { AccountClient, Query } from '../../helpers/clients.ts';
import { createRetrieve, type MadeEndpoint, retrieve } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const NUMBER = '4111111111111111';
const SEALED = 'application/vnd.cardvault.sealed+json';

let vault: TestVault;
let account: AccountClient;
let desk: MadeEndpoint;
let token: string;
beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
  token = await account.store('u', { card_number: NUMBER, holder: 'Jürgen' });
  desk = await createRetrieve(account, 'u', {});
});
afterAll(() => vault.close());

async function readSealed(endpoint: MadeEndpoint, query: Query) {
  const reader = await sealedReader();
  const answer = await retrieve(vault, endpoint, { query, headers: { 'x-vault-seal-to': reader.point } });
  const text = (value: unknown) => (value === undefined ? undefined : String(value));
  const names = [endpoint.unique_id, text(query['token']), text(query['reference'])] as const;
  return { answer, body: () => reader.open(names, answer.text) };
}

test('an item comes sealed, filled up, and opens for its reader alone', async () => {
  const plain = await retrieve(vault, desk, { query: { token } });
  const { answer, body } = await readSealed(desk, { token });
  expect(answer.headers.get('content-type')).toBe(SEALED);
  expect(answer.text).not.toMatch(/\d{12}|4111|holder/);
  expect(await body()).toBe(plain.text);
  const { ct } = answer.as<{ ct: string }>();
  expect((Buffer.from(ct, 'base64url').length - 16) % 256).toBe(0);
  const other = await sealedReader();
  await expect(other.open([desk.unique_id, token, undefined], answer.text)).rejects.toThrow();
});

test('a reply opens only with the names of its request', async () => {
  const reader = await sealedReader();
  const headers = { 'x-vault-seal-to': reader.point };
  const { text } = await retrieve(vault, desk, { query: { token }, headers });
  await expect(reader.open([desk.unique_id, undefined, undefined], text)).rejects.toThrow();
  await expect(reader.open(['other', token, undefined], text)).rejects.toThrow();
});

test.each(['', 'x', 'BA', Buffer.alloc(65, 4).toString('base64url'), Buffer.alloc(65).toString('base64url')])(
  'the point %p is refused before anything is read',
  async (point) => {
    const answer = await retrieve(vault, desk, { query: { token }, headers: { 'x-vault-seal-to': point } });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'header.X-Vault-Seal-To']);
  },
);

describe('trees', () => {
  test('come in sealed pages that end before 4 MB, and lose nothing', async () => {
    const large = await vault.account();
    await large.key('u');
    const note = 'x'.repeat(250_000);
    const tokens = await Promise.all(
      Array.from({ length: 30 }, (_, n) => large.store('u', { card_number: `${n}`, note })),
    );
    const endpoint = await createRetrieve(large, 'u', {});
    const found: string[] = [];
    let next_token: string | undefined;
    let pages = 0;
    do {
      const { answer, body } = await readSealed(endpoint, { decrypt_all: true, next_token });
      const text = await body();
      expect(text.length).toBeLessThan(4 * 1_048_576);
      found.push(...(JSON.parse(text).u as { token: string }[]).map((item) => item.token));
      next_token = answer.headers.get('x-vault-next-token') ?? undefined;
      pages += 1;
    } while (next_token !== undefined);
    expect(pages).toBeGreaterThan(1);
    expect(found.sort()).toEqual(tokens.sort());
  }, 30_000);

  test('end before 4 MB too where rules make items longer', async () => {
    const large = await vault.account();
    await large.key('u');
    const double = {
      name: 'format',
      output_field: 'note',
      arguments: { format_string: '%v%v', keys: ['note', 'note'] },
    };
    const operations = [double, double, double];
    const rule = await large.send('POST', '/rule', { query: { id: 'grow' }, body: operations });
    expect(rule.outcome).toBe('200');
    const note = 'x'.repeat(100_000);
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, n) => large.store('u', { card_number: `${n}`, note })),
    );
    const endpoint = await createRetrieve(large, 'u', { rules: 'grow' });
    const found: string[] = [];
    let next_token: string | undefined;
    do {
      const { answer, body } = await readSealed(endpoint, { decrypt_all: true, next_token });
      const text = await body();
      expect(text.length).toBeLessThan(4 * 1_048_576);
      found.push(...(JSON.parse(text).u as { token: string }[]).map((item) => item.token));
      next_token = answer.headers.get('x-vault-next-token') ?? undefined;
    } while (next_token !== undefined);
    expect(found.sort()).toEqual(tokens.sort());
  }, 30_000);

  test('without an end are refused, and an empty one is a tree', async () => {
    const all = await readSealed(desk, { limit: -1 });
    expect([all.answer.outcome, all.answer.field]).toEqual(['400 invalid_request', 'query.limit']);
    const none = await readSealed(desk, { reference: 'nobody' });
    expect(JSON.parse(await none.body())).toEqual({ u: [] });
  });
});

test('an endpoint with require_sealed takes no other reader', async () => {
  const endpoint = await createRetrieve(account, 'u', { require_sealed: true });
  expect((await retrieve(vault, endpoint, { query: { token } })).outcome).toBe('400 sealing_required');
  expect((await retrieve(vault, endpoint, {})).outcome).toBe('400 sealing_required');
  expect((await readSealed(endpoint, { token })).answer.outcome).toBe('200');
});

test('the SDK seals and opens by itself', async () => {
  const seen: string[] = [];
  const front = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const response = await vault.handle(request);
      const text = await response.text();
      seen.push(text);
      return new Response(text, response);
    },
  });
  const url = `${front.url.origin}${desk.url}`;
  const client = retrieveClient({ url, secret: desk.secret, seal: true });
  expect(await client.decrypt({ token })).toMatchObject({ holder: 'Jürgen' });
  const { data } = await client.list();
  expect(data['u']?.map((item) => item.token)).toContain(token);
  const items = await Array.fromAsync(client.decryptAll());
  expect(items.map((item) => item.token)).toContain(token);
  expect(seen.join('')).not.toMatch(/Jürgen|4111/);
  expect(seen.length).toBe(3);
  front.stop(true);
});
