import { afterAll, describe, expect, test } from 'bun:test';
import { PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

interface Result {
  readonly token?: string;
  readonly created?: boolean;
  readonly code?: string;
  readonly field?: string;
}

async function batch(items: readonly unknown[], more: object = {}, key?: string): Promise<Result[]> {
  const headers = key === undefined ? {} : { 'Idempotency-Key': key };
  const body = { user: 'u', items, ...more };
  const answer = await account.send('POST', '/vault/batch', { passphrase: PASSPHRASE, body, headers });
  expect(answer.outcome).toBe('200');
  return (answer.json as { results: Result[] }).results;
}

let numbers = 0;
function fresh(): string {
  numbers += 1;
  return `8800${numbers}`;
}

async function logOf(token: string, query: Query = {}): Promise<number> {
  const { json } = await account.send('GET', '/vault/metadata', { query: { user: 'u', token, ...query } });
  return (json as unknown[]).length;
}

describe('a batch', () => {
  test('stores each item as a single request would, in the order given', async () => {
    const [one, two] = [fresh(), fresh()];
    const results = await batch(
      [
        { data: { card_number: one, cvv: '123' }, reference: 'a', metadata: { m: '1' }, ttl: '1h' },
        { data: { holder: 'A' }, number: two, algorithm: 'uuid' },
        { data: { n: Number(one) }, reference: 'a' },
      ],
      { return_fingerprint: true },
    );
    const single = await account.sdk.vault.store({ user: 'u', reference: 'a', data: { card_number: one } });
    expect(results[0]).toMatchObject({ token: single.token, created: true, metadata: { m: '1' } });
    expect(results[0]).toHaveProperty('expires_at');
    expect(results[1]).toMatchObject({ user: 'u', created: true });
    // The same number and reference within the batch: one token, replaced.
    expect(results[2]).toMatchObject({ token: single.token, created: false });
    expect(single.created).toBe(false);
    expect(await account.open('u', results[1]?.token ?? '')).toBe('{"holder":"A"}');
    expect(await logOf(single.token, { reference: 'a' })).toBe(3);
  });

  test('tells what is wrong with one item, and stores the others', async () => {
    const [good, last] = [fresh(), fresh()];
    const results = await batch([
      { data: { number: good } },
      { data: { holder: 'A' } },
      { data: 'text' },
      'text',
      {},
      { data: { n: '1' }, other: 1 },
      { data: { n: '1' }, algorithm: 'none' },
      { data: { n: '1' }, ttl: 'soon' },
      { data: { n: '1' }, metadata: { a: '4111111111111111' } },
      { data: { n: '1' }, reference: '' },
      { data: { n: '1', long: 'x'.repeat(262_144) } },
      { data: { number: last } },
    ]);
    const told = results.map(({ token, code, field }) =>
      token === undefined ? `${code} ${field ?? ''}`.trim() : 'ok',
    );
    expect(told).toEqual([
      'ok',
      'number_missing',
      'invalid_request body.items[2].data',
      'invalid_request body.items[3]',
      'invalid_request body.items[4].data',
      'unknown_parameter body.items[5].other',
      'invalid_request body.items[6].algorithm',
      'invalid_request body.items[7].ttl',
      'metadata_sensitive body.items[8].metadata.a',
      'invalid_request body.items[9].reference',
      'body_too_large',
      'ok',
    ]);
    expect(JSON.stringify(results)).not.toContain('4111111111111111');
  });

  test.each([
    ['no JSON', '{"user":"u","items":[{"data":}]}', '400 invalid_json body'],
    ['no object', '[]', '400 invalid_request body'],
    ['no user', '{"items":[{"data":{"n":"1"}}]}', '400 invalid_request body.user'],
    ['no items', '{"user":"u"}', '400 invalid_request body.items'],
    ['another member', '{"user":"u","items":[{}],"x":1}', '400 unknown_parameter body.x'],
    ['another key', '{"user":"none","items":[{}]}', '404 key_not_found'],
    [
      'too many items',
      JSON.stringify({ user: 'u', items: Array.from({ length: 1_001 }, () => ({})) }),
      '400 invalid_request body.items',
    ],
  ])('is refused as a whole: %s', async (_, body, outcome) => {
    const answer = await account.send('POST', '/vault/batch', { passphrase: PASSPHRASE, body });
    expect(`${answer.outcome} ${answer.field}`).toStartWith(outcome);
  });

  test('takes no number but a text or an integer, and no reference that is no text', async () => {
    const data = { holder: 'A' };
    const numbers = [[fresh()], { n: fresh() }, 88.5, true].map((number) => ({ data, number }));
    const reference = '\ud800';
    expect(await batch([...numbers, { data, number: fresh(), reference }])).toMatchObject([
      ...[0, 1].map((at) => ({ code: 'invalid_request', field: `body.items[${at}].number` })),
      { code: 'number_missing' },
      { code: 'invalid_request', field: 'body.items[3].number' },
      { code: 'invalid_request', field: 'body.items[4].reference' },
    ]);
  });

  test('under a wrong passphrase is refused as a whole', async () => {
    const body = { user: 'u', items: [{ data: { n: fresh() } }] };
    const answer = await account.send('POST', '/vault/batch', { passphrase: 'another passphrase', body });
    expect(answer.outcome).toBe('403 passphrase_wrong');
  });

  test('of a thousand items, twice: each is there once, and its log has two entries', async () => {
    const items = Array.from({ length: 1_000 }, () => ({ data: { n: fresh() } }));
    const first = await batch(items);
    expect(first.every(({ created }) => created === true)).toBe(true);
    expect(new Set(first.map(({ token }) => token)).size).toBe(1_000);
    const again = await batch(items);
    expect(again.map(({ token }) => token)).toEqual(first.map(({ token }) => token));
    expect(again.some(({ created }) => created === true)).toBe(false);
    expect(await logOf(first[500]?.token ?? '')).toBe(2);
  });

  test('of one number a hundred times: the last one stays, and each has its entry', async () => {
    const number = fresh();
    const results = await batch(Array.from({ length: 100 }, (_, place) => ({ data: { number, place } })));
    expect(results.map(({ created }) => created)).toEqual([true, ...Array.from({ length: 99 }, () => false)]);
    const token = results[0]?.token ?? '';
    expect(await account.open('u', token)).toContain('"place":99');
    expect(await logOf(token)).toBe(101);
  });

  test('is billed by item', async () => {
    const before = await vault.usage(account);
    await batch([{ data: { n: fresh() } }, { data: {} }, { data: { n: fresh() } }]);
    expect((await vault.usage(account))['store']).toBe((before['store'] ?? 0) + 2);
  });
});

test('under an Idempotency-Key: a repeat gives the first reply', async () => {
  const items = [{ data: { n: fresh() }, algorithm: 'uuid' }, { data: {} }];
  const first = await batch(items, {}, 'once');
  expect(await batch(items, {}, 'once')).toEqual(first);
  const other = await account.send('POST', '/vault/batch', {
    passphrase: PASSPHRASE,
    body: { user: 'u', items: [{ data: { n: fresh() } }] },
    headers: { 'Idempotency-Key': 'once' },
  });
  expect(other.outcome).toBe('409 idempotency_conflict');
});
