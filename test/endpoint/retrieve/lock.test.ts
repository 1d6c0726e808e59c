import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../../sdk/index.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query, refusalOf } from '../../helpers/clients.ts';
import { createRetrieve, type MadeEndpoint, retrieve } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

/** The items of the key: a name, which is also what their data say, and a reference. */
const ITEMS = [
  ['A', 'r1'],
  ['B', 'r1'],
  ['C', undefined],
  ['D', 'r2'],
  ['E', 'r1x'],
] as const;

let vault: TestVault;
let account: AccountClient;
/** Tokens by the names of their items; W is another key's, X another account's. */
const tokens = new Map<string, string>();
const endpoints = new Map<string, MadeEndpoint>();

function tokenOf(name: string): string {
  return tokens.get(name) ?? '';
}

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  const other = await vault.account();
  await Promise.all([account.key('u'), account.key('w'), other.key('u')]);
  for (const [n, [name, reference]] of ITEMS.entries()) {
    tokens.set(name, await account.store('u', { number: `${n}`, name }, { reference }));
  }
  tokens.set('W', await account.store('w', { number: '1', name: 'W' }, { reference: 'r1' }));
  tokens.set('X', await other.store('u', { number: '1', name: 'X' }, { reference: 'r1' }));
  const locks: readonly (readonly [string, Query])[] = [
    ['none', {}],
    ['token', { token: tokenOf('A') }],
    ['reference', { reference: 'r1' }],
    ['both', { token: tokenOf('A'), reference: 'r1' }],
  ];
  for (const [lock, query] of locks) {
    endpoints.set(lock, await createRetrieve(account, 'u', query));
  }
});
afterAll(() => vault.close());

function made(lock: string): Pick<MadeEndpoint, 'url' | 'secret'> {
  return endpoints.get(lock) ?? { url: '/none', secret: '' };
}

/** A search as it stands in a URL: `@A` is the token of A, `%@A` the same with each character encoded. */
function searchOf(text: string): string {
  return text
    .replaceAll(/%@([A-Z])/g, (_, name) =>
      [...Buffer.from(tokenOf(name))].map((byte) => `%${byte.toString(16)}`).join(''),
    )
    .replaceAll(/@([A-Z])/g, (_, name) => tokenOf(name));
}

function nameOf(token: string): string {
  return [...tokens].find(([, value]) => value === token)?.[0] ?? token;
}

/** What a reply shows: `A` an object, `[A B]` a tree, `[A+ B+]` one with data, otherwise status and code. */
function shownBy(answer: Answer): string {
  if (answer.status !== 200) {
    return answer.outcome;
  }
  const { name, u } = answer.as<{ name?: string } & Tree>();
  if (typeof name === 'string') {
    return name;
  }
  expect(Object.keys(answer.as<Tree>())).toEqual(['u']);
  const names = (u ?? []).map(({ token, data }) => {
    expect(data === undefined || data['name'] === nameOf(token)).toBe(true);
    return nameOf(token) + (data === undefined ? '' : '+');
  });
  return `[${names.join(' ')}]`;
}

const NEEDED = '400 reference_required';
const BAD = '400 invalid_request';
const TWICE = '400 duplicate_parameter';
const OUT = '403 endpoint_out_of_scope';
const GONE = '404 token_not_found';
const ALL = '[A B C D E]';
const ALL_OPEN = '[A+ B+ C+ D+ E+]';

