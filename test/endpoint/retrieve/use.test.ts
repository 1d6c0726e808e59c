import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../../sdk/index.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query, refusalOf } from '../../helpers/clients.ts';
import { createRetrieve, type MadeEndpoint, retrieve } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { namesOf } from '../../helpers/walk.ts';

const ITEMS = 40;
const EXACT =
  '{"number":"4111111111111111","amount":1.10,"big":12345678901234567890,"e":1e400,"z":-0,' +
  '"__proto__":{"admin":true},"constructor":1,"":"empty","s":"ä \\u0000","deep":[[{"a":[]}]],"cvv":"123"}';

let vault: TestVault;
let account: AccountClient;
let other: AccountClient;
let open: MadeEndpoint;
let plain: string;
let named: string;
let tokens: string[];

beforeAll(async () => {
  vault = await openTestVault();
  [account, other] = [await vault.account(), await vault.account()];
  await Promise.all([account.key('u'), account.key('v'), account.key('empty'), other.key('u')]);
  tokens = [];
  for (let n = 0; n < ITEMS; n++) {
    const reference = n % 4 === 0 ? undefined : `${n % 2 ? 'odd' : 'even'}-${n}`;
    tokens.push(await account.store('u', { number: `60110009${n}`, n }, { reference }));
  }
  plain = tokens[0] ?? '';
  named = tokens[1] ?? '';
  open = await createRetrieve(account, 'u');
});
afterAll(() => vault.close());

function use(query: Query = {}, endpoint = open): Promise<Answer> {
  return retrieve(vault, endpoint, { query });
}
function listed(query: Query = {}): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user: 'u', ...query } });
}
function nextOf({ headers }: Answer): string | undefined {
  return headers.get('x-vault-next-token') ?? undefined;
}
function shownIn(answer: Answer): string[] {
  return namesOf(answer.as<Tree>());
}

describe('with a token', () => {
  test('gives the stored object itself, with its exact text', async () => {
    const token = await account.store('u', EXACT);
    const shown = await use({ token });
    await account.sdk.vault.delete({ user: 'u', token });
    expect([shown.status, shown.text]).toEqual([200, EXACT]);
    expect(shown.headers.get('content-type')).toBe('application/json');
    expect(shown.headers.get('cache-control')).toBe('no-store');
    expect(shown.headers.get('access-control-allow-origin')).toBe('*');
  });

  test('needs the reference of an item that has one', async () => {
    expect((await use({ token: named })).outcome).toBe('400 reference_required');
    expect((await use({ token: named, reference: 'odd-1' })).json).toEqual({ number: '601100091', n: 1 });
    const locked = await createRetrieve(account, 'u', { reference: 'odd-1' });
    expect((await use({ token: named }, locked)).json).toEqual({ number: '601100091', n: 1 });
    expect((await use({ token: named, reference: 'odd-1' }, locked)).status).toBe(200);
  });

  test('what is not there, or not reached, is one and the same 404', async () => {
    const theirs = await other.store('u', { number: '1' });
    const elsewhere = await account.store('v', { number: '2' });
    const answers = await Promise.all([
      use({ token: 'f'.repeat(64) }),
      use({ token: 'no token' }),
      use({ token: plain.slice(0, -1) }),
      use({ token: plain.toUpperCase() }),
      use({ token: `${plain}\u0000` }),
      use({ token: plain, reference: 'odd-1' }),
      use({ token: named, reference: 'odd-2' }),
      use({ token: named, reference: 'odd-' }),
      use({ token: theirs }),
      use({ token: elsewhere }),
    ]);
    const [first] = answers;
    expect(first?.outcome).toBe('404 token_not_found');
    for (const answer of answers) {
      expect(refusalOf(answer)).toEqual(refusalOf(first ?? answer));
    }
  });
});

describe('without a token', () => {
  test('gives the very tree that the account lists', async () => {
    const tree = await use();
    expect(tree.text).toBe((await listed()).text);
    expect(shownIn(tree)).toHaveLength(ITEMS);
    expect(nextOf(tree)).toBeUndefined();
    for (const limit of [-1, -7, 1_000]) {
      expect((await use({ limit })).text).toBe(tree.text);
    }
  });

  test('takes references and prefixes as the account’s listing does', async () => {
    for (const filter of [
      { reference: 'odd-3' },
      { reference: 'odd-' },
      { reference_prefix: 'odd-' },
      { reference_prefix: 'odd-1' },
      { reference_prefix: 'even-2', limit: 2 },
      { reference: 'odd-3', reference_prefix: 'odd' },
      { reference: 'odd-3', reference_prefix: 'even' },
    ]) {
      expect((await use(filter)).text).toBe((await listed(filter)).text);
    }
    expect((await use({ reference: 'nothing' })).text).toBe('{"u":[]}');
  });

  test('with decrypt_all gives each item with its data, as the account’s own does', async () => {
    const mine = await account.send('GET', '/vault', {
      query: { user: 'u', decrypt_all: true },
      passphrase: PASSPHRASE,
    });
    for (const decrypt_all of ['true', 't', '1']) {
      expect((await use({ decrypt_all })).text).toBe(mine.text);
    }
    for (const decrypt_all of ['false', 'f', '0']) {
      expect((await use({ decrypt_all })).text).toBe((await listed()).text);
    }
    expect((await use({ decrypt_all: true, reference: 'odd-3' })).json).toMatchObject({
      u: [{ token: tokens[3], reference: 'odd-3', data: { n: 3 } }],
    });
  });

  test('ignores what would widen it or change its view', async () => {
    const wide = {
      user: 'v',
      passphrase: PASSPHRASE,
      rules: 'missing',
      mask_fields: 'n',
      account: other.aid,
    };
    expect((await use(wide)).text).toBe((await use()).text);
    expect((await use({ ...wide, token: plain, return_card_metadata: true })).text).toBe(
      '{"number":"601100090","n":0}',
    );
    expect((await use({ stored_after: '2999-01-01T00:00:00Z' })).text).toBe((await use()).text);
  });
});

