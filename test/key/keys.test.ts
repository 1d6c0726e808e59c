import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', card_holder: 'Ada Lovelace' };

const vault = await openTestVault();
const account = await vault.account();
afterAll(() => vault.close());

function createKey(body: unknown, client = account) {
  return client.send('POST', '/key/', { body });
}

/** Stores a card under a key and opens it again; gives what was the outcome of the first call that failed. */
async function tryKey(user: string, passphrase: string): Promise<string> {
  const stored = await account.send('POST', '/vault/', { query: { user }, passphrase, body: CARD });
  if (stored.status !== 200) {
    return stored.outcome;
  }
  const { token } = stored.as<{ token: string }>();
  const opened = await account.send('GET', '/vault/', { query: { user, token }, passphrase });
  return opened.status === 200 && opened.text === JSON.stringify(CARD) ? 'works' : opened.outcome;
}

describe('creating a key', () => {
  test('takes a passphrase and returns it', async () => {
    const made = await account.sdk.keys.create({ user: 'given', passphrase: PASSPHRASE });
    expect(made).toEqual({ user: 'given', passphrase: PASSPHRASE });
    expect(await tryKey('given', PASSPHRASE)).toBe('works');
  });

  test('makes a passphrase when none is given, and never tells it again', async () => {
    const made = await account.sdk.keys.create({ user: 'generated' });
    expect(made.user).toBe('generated');
    expect(made.passphrase).toMatch(/^[A-Za-z0-9_-]{32,}$/);
    expect(await tryKey('generated', made.passphrase)).toBe('works');
    expect((await account.sdk.keys.create({ user: 'generated-2' })).passphrase).not.toBe(made.passphrase);
    const { data } = await account.sdk.keys.list();
    expect(data).toContainEqual({ user: 'generated' });
  });

  test('refuses an identifier that is taken, and leaves the key as it was', async () => {
    await account.key('taken');
    const again = await createKey({ user: 'taken', passphrase: 'another long passphrase' });
    expect(again.outcome).toBe('409 key_exists');
    expect(again.field).toBe('body.user');
    expect(await tryKey('taken', 'another long passphrase')).toBe('403 passphrase_wrong');
    expect(await tryKey('taken', PASSPHRASE)).toBe('works');
  });

  test('lets exactly one of many win the same identifier', async () => {
    const passphrases = Array.from({ length: 6 }, (_, n) => `passphrase of claimant number ${n}`);
    const made = await Promise.all(
      passphrases.map((passphrase) => createKey({ user: 'claimed', passphrase })),
    );
    expect(made.map(({ outcome }) => outcome).sort()).toEqual(['200', ...Array(5).fill('409 key_exists')]);
    const winner = made.findIndex(({ status }) => status === 200);
    expect(await tryKey('claimed', passphrases[winner] ?? '')).toBe('works');
  });

  test('keeps identifiers of accounts apart', async () => {
    const other = await vault.account();
    await account.key('shared-name');
    await other.key('shared-name', 'the passphrase of somebody else');
    expect(await tryKey('shared-name', PASSPHRASE)).toBe('works');
    expect(await tryKey('shared-name', 'the passphrase of somebody else')).toBe('403 passphrase_wrong');
  });

  test.each(['a', 'A'.repeat(128), 'a.b_c@d:e-9', '..', '0'])('takes the identifier %p', async (user) => {
    expect((await createKey({ user, passphrase: PASSPHRASE })).outcome).toBe('200');
  });

  test('refuses any other identifier, and whatever is no object with one', async () => {
    const names = ['', 'a'.repeat(129), 'iframe', 'a b', 'ä', 'a/b', 'a\n', 'a,b', 'a\u0000', 7, null, ['a']];
    for (const body of [...names.map((user) => ({ user, passphrase: PASSPHRASE })), '', '{}']) {
      const refused = await createKey(body);
      const field = 'body.user';
      expect([body, refused.outcome, refused.field]).toEqual([body, '400 invalid_request', field]);
    }
    for (const body of ['[]', '"x"', 'null', '7']) {
      expect((await createKey(body)).outcome).toBe('400 invalid_request');
    }
  });
});