/** What is asked for, and what an endpoint with no lock, one token's, one reference's and both shows of it. */
const CASES: readonly (readonly [string, string, string, string, string, string])[] = [
  ['the token, with its reference', 'token=@A&reference=r1', 'A', 'A', 'A', 'A'],
  ['the token alone', 'token=@A', NEEDED, NEEDED, 'A', 'A'],
  ['another token of the reference', 'token=@B&reference=r1', 'B', OUT, 'B', OUT],
  ['another token of the reference, alone', 'token=@B', NEEDED, OUT, 'B', OUT],
  ['a token without a reference', 'token=@C', 'C', OUT, GONE, OUT],
  ['a token of another reference', 'token=@D&reference=r2', 'D', OUT, OUT, OUT],
  ['a token of another reference, alone', 'token=@D', NEEDED, OUT, GONE, OUT],
  ['the token under another reference', 'token=@A&reference=r2', GONE, GONE, OUT, OUT],
  ['a token of another reference under this one', 'token=@D&reference=r1', GONE, OUT, GONE, OUT],
  ['another key’s token', 'token=@W&reference=r1', GONE, OUT, GONE, OUT],
  ['another account’s token', 'token=@X&reference=r1', GONE, OUT, GONE, OUT],
  ['a token that is not there', 'token=nothing&reference=r1', GONE, OUT, GONE, OUT],
  ['more than the token', 'token=@A0&reference=r1', GONE, OUT, GONE, OUT],
  ['an empty token', 'token=', BAD, BAD, BAD, BAD],
  ['two tokens', 'token=@A&token=@B', TWICE, TWICE, TWICE, TWICE],
  ['the token twice', 'token=@A&token=@A&reference=r1', TWICE, TWICE, TWICE, TWICE],
  ['two tokens, one name encoded', 'token=@A&%74oken=@B', TWICE, TWICE, TWICE, TWICE],
  ['the token, percent-encoded', 'token=%@A&reference=%72%31', 'A', 'A', 'A', 'A'],
  ['a token that is no UTF-8', 'token=%ff', BAD, BAD, BAD, BAD],
  ['a list of tokens', 'token[]=@D', ALL, '[A]', '[A B]', '[A]'],
  ['a member of an object', 'reference[$ne]=r1', ALL, '[A]', '[A B]', '[A]'],
  ['nothing', '', ALL, '[A]', '[A B]', '[A]'],
  ['all of it decrypted', 'decrypt_all=t', ALL_OPEN, '[A+]', '[A+ B+]', '[A+]'],
  ['all without a limit', 'decrypt_all=t&limit=-1', ALL_OPEN, '[A+]', '[A+ B+]', '[A+]'],
  ['the reference', 'reference=r1', '[A B]', '[A]', '[A B]', '[A]'],
  ['the reference, decrypted', 'reference=r1&decrypt_all=t', '[A+ B+]', '[A+]', '[A+ B+]', '[A+]'],
  ['another reference', 'reference=r2', '[D]', '[]', OUT, OUT],
  ['a reference that is longer', 'reference=r1x', '[E]', '[]', OUT, OUT],
  ['an empty reference', 'reference=', BAD, BAD, BAD, BAD],
  ['two references', 'reference=r1&reference=r2', TWICE, TWICE, TWICE, TWICE],
  ['a prefix of all', 'reference_prefix=r', '[A B D E]', '[A]', '[A B]', '[A]'],
  ['a prefix of another', 'reference_prefix=r2', '[D]', '[]', '[]', '[]'],
  ['an empty prefix', 'reference_prefix=', BAD, BAD, BAD, BAD],
  ['another key', 'user=w&decrypt_all=t', ALL_OPEN, '[A+]', '[A+ B+]', '[A+]'],
  ['a fragment', 'token=@A&reference=r1#&token=@B', 'A', 'A', 'A', 'A'],
];

const LOCKS = ['none', 'token', 'reference', 'both'] as const;

test.each(LOCKS)('an endpoint with the lock %s shows of each request what it may', async (lock) => {
  const { url, secret } = made(lock);
  for (const [name, asked, ...shown] of CASES) {
    const search = searchOf(asked);
    const answer = await retrieve(vault, { url: search === '' ? url : `${url}?${search}`, secret });
    expect([name, shownBy(answer)]).toEqual([name, shown[LOCKS.indexOf(lock)] ?? '']);
  }
});

describe('what lies outside a lock', () => {
  test('is refused in the same words whether it is there or not', async () => {
    const answers = await Promise.all(
      ['B', 'C', 'W', 'X', 'nothing'].map((name) => {
        const token = tokens.get(name) ?? 'nothing at all';
        return retrieve(vault, made('token'), { query: { token, reference: 'r1' } });
      }),
    );
    for (const answer of answers) {
      expect(refusalOf(answer)).toEqual(refusalOf(answers[0] ?? answer));
    }
  });

  test('is logged as refused and not counted when it is asked for', async () => {
    const log = { user: 'u', token: tokenOf('B'), reference: 'r1' };
    const before = [(await account.sdk.vault.log(log)).data.length, await vault.usage(account)];
    await retrieve(vault, made('token'), { query: { token: tokenOf('B'), reference: 'r1' } });
    await retrieve(vault, made('both'), { query: { reference: 'r2', decrypt_all: true } });
    const after = [(await account.sdk.vault.log(log)).data.length, await vault.usage(account)];
    const reads = { log: 1, api_requests: 1 };
    const [, usage] = before as [number, Record<string, number>];
    expect((await account.sdk.vault.log(log)).data[0]).toMatchObject({
      ...{ action: 'decrypt', source: 'retrieve', outcome: 'endpoint_out_of_scope' },
      ...{ actor: account.name, endpoint: made('token').url.slice('/v1/retrieve/'.length) },
    });
    expect(after).toEqual([
      Number(before[0]) + 1,
      {
        ...usage,
        log: (usage['log'] ?? 0) + reads.log,
        api_requests: (usage['api_requests'] ?? 0) + reads.api_requests,
      },
    ]);
  });
});