describe('pages', () => {
  const walk = async (query: Query): Promise<string[]> => {
    const walked: string[] = [];
    let next_token: string | undefined;
    do {
      const page = await use({ ...query, next_token });
      expect(page.outcome).toBe('200');
      expect(shownIn(page).length).toBeLessThanOrEqual(Number(query['limit']));
      walked.push(...shownIn(page));
      next_token = nextOf(page);
    } while (next_token !== undefined);
    return walked;
  };

  test.each([
    [{ limit: 1 }, {}],
    [{ limit: 7, decrypt_all: true }, {}],
    [{ limit: 3, reference_prefix: 'odd-' }, { reference_prefix: 'odd-' }],
    [{ limit: 2, reference: 'odd-5' }, { reference: 'odd-5' }],
  ] as const)('of %j make up the whole, in its order', async (query, filter) => {
    expect(await walk(query)).toEqual(shownIn(await listed(filter)));
  });

  test('go on while items come and move', async () => {
    const first = await use({ limit: 30 });
    const late = await account.store('u', { number: '999' });
    await account.sdk.vault.update({ user: 'u', token: plain, data: { n: 0 } });
    const second = await use({ limit: 30, next_token: nextOf(first) });
    const names = [...shownIn(first), ...shownIn(second)];
    expect(new Set(names).size).toBe(ITEMS + 1);
    expect(names.slice(-2)).toEqual([`u ${late}`, `u ${plain}`]);
    await account.sdk.vault.delete({ user: 'u', token: late });
  });

  test.each(['0', '', 'x', '1.5', '1e3', '0x10', '+1', '01', ' 1', '99999999999999999'])(
    'limit %p is refused',
    async (limit) => {
      const refused = await use({ limit });
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.limit']);
    },
  );

  test.each([
    ['decrypt_all', 'yes'],
    ['reference', 'r'.repeat(256)],
    ['reference_prefix', 'r'.repeat(256)],
    ['next_token', ''],
  ])('%s=%p is refused', async (name, value) => {
    const refused = await use({ [name]: value });
    expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', `query.${name}`]);
  });
});

describe('a cursor', () => {
  const invalid = async (
    next_token: string | undefined,
    query: Query = {},
    endpoint = open,
  ): Promise<void> => {
    expect(next_token).not.toBeUndefined();
    expect((await use({ limit: 3, ...query, next_token }, endpoint)).outcome).toBe('400 cursor_invalid');
  };
  const cursor = async (query: Query = {}, endpoint = open): Promise<string> =>
    nextOf(await use({ limit: 3, ...query }, endpoint)) ?? '';

  test('may be used with another limit, and again and again', async () => {
    const next_token = await cursor();
    expect(shownIn(await use({ limit: 5, next_token }))).toEqual(shownIn(await use()).slice(3, 8));
    expect(shownIn(await use({ limit: -1, next_token }))).toEqual(shownIn(await use()).slice(3));
  });

  test('of another endpoint of the same key, or with other filters, is refused', async () => {
    const twin = await createRetrieve(account, 'u');
    const referenced = await createRetrieve(account, 'u', { reference: 'odd-1' });
    await invalid(await cursor({}, twin));
    await invalid(await cursor(), {}, twin);
    await invalid(await cursor(), {}, referenced);
    await invalid(await cursor(), { decrypt_all: true });
    await invalid(await cursor({ decrypt_all: true }));
    await invalid(await cursor(), { reference: 'odd-1' });
    await invalid(await cursor(), { reference_prefix: 'odd' });
    await invalid(await cursor({ reference_prefix: 'odd' }));
    await invalid(await cursor({ reference_prefix: 'odd' }), { reference: 'odd' });
  });

  test('of an endpoint locked to a token is refused, and so is any in it', async () => {
    const locked = await createRetrieve(account, 'u', { token: plain });
    await invalid(await cursor(), {}, locked);
    expect(nextOf(await use({ limit: 1 }, locked))).toBeUndefined();
  });

  test('of the account’s own listing is refused, and so is the endpoint’s there', async () => {
    const mine = nextOf(await listed({ limit: 3 }));
    await invalid(mine);
    const all = await account.send('GET', '/vault', {
      query: { user: 'u', limit: 3, decrypt_all: true },
      passphrase: PASSPHRASE,
    });
    await invalid(nextOf(all), { decrypt_all: true });
    expect((await listed({ limit: 3, next_token: await cursor() })).outcome).toBe('400 cursor_invalid');
  });

  test('of an endpoint that was deleted is refused by the next one of the same id', async () => {
    const first = await createRetrieve(account, 'u', { unique_id: 'reborn' });
    const next_token = await cursor({}, first);
    await account.send('DELETE', '/retrieve/reborn');
    await invalid(next_token, {}, await createRetrieve(account, 'u', { unique_id: 'reborn' }));
  });

  test('works through another server of the vault', async () => {
    const second = await vault.secondServer();
    const query = { limit: -1, next_token: await cursor() };
    expect((await retrieve(second, open, { query })).text).toBe((await use(query)).text);
    await second.close();
  });
});