describe('passphrases of 8 to 4096 characters', () => {
  test.each([
    ['8 characters outside the basic plane', '🔑'.repeat(8)],
    ['4096 characters', 'x'.repeat(4_096)],
    ['4096 characters of four bytes', '🔑'.repeat(4_096)],
  ])('%s are taken, and every byte counts', async (name, passphrase) => {
    const user = name.replaceAll(' ', '-');
    expect((await createKey({ user, passphrase })).outcome).toBe('200');
    expect(await tryKey(user, passphrase)).toBe('works');
    expect(await tryKey(user, `${passphrase.slice(0, -2)}🔐`)).toBe('403 passphrase_wrong');
    expect(await tryKey(user, passphrase.slice(0, -2))).not.toBe('works');
  });

  test('fewer, more, or what is no text are refused', async () => {
    for (const passphrase of [
      '1234567',
      '🔑'.repeat(7),
      'x'.repeat(4_097),
      '',
      'passphrase \ud800',
      1_234_567_890,
      null,
    ]) {
      const refused = await createKey({ user: 'refused', passphrase });
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'body.passphrase']);
    }
  });
});

describe('passphrases of odd characters', () => {
  const odd = [
    '  leading and trailing  ',
    'tab\tnewline\nreturn\r! \u0000 \u0001\u001f\u007f',
    'percent %41 %00 %zz 100% plus+plus&user=other#fragment',
    'quotes "\' and \\ backslash {"json":["yes"]}',
    'Ünïcödé 密碼 🔑👩‍👩‍👧‍👦 \u202e marks \ufeff bom',
  ];

  test.each(odd.map((passphrase, n) => [n, passphrase] as const))(
    'number %i opens by header and by query',
    async (n, passphrase) => {
      const user = `odd-${n}`;
      expect((await createKey({ user, passphrase })).as<object>()).toEqual({ user, passphrase });
      expect(await tryKey(user, passphrase)).toBe('works');
      const inQuery = await account.send('POST', '/vault/', { query: { user, passphrase }, body: CARD });
      expect(inQuery.outcome).toBe('200');
    },
  );
});

describe('listing keys', () => {
  const users = ['Zed', 'a', 'a-b', 'a.b', 'a0', 'b', 'k1', 'k10', 'k2', 'no', 'e'];
  let client: AccountClient;

  beforeAll(async () => {
    client = await vault.account();
    for (const user of users) {
      await client.key(user);
    }
  });

  test('gives them in ascending order of user, and nothing but user', async () => {
    const { data } = await client.sdk.keys.list();
    expect(data).toEqual([...users].sort().map((user) => ({ user })));
  });

  test('pages of any size make up the whole list, and limits beyond it bring all at once', async () => {
    for (const limit of [1, 3, users.length - 1]) {
      const walked: string[] = [];
      for await (const { data } of client.sdk.keys.pages({ limit })) {
        expect(data.length).toBeLessThanOrEqual(limit);
        walked.push(...data.map(({ user }) => user));
      }
      expect(walked).toEqual([...users].sort());
    }
    for (const limit of [-1, -1_000, users.length, 65_536, 2 ** 53 - 1]) {
      const answer = await client.send('GET', '/key', { query: { limit } });
      expect(answer.as<unknown[]>()).toHaveLength(users.length);
      expect(answer.headers.has('x-vault-next-token')).toBe(false);
    }
    for (const limit of ['0', '', 'abc', '1.5', '9'.repeat(30)]) {
      const refused = await client.send('GET', '/key', { query: { limit } });
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.limit']);
    }
  });

  test('a key that is made during a walk is met when it lies ahead', async () => {
    const other = await vault.account();
    await other.key('b');
    await other.key('d');
    const first = await other.sdk.keys.list({ limit: 1 });
    await other.key('a');
    await other.key('c');
    const second = await other.sdk.keys.list({ limit: 1, next_token: first.next_token });
    expect([first.data, second.data]).toEqual([[{ user: 'b' }], [{ user: 'c' }]]);
  });

  test('an account without keys has an empty list', async () => {
    expect((await (await vault.account()).sdk.keys.list()).data).toEqual([]);
  });

  test('a next_token is for its account and route alone, and as it was given', async () => {
    const next_token = (await client.sdk.keys.list({ limit: 2 })).next_token ?? '';
    const follow = async (path: string, token = next_token, by = client): Promise<string> =>
      (await by.send('GET', path, { query: { limit: 2, next_token: token } })).outcome;
    expect(await follow('/key')).toBe('200');
    expect(await follow('/key', next_token, await vault.account())).toBe('400 cursor_invalid');
    expect(await follow('/vault')).toBe('400 cursor_invalid');
    for (const forged of [next_token.slice(0, -1), next_token.slice(1), `${next_token}A`, 'x', '{}']) {
      expect(await follow('/key', forged)).toBe('400 cursor_invalid');
    }
  });
});
