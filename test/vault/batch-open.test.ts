import { afterAll, describe, expect, test } from 'bun:test';
import { type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

interface Result {
  readonly token?: string;
  readonly data?: Record<string, unknown>;
  readonly deleted?: true;
  readonly error?: string;
  readonly code?: string;
  readonly field?: string;
}

const CARD = { number: '4111111111111111', cvv: '123' };

let numbers = 0;

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

function newItem(reference?: string, data: object = {}): Promise<string> {
  numbers += 1;
  return account.store('u', { number: `${numbers}`, ...data }, { reference });
}
function send(
  path: 'decrypt' | 'delete',
  body: object,
  client = account,
  passphrase = PASSPHRASE,
): Promise<Answer> {
  return client.send('POST', `/vault/batch/${path}`, {
    ...(path === 'decrypt' ? { passphrase } : {}),
    body: { user: 'u', ...body },
  });
}
async function resultsOf(answer: Promise<Answer>): Promise<Result[]> {
  const got = await answer;
  expect(got.outcome).toBe('200');
  return got.as<{ results: Result[] }>().results;
}

/** Items that are wrong in each way, and the error of each at its place. */
const WRONG: readonly (readonly [item: unknown, field: string, code: string])[] = [
  [null, '', 'invalid_request'],
  ['token', '', 'invalid_request'],
  [[], '', 'invalid_request'],
  [{}, '.token', 'invalid_request'],
  [{ token: '' }, '.token', 'invalid_request'],
  [{ token: 1 }, '.token', 'invalid_request'],
  [{ token: 'x', reference: '' }, '.reference', 'invalid_request'],
  [{ token: 'x', reference: 'r'.repeat(256) }, '.reference', 'invalid_request'],
  [{ token: 'x', referenc: 'r' }, '.referenc', 'unknown_parameter'],
];

describe.each(['decrypt', 'delete'] as const)('a batch to %s', (path) => {
  test('has a result for each item, in the order given', async () => {
    const tokens = await Promise.all(
      Array.from({ length: 70 }, (_, i) => newItem(i % 2 ? `r${i}` : undefined)),
    );
    const items = tokens.map((token, i) => (i % 2 ? { token, reference: `r${i}` } : { token })).toReversed();
    const results = await resultsOf(send(path, { items }));
    expect(results.map(({ token }) => token ?? '')).toEqual(tokens.toReversed());
    expect(
      results.every(({ deleted, data }) => (path === 'delete' ? deleted === true : data !== undefined)),
    ).toBe(true);
  });

  test('has an error for each item that is wrong, and a result for all others', async () => {
    const [bare, named] = await Promise.all([newItem(), newItem('mine')]);
    const items = [
      WRONG[0]?.[0],
      { token: bare },
      ...WRONG.slice(1).map(([item]) => item),
      { token: named },
      { token: named, reference: 'other' },
      { token: bare === '' ? '' : 'nowhere' },
      { token: named, reference: 'mine' },
      WRONG[1]?.[0],
    ];
    const results = await resultsOf(send(path, { items }));
    const errors = results.map(({ code, field, token }) => [code ?? token, field]);
    expect(errors).toEqual([
      ['invalid_request', 'body.items[0]'],
      [bare, undefined],
      ...WRONG.slice(1).map(([, field, code], i) => [code, `body.items[${i + 2}]${field}`]),
      ['reference_required', undefined],
      ['token_not_found', undefined],
      ['token_not_found', undefined],
      [named, undefined],
      ['invalid_request', `body.items[${WRONG.length + 5}]`],
    ]);
  });

  test('that is wrong itself is refused as a whole', async () => {
    const token = await newItem();
    const tooMany = Array.from({ length: 1_001 }, () => ({ token }));
    const outcomes = await Promise.all(
      [
        { items: { token } },
        { items: 'token' },
        {},
        { items: [] },
        { items: tooMany },
        { items: [{ token }], user: 'nobody' },
        { items: [{ token }], item: [] },
      ].map(async (body) => {
        const answer = await send(path, body);
        return [answer.outcome, answer.as<Result>().field];
      }),
    );
    expect(outcomes).toEqual([
      ['400 invalid_request', 'body.items'],
      ['400 invalid_request', 'body.items'],
      ['400 invalid_request', 'body.items'],
      ['400 invalid_request', 'body.items'],
      ['400 invalid_request', 'body.items'],
      ['404 key_not_found', 'body.user'],
      ['400 unknown_parameter', 'body.item'],
    ]);
    expect(await account.open('u', token)).toContain('number');
  });

  test('counts each item that was served, and no other', async () => {
    const other = await vault.account();
    await other.key('u');
    const tokens = await Promise.all([1, 2, 3].map((n) => other.store('u', { number: `${n}` })));
    const items = [...tokens.map((token) => ({ token })), { token: 'nowhere' }, {}];
    await resultsOf(send(path, { items }, other));
    expect((await vault.usage(other))[path]).toBe(3);
  });

  test('of items of another account finds none', async () => {
    const other = await vault.account();
    await other.key('u');
    const token = await newItem();
    const [result] = await resultsOf(send(path, { items: [{ token }] }, other));
    expect(result?.code).toBe('token_not_found');
    expect(await account.open('u', token)).toContain('number');
  });

  test('takes 1,000 items with the longest references, and tokens in any format', async () => {
    const other = await vault.account();
    await other.key('u');
    const items = Array.from({ length: 1_000 }, (_, i) => ({
      token: `${i}`.padEnd(200, 'x'),
      reference: 'r'.repeat(255),
    }));
    const results = await resultsOf(send(path, { items }, other));
    expect(results.map(({ code }) => code)).toEqual(items.map(() => 'token_not_found'));
  });
});

describe('a batch to decrypt', () => {
  test('gives the data as a single reading does, in its exact text', async () => {
    const text = '{"number":"4000000000000002","big":12345678901234567890,"price":1.10}';
    const answer = await account.send('POST', '/vault', {
      query: { user: 'u' },
      passphrase: PASSPHRASE,
      body: text,
    });
    const { token } = answer.as<{ token: string }>();
    const got = await send('decrypt', { items: [{ token }] });
    expect(got.text).toBe(`{"results":[{"token":"${token}","data":${text}}]}`);
  });

  test('opens an item twice that is named twice, with an entry for each', async () => {
    const token = await newItem();
    const results = await resultsOf(send('decrypt', { items: [{ token }, { token }] }));
    expect(results.map((result) => result.token)).toEqual([token, token]);
    const { data } = await account.sdk.vault.log({ user: 'u', token });
    expect(data.map(({ action }) => action)).toEqual(['decrypt', 'decrypt', 'encrypt']);
  });

  test('with a wrong passphrase is refused as a whole, and so are unknown rules', async () => {
    const token = await newItem();
    const wrong = await send('decrypt', { items: [{ token }] }, account, 'another passphrase that is wrong');
    expect(wrong.outcome).toBe('403 passphrase_wrong');
    const ruled = await send('decrypt', { items: [{ token }], rules: ['nothing'] });
    expect([ruled.outcome, ruled.as<Result>().field]).toEqual(['404 rule_not_found', 'body.rules']);
    const { data } = await account.sdk.vault.log({ user: 'u', token });
    expect(data.map(({ outcome }) => outcome).toSorted()).toEqual([
      'ok',
      'passphrase_wrong',
      'rule_not_found',
    ]);
  });

  test('notes what was refused in the log of its item', async () => {
    const token = await newItem('mine');
    await resultsOf(
      send('decrypt', { items: [{ token }, { token, reference: 'x' }, { token, reference: 'mine' }] }),
    );
    const { data } = await account.sdk.vault.log({ user: 'u', token, reference: 'mine' });
    expect(data.map(({ action, outcome }) => `${action} ${outcome}`).toSorted()).toEqual([
      'decrypt ok',
      'decrypt reference_required',
      'decrypt token_not_found',
      'encrypt ok',
    ]);
  });

  test('masks as the account and mask_fields say, and runs rules', async () => {
    const masked = await vault.account({ unmasked: false });
    await masked.key('u');
    const token = await masked.store('u', CARD);
    const [result] = await resultsOf(send('decrypt', { items: [{ token }] }, masked));
    expect(result?.data).toEqual({ number: '************1111', cvv: '***' });
    const own = await newItem(undefined, { name: 'Ada Lovelace', year: '2031' });
    await account.send('POST', '/rule', {
      query: { id: 'short' },
      body: [{ name: 'substr', input_field: 'year', output_field: 'short', args: { start: 2 } }],
    });
    const [fields] = await resultsOf(
      send('decrypt', { items: [{ token: own }], mask_fields: ['name'], rules: [] }),
    );
    expect(fields?.data?.['name']).not.toBe('Ada Lovelace');
  });

  test('of large items comes whole, in its order', async () => {
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, i) => newItem(undefined, { place: i, text: 'x'.repeat(250_000) })),
    );
    const items = [...tokens, ...tokens, ...tokens, ...tokens].map((token) => ({ token }));
    const results = await resultsOf(send('decrypt', { items }));
    expect(results.map(({ data }) => data?.['place'])).toEqual(items.map((_, i) => i % 20));
  });

  test('has an error for a damaged item alone', async () => {
    const tokens = await Promise.all([newItem(), newItem(), newItem()]);
    const kid = await vault.kidOf(account, 'u');
    const [name = ''] = await vault.raw.keys(`{${kid}.*i${tokens[1]}`);
    await vault.raw.hset(name, 'c', 'damaged');
    const results = await resultsOf(send('decrypt', { items: tokens.map((token) => ({ token })) }));
    expect(results.map(({ code, token }) => code ?? token)).toEqual([
      tokens[0],
      'integrity_failed',
      tokens[2],
    ]);
    await vault.raw.del(name);
  });
});

