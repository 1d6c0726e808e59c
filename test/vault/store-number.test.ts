import { afterAll, describe, expect, test } from 'bun:test';
import { type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

function store(body: unknown, query: Query = {}): Promise<Answer> {
  return account.send('POST', '/vault', { query: { user: 'u', ...query }, passphrase: PASSPHRASE, body });
}

/** The token of a number that is given in the plainest way. */
function tokenOf(number: string): Promise<string> {
  return account.store('u', { number });
}
function tokenIn(answer: Answer): string {
  return answer.as<{ token: string }>().token;
}

describe('the number in the body', () => {
  test('is found under each name, the first that serves', async () => {
    for (const [body, number] of [
      [{ other: 'x', card_number: '4000' }, '4000'],
      [{ other: 'x', account_number: '4000' }, '4000'],
      [{ other: 'x', n: '4000' }, '4000'],
      [{ number: '4', n: '3', account_number: '2', card_number: '1' }, '1'],
      [{ card_number: '', account_number: null, n: 'unknown', number: '4' }, '4'],
      [{ card_number: ['9'], account_number: { number: '9' }, n: 1.5, number: '4' }, '4'],
    ] as const) {
      expect(tokenIn(await store(body))).toBe(await tokenOf(number));
    }
  });

  test('counts by its digits where it is an integer', async () => {
    for (const digits of ['0', '4111111111111111', '1234567890123456789012345678901234567890']) {
      const stored = await store(`{"card_number":${digits}}`);
      expect(tokenIn(stored)).toBe(await tokenOf(digits));
      expect(await account.open('u', tokenIn(stored))).toBe(`{"number":"${digits}"}`);
      expect(await account.open('u', tokenIn(await store(`{"card_number":${digits}}`)))).toBe(
        `{"card_number":${digits}}`,
      );
    }
  });

  test('counts exactly as it is given: spaces, dashes and letters too', async () => {
    const written = [
      '4111111111111111',
      '4111 1111 1111 1111',
      '4111-1111-1111-1111',
      ' 4111111111111111',
      '4111111111111111 ',
      'DE89 3704',
      'de89 3704',
    ];
    const tokens = await Promise.all(written.map(tokenOf));
    expect(new Set(tokens).size).toBe(written.length);
    expect(await Promise.all(written.map(tokenOf))).toEqual(tokens);
  });
});

describe('the number in the query', () => {
  test('is found under each name, and is not stored', async () => {
    for (const name of ['number', 'card_number', 'n', 'account_number']) {
      const query = { [name]: '4000000000000028' };
      expect(tokenIn(await store({ holder: 'Ada' }, query))).toBe(await tokenOf('4000000000000028'));
      const again = await store({ holder: 'Ada' }, query);
      expect(await account.open('u', tokenIn(again))).toBe('{"holder":"Ada"}');
    }
  });

  test('has its spaces as plus signs or percent signs', async () => {
    const target = (text: string) =>
      account.send('POST', `/vault?user=u&number=${text}`, { passphrase: PASSPHRASE, body: {} });
    const token = await tokenOf('41 11');
    expect(tokenIn(await target('41+11'))).toBe(token);
    expect(tokenIn(await target('41%2011'))).toBe(token);
    expect(tokenIn(await target('41%2B11'))).toBe(await tokenOf('41+11'));
  });
});

test('without a number nothing is stored', async () => {
  const other = await vault.account();
  await other.key('u');
  for (const [body, query] of [
    [{ holder: 'Ada' }, {}],
    [{ card_number: 'abc' }, {}],
    [{ card_number: 4111.5, list: [{ number: '4111' }], Card_Number: '4111', pan: '4111' }, {}],
    [{}, { number: 'abc' }],
    [{}, { number: '', n: '' }],
  ] as const) {
    const given = { query: { user: 'u', ...query }, passphrase: PASSPHRASE, body };
    expect((await other.send('POST', '/vault', given)).outcome).toBe('400 number_missing');
  }
  expect((await other.sdk.vault.list()).data).toEqual({});
});

describe('what a store answers', () => {
  test('is token, user and time, and the reference where there is one', async () => {
    const plain = await account.sdk.vault.store({ user: 'u', data: { number: '55' } });
    expect(Object.keys(plain).sort()).toEqual(['created', 'stored_at', 'token', 'user', 'version']);
    const named = await account.sdk.vault.store({
      user: 'u',
      data: { number: '55' },
      reference: 'customer 1',
    });
    expect(named).toEqual({
      token: named.token,
      user: 'u',
      reference: 'customer 1',
      created: true,
      version: named.version,
      stored_at: named.stored_at,
    });
    for (const { stored_at } of [plain, named]) {
      expect(stored_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(Math.abs(Date.parse(stored_at) - Date.now())).toBeLessThan(60_000);
    }
  });

  test('a reference is any text up to 255 characters', async () => {
    for (const reference of [
      'customer/1?x=y&z',
      'ünïcödé 密碼 🔑',
      '🔑'.repeat(255),
      'line\nbreak\u0000',
      '0',
    ]) {
      const info = await account.sdk.vault.store({ user: 'u', data: { number: '56' }, reference });
      expect(info.reference).toBe(reference);
      const opened = await account.sdk.vault.decrypt({ user: 'u', token: info.token, reference });
      expect(opened).toEqual({ number: '56' });
    }
    for (const reference of ['x'.repeat(256), '🔑'.repeat(256)]) {
      const refused = await store({ number: '56' }, { reference });
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.reference']);
    }
  });

  test('refusals name what is missing', async () => {
    const body = { number: '1' };
    expect((await account.send('POST', '/vault', { passphrase: PASSPHRASE, body })).field).toBe('query.user');
    expect((await account.send('POST', '/vault', { query: { user: 'u' }, body })).field).toBe(
      'query.passphrase',
    );
    expect((await store(body, { user: 'nobody' })).outcome).toBe('404 key_not_found');
    expect(
      (await account.send('POST', '/vault', { query: { user: 'u' }, passphrase: 'wrong one', body })).outcome,
    ).toBe('403 passphrase_wrong');
  });
});
