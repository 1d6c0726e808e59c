import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AccountClient, PASSPHRASE } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', card_holder: 'Ada Lovelace' };

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
});
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
    const { data } = await account.sdk.keys.list();
    expect(data).toContainEqual({ user: 'generated' });
  });

  test('gives every generated key another passphrase', async () => {
    const made = await Promise.all(['g1', 'g2', 'g3'].map((user) => account.sdk.keys.create({ user })));
    expect(new Set(made.map(({ passphrase }) => passphrase)).size).toBe(3);
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

  test.each([
    '',
    'a'.repeat(129),
    'iframe',
    'a b',
    'ä',
    'a/b',
    'a\n',
    'a{b}',
    'a,b',
    'a\u0000',
    7,
    null,
    [['a']],
  ])('refuses the identifier %p', async (user) => {
    const refused = await createKey({ user, passphrase: PASSPHRASE });
    expect(refused.outcome).toBe('400 invalid_request');
    expect(refused.field).toBe('body.user');
  });

  test.each(['', '{}'])('wants an identifier: body %p', async (body) => {
    expect((await createKey(body)).field).toBe('body.user');
  });

  test.each(['[]', '"x"', 'null', '7'])('refuses a body that is no object: %p', async (body) => {
    expect((await createKey(body)).outcome).toBe('400 invalid_request');
  });
});

describe('passphrases of 8 to 4096 characters', () => {
  test.each([
    ['8 characters', 'äbcdefg8'],
    ['8 characters outside the basic plane', '🔑'.repeat(8)],
    ['4096 characters', 'x'.repeat(4_096)],
    ['4096 characters of four bytes', '🔑'.repeat(4_096)],
  ])('%s are taken', async (name, passphrase) => {
    const user = name.replaceAll(' ', '-');
    expect((await createKey({ user, passphrase })).outcome).toBe('200');
    expect(await tryKey(user, passphrase)).toBe('works');
    expect(await tryKey(user, passphrase.slice(0, -2))).toBe('403 passphrase_wrong');
  });

  test.each([
    ['7 characters', '1234567'],
    ['7 characters outside the basic plane', '🔑'.repeat(7)],
    ['4097 characters', 'x'.repeat(4_097)],
    ['no character', ''],
    ['a lone surrogate', 'passphrase \ud800'],
    ['a number', 1_234_567_890],
    ['null', null],
  ])('%s are refused', async (_, passphrase) => {
    const refused = await createKey({ user: 'refused', passphrase });
    expect(refused.outcome).toBe('400 invalid_request');
    expect(refused.field).toBe('body.passphrase');
  });

  test('every byte of a long one counts', async () => {
    const common = 'x'.repeat(4_095);
    expect((await createKey({ user: 'long', passphrase: `${common}y` })).status).toBe(200);
    expect(await tryKey('long', `${common}z`)).toBe('403 passphrase_wrong');
    expect(await tryKey('long', common)).toBe('403 passphrase_wrong');
  });
});

describe('passphrases of odd characters', () => {
  const odd = [
    '  leading and trailing  ',
    'tab\tnewline\nreturn\r!',
    'percent %41 %00 %zz 100%',
    'plus+plus+plus',
    'query&user=other#fragment',
    'quotes "\' and \\ backslash',
    'null\u0000byte inside',
    'control \u0001\u001f\u007f',
    'Ünïcödé ist schön 密碼',
    'emoji 🔑👩‍👩‍👧‍👦 family',
    'rtl \u202e marks \ufeff bom',
    '{"json":["yes"]}',
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

  const near: readonly (readonly [string, string, string])[] = [
    [
      'composed and decomposed letters',
      'caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9',
      'cafe\u0301 cafe\u0301 cafe\u0301 cafe\u0301',
    ],
    ['compatible forms', 'ﬁle ﬁle ﬁle ﬁle ﬁle', 'file file file file file'],
    ['a space at the end', 'a passphrase with a space ', 'a passphrase with a space'],
    ['upper case', 'a Passphrase of two cases', 'a passphrase of two cases'],
    ['text behind a NUL', 'passphrase\u0000one and more', 'passphrase\u0000two and more'],
    ['a NUL at the end', 'passphrase of some length\u0000', 'passphrase of some length'],
    ['a byte order mark', '\ufeffpassphrase of some length', 'passphrase of some length'],
  ];
  test.each(near)('tells apart %s', async (name, right, wrong) => {
    const user = name.replaceAll(' ', '-');
    await account.key(user, right);
    expect(await tryKey(user, wrong)).toBe('403 passphrase_wrong');
    expect(await tryKey(user, right)).toBe('works');
  });
});

describe('listing keys', () => {
  const users = [
    'Zed',
    'a',
    'a-b',
    'a.b',
    'a0',
    'b',
    'k1',
    'k10',
    'k2',
    '~no'.slice(1),
    'é'.normalize('NFD').charAt(0),
  ];
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

  test.each([1, 2, 3, users.length - 1])('pages of %i make up the whole list', async (limit) => {
    const walked: string[] = [];
    for await (const { data } of client.sdk.keys.pages({ limit })) {
      expect(data.length).toBeLessThanOrEqual(limit);
      walked.push(...data.map(({ user }) => user));
    }
    expect(walked).toEqual([...users].sort());
  });

  test.each([-1, -1_000, 11, 65_536, 2 ** 53 - 1])(
    'limit %i brings all at once, with no next page',
    async (limit) => {
      const answer = await client.send('GET', '/key', { query: { limit } });
      expect(answer.as<unknown[]>()).toHaveLength(users.length);
      expect(answer.headers.has('x-vault-next-token')).toBe(false);
    },
  );

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

  test.each(['0', '00', '', 'abc', '1.5', '1e2', '0x1', '9'.repeat(30)])(
    'refuses limit %p',
    async (limit) => {
      const refused = await client.send('GET', '/key', { query: { limit } });
      expect(refused.outcome).toBe('400 invalid_request');
      expect(refused.field).toBe('query.limit');
    },
  );

  describe('next_token', () => {
    const cursorOf = async (): Promise<string> => (await client.sdk.keys.list({ limit: 2 })).next_token ?? '';
    const follow = (next_token: string, by = client) =>
      by.send('GET', '/key', { query: { limit: 2, next_token } });

    test('is refused when any character of it was changed', async () => {
      const cursor = await cursorOf();
      for (let at = 0; at < cursor.length; at++) {
        const forged = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
        expect((await follow(forged)).outcome).toBe('400 cursor_invalid');
      }
    });

    test('is refused when it was cut, lengthened or made up', async () => {
      const cursor = await cursorOf();
      for (const forged of [
        cursor.slice(0, -1),
        cursor.slice(1),
        `${cursor}A`,
        `${cursor}=`,
        'x',
        'a',
        '{}',
      ]) {
        expect((await follow(forged)).outcome).toBe('400 cursor_invalid');
      }
    });

    test('is refused to another account', async () => {
      expect((await follow(await cursorOf(), await vault.account())).outcome).toBe('400 cursor_invalid');
    });

    test('is refused on another route', async () => {
      const refused = await client.send('GET', '/vault', { query: { next_token: await cursorOf() } });
      expect(refused.outcome).toBe('400 cursor_invalid');
    });
  });
});