describe('a batch to delete', () => {
  test('needs no passphrase; of an item that is named twice the second is not found', async () => {
    const token = await newItem();
    const results = await resultsOf(send('delete', { items: [{ token }, { token }] }));
    expect(results.map(({ deleted, code }) => deleted ?? code)).toEqual([true, 'token_not_found']);
    expect((await vault.raw.keys(`*${token}*`)).length).toBe(0);
  });

  test('is in the security log item by item', async () => {
    const other = await vault.account();
    await other.key('u');
    const token = await other.store('u', CARD);
    await resultsOf(send('delete', { items: [{ token }, { token: 'nowhere' }] }, other));
    const { data } = await other.sdk.audit.list({ limit: 20 });
    const entries = data.filter(({ action }) => action === 'item.delete');
    expect(entries.map(({ object, outcome }) => `${object} ${outcome}`).toSorted()).toEqual([
      `item/u/${token} success`,
      'item/u/nowhere token_not_found',
      'key/u success',
    ]);
  });

  test('under an Idempotency-Key is done once, and its repeat gets the first reply', async () => {
    const token = await newItem();
    const request = {
      body: { user: 'u', items: [{ token }] },
      headers: { 'Idempotency-Key': 'delete-once' },
    };
    const first = await account.send('POST', '/vault/batch/delete', request);
    const second = await account.send('POST', '/vault/batch/delete', request);
    expect(second.text).toBe(first.text);
    expect(second.headers.get('Idempotency-Replayed')).toBe('true');
    const other = { ...request, body: { user: 'u', items: [{ token: 'other' }] } };
    expect((await account.send('POST', '/vault/batch/delete', other)).outcome).toBe(
      '409 idempotency_conflict',
    );
  });
});
