import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { TokenInfo, Tree } from '../../sdk/index.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { Answer, Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault();
const account = await vault.account();
afterAll(() => vault.close());

function list(query: Query = {}, client = account): Promise<Answer> {
  return client.send('GET', '/vault/', { query });
}
function tokensOf(tree: Tree): string[] {
  return Object.values(tree).flatMap((items) => items.map(({ token }) => token));
}
async function listed(query: Query, client = account): Promise<string[]> {
  const answer = await list(query, client);
  expect(answer.outcome).toBe('200');
  return tokensOf(answer.as<Tree>());
}

/** Tokens in the order of every listing: by time, and by token where the time is the same. */
function inOrder(infos: readonly Pick<TokenInfo, 'stored_at' | 'token'>[]): string[] {
  return infos
    .map(({ stored_at, token }) => `${stored_at} ${token}`)
    .sort()
    .map((line) => line.slice(line.indexOf(' ') + 1));
}

describe('the tree', () => {
  test('has keys in ascending order, each with its items in order of time', async () => {
    const client = await vault.account();
    for (const user of ['b', 'a10', 'a', 'B']) {
      await client.key(user);
    }
    const stored: Record<string, TokenInfo[]> = { B: [], a: [], a10: [], b: [] };
    for (let n = 0; n < 24; n++) {
      const user = ['b', 'a10', 'a', 'B'][n % 4] ?? '';
      const item = { user, data: { number: `${n}` }, reference: n % 3 === 0 ? `r${n}` : undefined };
      stored[user]?.push(await client.sdk.vault.store(item));
    }
    const answer = await list({}, client);
    expect(answer.text.match(/"(?:a|b|B|a10)":\[/g)).toEqual(['"B":[', '"a":[', '"a10":[', '"b":[']);
    const tree = answer.as<Tree>();
    for (const [user, infos] of Object.entries(stored)) {
      expect(tree[user]?.map(({ token }) => token)).toEqual(inOrder(infos));
    }
    for (const items of Object.values(tree)) {
      const times = items.map(({ stored_at }) => stored_at);
      expect(times).toEqual(times.toSorted());
    }
  });

  test('tells of an item its token, its time, and its reference where it has one', async () => {
    const client = await vault.account();
    await client.key('u');
    const plain = await client.sdk.vault.store({ user: 'u', data: { number: '1' } });
    const reference = 'ünï "quoted"\n';
    const named = await client.sdk.vault.store({ user: 'u', data: { number: '1' }, reference });
    const { data } = await client.sdk.vault.list();
    expect(data['u']).toHaveLength(2);
    expect(data['u']).toContainEqual({ token: plain.token, stored_at: plain.stored_at });
    expect(data['u']).toContainEqual({ token: named.token, reference, stored_at: named.stored_at });
  });

  test('of an account without items is empty', async () => {
    const client = await vault.account();
    expect((await list({}, client)).text).toBe('{}');
    await client.key('empty');
    expect((await list({}, client)).text).toBe('{}');
    expect((await list({ user: 'empty' }, client)).text).toBe('{"empty":[]}');
    expect((await list({ user: 'nobody' }, client)).outcome).toBe('404 key_not_found');
  });

  test('has keys whose names every object has, as keys like any', async () => {
    const client = await vault.account();
    const users = ['__proto__', 'constructor', 'toString'];
    for (const user of users) {
      await client.key(user);
      await client.store(user, { number: '1' });
    }
    const { data } = await client.sdk.vault.list();
    expect(Object.keys(data)).toEqual(users);
    expect(await Array.fromAsync(client.sdk.vault.decryptAll({ user: '__proto__' }))).toHaveLength(1);
  });

  test('has keys far behind hundreds of others, in pages too', async () => {
    const client = await vault.account();
    await client.key('a');
    await client.key('z');
    const tokens = [await client.store('a', { number: '1' }), await client.store('z', { number: '1' })];
    // Keys without items: the names of some that are just being deleted.
    const names = Array.from({ length: 600 }, (_, n) => [0, `k${1_000 + n}`]).flat();
    await vault.raw.zadd(redisKeys.keyDirectory(client.aid), ...names);
    expect(await listed({}, client)).toEqual(tokens);
    expect(await listed({ limit: -1 }, client)).toEqual(tokens);
    const first = await list({ limit: 1 }, client);
    const next_token = first.headers.get('x-vault-next-token') ?? '';
    expect(await listed({ limit: 1, next_token }, client)).toEqual(tokens.slice(1));
  });
});

describe('one token', () => {
  let plain: string;
  let named: string;
  beforeAll(async () => {
    await account.key('one');
    plain = await account.store('one', { number: '1' });
    named = await account.store('one', { number: '1' }, { reference: 'customer' });
  });

  test('lists just that item, with or without its reference', async () => {
    expect(Object.keys((await list({ user: 'one', token: plain })).as<Tree>())).toEqual(['one']);
    expect(await listed({ user: 'one', token: plain })).toEqual([plain]);
    expect(await listed({ user: 'one', token: named })).toEqual([named]);
    expect(await listed({ user: 'one', token: named, reference: 'customer' })).toEqual([named]);
  });

  test('is unknown under a wrong reference, or one that it does not have', async () => {
    expect((await list({ user: 'one', token: named, reference: 'other' })).outcome).toBe(
      '404 token_not_found',
    );
    expect((await list({ user: 'one', token: plain, reference: 'customer' })).outcome).toBe(
      '404 token_not_found',
    );
    expect((await list({ user: 'one', token: 'nothing' })).outcome).toBe('404 token_not_found');
  });

  test('needs the identifier of its key', async () => {
    const refused = await list({ token: plain });
    expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.key']);
  });
});

describe('references', () => {
  const plain = ['order', 'order-1', 'order-10', 'order-2', 'Order-1'];
  const odd = ['ördér', '🔑', '🔑🔑', 'x'.repeat(255), 'order-1\u0000', '*', 'order-?'];
  const references = [...plain, ...odd];
  const tokens = new Map<string, string>();
  const infos: TokenInfo[] = [];
  beforeAll(async () => {
    await account.key('refs');
    await account.key('refs-too');
    for (const reference of references) {
      const info = await account.sdk.vault.store({ user: 'refs', data: { number: '1' }, reference });
      tokens.set(reference, info.token);
      infos.push(info);
    }
    await account.store('refs', { number: '1' });
    tokens.set('too', await account.store('refs-too', { number: '1' }, { reference: 'order-1' }));
  });

  test('are found exactly', async () => {
    for (const reference of references) {
      expect(await listed({ user: 'refs', reference })).toEqual([tokens.get(reference) ?? '']);
    }
  });

  test('are found under every key when none is named', async () => {
    expect(await listed({ reference: 'order-1' })).toEqual([
      tokens.get('order-1') ?? '',
      tokens.get('too') ?? '',
    ]);
    expect((await list({ reference: 'order-2' })).text).not.toContain('refs-too');
  });

  test('that nobody has give an empty tree', async () => {
    expect((await list({ reference: 'nothing' })).text).toBe('{}');
    expect((await list({ user: 'refs', reference: 'orde' })).text).toBe('{"refs":[]}');
  });

  test('are found by a prefix, all that begin with it, in order of time', async () => {
    for (const prefix of [...references, 'o', 'order-', 'Order', 'ö', 'x', 'nothing']) {
      const expected = inOrder(infos.filter(({ reference }) => reference?.startsWith(prefix)));
      expect(await listed({ user: 'refs', reference_prefix: prefix })).toEqual(expected);
    }
  });

  test('a prefix and a reference are both asked for', async () => {
    expect(await listed({ user: 'refs', reference: 'order-1', reference_prefix: 'order' })).toEqual([
      tokens.get('order-1') ?? '',
    ]);
    expect(await listed({ user: 'refs', reference: 'order-1', reference_prefix: 'x' })).toEqual([]);
  });

  test('a prefix is at least one character and at most 255', async () => {
    expect((await list({ reference_prefix: 'x'.repeat(256) })).field).toBe('query.reference_prefix');
  });
});

describe('times', () => {
  const tokens: string[] = [];
  const at = Date.parse('2026-03-01T12:00:00.000Z');
  const text = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

  beforeAll(async () => {
    await account.key('times');
    const kid = await vault.kidOf(account, 'times');
    for (let n = 0; n < 6; n++) {
      const token = await account.store('times', { number: `${n}` }, { reference: `t${n}` });
      // Half a second apart: the index alone knows the time.
      const place = vault.opened.stores.itemStore.bucketOf(kid, token);
      await vault.raw.zadd(redisKeys.times(place), at + n * 500, token);
      tokens.push(token);
    }
  });

  const cases: readonly (readonly [string, Query, readonly number[]])[] = [
    ['stored_after is inclusive', { stored_after: text(at + 1_000) }, [2, 3, 4, 5]],
    ['stored_before is exclusive', { stored_before: text(at + 1_000) }, [0, 1]],
    ['both together', { stored_after: text(at + 1_000), stored_before: text(at + 2_000) }, [2, 3]],
    ['an empty span', { stored_after: text(at + 1_000), stored_before: text(at + 1_000) }, []],
    ['after all time', { stored_after: '9999-12-31T23:59:59Z' }, []],
    ['in pages', { stored_after: text(at + 1_000), limit: 2 }, [2, 3]],
  ];
  test.each(cases)('%s', async (_, query, expected) => {
    expect(await listed({ user: 'times', ...query })).toEqual(expected.map((n) => tokens[n] ?? ''));
  });

  test('that are none are refused', async () => {
    for (const time of [
      '2026-03-01',
      '2026-03-01T12:00:00',
      '2026-02-30T00:00:00Z',
      '1772366400',
      '',
      'now',
    ]) {
      for (const name of ['stored_after', 'stored_before']) {
        const refused = await list({ [name]: time });
        expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', `query.${name}`]);
        expect(refused.text).not.toContain(time === '' ? '\u0000' : `"${time}"`);
      }
    }
  });
});

describe('limits', () => {
  test('that are none are refused', async () => {
    for (const limit of ['0', '-0', '', 'all', '1.0', '1e3', ' 5', '9'.repeat(20)]) {
      const refused = await list({ limit });
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.limit']);
    }
  });

  test('below zero, or at least as many as there are, bring everything', async () => {
    for (const limit of [-1, -5, 13, 1_000_000_000, Number.MAX_SAFE_INTEGER]) {
      const answer = await list({ user: 'refs', limit });
      expect(tokensOf(answer.as<Tree>())).toHaveLength(13);
      expect(answer.headers.has('x-vault-next-token')).toBe(false);
    }
    expect((await list({ user: 'refs', limit: 12 })).headers.has('x-vault-next-token')).toBe(true);
  });
});