describe('a lock', () => {
  const reads = async (query: Query, asked: Query): Promise<string> =>
    shownBy(await retrieve(vault, await createRetrieve(account, 'u', query), { query: asked }));

  test('to a token that is not there reaches nothing, until it is stored', async () => {
    const body = { number: '990', name: 'N' };
    const token = await account.store('u', body);
    tokens.set('N', token);
    await account.sdk.vault.delete({ user: 'u', token });
    const endpoint = await createRetrieve(account, 'u', { token });
    const seen = async (query: Query): Promise<string> => shownBy(await retrieve(vault, endpoint, { query }));
    expect(await seen({ token })).toBe(GONE);
    expect(await seen({})).toBe('[]');
    expect(await seen({ decrypt_all: true })).toBe('[]');
    await account.store('u', body);
    expect(await seen({ token })).toBe('N');
    expect(await seen({ decrypt_all: true })).toBe('[N+]');
    await account.sdk.vault.delete({ user: 'u', token });
    expect(await seen({ token })).toBe(GONE);
  });

  test('to another key’s or another account’s token reaches nothing', async () => {
    for (const name of ['W', 'X']) {
      const token = tokenOf(name);
      expect(await reads({ token }, { token, reference: 'r1' })).toBe(GONE);
      expect(await reads({ token }, { decrypt_all: true })).toBe('[]');
    }
  });

  test('to a token and a reference that do not belong together reaches nothing', async () => {
    const lock = { token: tokenOf('A'), reference: 'r2' };
    expect(await reads(lock, { token: tokenOf('A') })).toBe(GONE);
    expect(await reads(lock, { token: tokenOf('A'), reference: 'r1' })).toBe(OUT);
    expect(await reads(lock, { decrypt_all: true })).toBe('[]');
    const none = { token: tokenOf('C'), reference: 'r1' };
    expect(await reads(none, { token: tokenOf('C') })).toBe(GONE);
    expect(await reads(none, {})).toBe('[]');
  });

  test('to a token without a reference gives it, and says so of one too many', async () => {
    expect(await reads({ token: tokenOf('C') }, { token: tokenOf('C') })).toBe('C');
    expect(await reads({ token: tokenOf('C') }, { token: tokenOf('C'), reference: 'r1' })).toBe(GONE);
    expect(await reads({ token: tokenOf('C') }, { reference: 'r1' })).toBe('[]');
  });

  test.each(['*', 'r*', '%', '../r1', ' r1', 'R1', 'r1\u0000', '🔑', 'a,b', 'null'])(
    'to the reference %p is to exactly that one',
    async (reference) => {
      expect(await reads({ reference }, { decrypt_all: true })).toBe('[]');
      const body = { number: '991', name: 'S' };
      const token = await account.store('u', body, { reference });
      tokens.set('S', token);
      expect(await reads({ reference }, { token })).toBe('S');
      expect(await reads({ reference }, { decrypt_all: true })).toBe('[S+]');
      expect(await reads({ reference }, { reference: 'r1' })).toBe(OUT);
      await account.sdk.vault.delete({ user: 'u', token, reference });
    },
  );

  test('follows items that get its reference later, and lists them in order', async () => {
    const endpoint = await createRetrieve(account, 'u', { reference: 'later' });
    for (const [n, name] of ['L', 'M'].entries()) {
      tokens.set(name, await account.store('u', { number: `88${n}`, name }, { reference: 'later' }));
    }
    // By the time of storing, then by token: two may be of the same millisecond.
    const { data } = await account.sdk.vault.list({ user: 'u', reference: 'later' });
    const order = (data['u'] ?? []).map(({ token }) => nameOf(token));
    expect(order.toSorted()).toEqual(['L', 'M']);
    const all = await retrieve(vault, endpoint, { query: { decrypt_all: true } });
    expect(shownBy(all)).toBe(`[${order.map((name) => `${name}+`).join(' ')}]`);
    const first = await retrieve(vault, endpoint, { query: { limit: 1 } });
    const next_token = first.headers.get('x-vault-next-token') ?? '';
    expect([shownBy(first), shownBy(await retrieve(vault, endpoint, { query: { next_token } }))]).toEqual(
      order.map((name) => `[${name}]`),
    );
    const removed = { user: 'u', token: tokenOf('L'), reference: 'later' };
    await account.send('DELETE', '/vault', { query: removed, passphrase: PASSPHRASE });
    expect(shownBy(await retrieve(vault, endpoint))).toBe('[M]');
    await account.sdk.vault.delete({ user: 'u', token: tokenOf('M'), reference: 'later' });
  });
});
