import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { createCapture, createRetrieve, type MadeEndpoint } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

interface Listed {
  readonly url: string;
  readonly unique_id: string;
  readonly expires_at: string | null;
  readonly user: string;
  readonly token?: string;
  readonly reference?: string;
  readonly expired: boolean;
}

const START = Date.UTC(2026, 6, 1);
const HOUR = 3_600_000;

let now = START;
let vault: TestVault;
let account: AccountClient;
let other: AccountClient;
let made: MadeEndpoint[] = [];

async function open(): Promise<void> {
  now = START;
  made = [];
  vault = await openTestVault({ now: () => now });
  [account, other] = [await vault.account(), await vault.account()];
  await Promise.all([account.key('b'), account.key('a'), other.key('a')]);
  const wanted: readonly (readonly [string, Query])[] = [
    ['b', { unique_id: 'm', ttl: '1h' }],
    ['a', { unique_id: 'z', ttl: '0' }],
    ['a', { unique_id: 'Z', token: 't-1', reference: 'r-1' }],
    ['a', { unique_id: 'k', reference: 'r-2', rules: 'some', mask_fields: 'x' }],
    ['b', { unique_id: 'c', token: 't-2', ttl: '2h' }],
  ];
  for (const [user, query] of wanted) {
    made.push(await createRetrieve(account, user, query));
  }
  await createCapture(account, 'a', { unique_id: 'a-capture' });
  await createRetrieve(other, 'a', { unique_id: 'a-foreign' });
}
function close(): Promise<void> {
  return vault.close();
}

function list(query: Query = {}, client = account): Promise<Answer> {
  return client.send('GET', '/retrieve', { query });
}
function idsOf(answer: Answer): string[] {
  return answer.as<Listed[]>().map(({ unique_id }) => unique_id);
}

describe('the list of retrieval endpoints', () => {
  beforeAll(open);
  afterAll(close);

  test('has all of the account’s, by key and then by id, each with what may be known of it', async () => {
    const answer = await list();
    expect(answer.outcome).toBe('200');
    const day = '2026-07-02T00:00:00Z';
    expect(answer.json).toEqual([
      {
        url: '/v1/retrieve/Z',
        unique_id: 'Z',
        expires_at: day,
        user: 'a',
        token: 't-1',
        reference: 'r-1',
        expired: false,
      },
      { url: '/v1/retrieve/k', unique_id: 'k', expires_at: day, user: 'a', reference: 'r-2', expired: false },
      { url: '/v1/retrieve/z', unique_id: 'z', expires_at: null, user: 'a', expired: false },
      {
        url: '/v1/retrieve/c',
        unique_id: 'c',
        expires_at: '2026-07-01T02:00:00Z',
        user: 'b',
        token: 't-2',
        expired: false,
      },
      {
        url: '/v1/retrieve/m',
        unique_id: 'm',
        expires_at: '2026-07-01T01:00:00Z',
        user: 'b',
        expired: false,
      },
    ]);
  });

  test('holds no secret, and no part of one', async () => {
    const { text } = await list();
    for (const { secret } of made) {
      expect(text).not.toContain(secret.slice(5, 20));
    }
    expect(text).not.toContain('vrs1_');
  });

  test('is the same with a trailing slash and through a second server', async () => {
    expect((await account.send('GET', '/retrieve/')).json).toEqual((await list()).json);
    const second = await vault.secondServer();
    expect((await list({}, account.via(second.handle))).json).toEqual((await list()).json);
    await second.close();
  });

  test('can be of one key', async () => {
    expect(idsOf(await list({ user: 'a' }))).toEqual(['Z', 'k', 'z']);
    expect(idsOf(await list({ user: 'b' }))).toEqual(['c', 'm']);
    const unknown = await list({ user: 'nobody' });
    expect([unknown.outcome, unknown.field]).toEqual(['404 key_not_found', 'query.user']);
    expect((await list({ user: 'a b' })).field).toBe('query.user');
    expect((await account.send('GET', '/retrieve?user=a&user=b')).outcome).toBe('400 duplicate_parameter');
  });

  test('has nothing of other accounts, nor of the other kind', async () => {
    expect(idsOf(await list({}, other))).toEqual(['a-foreign']);
    const captures = await account.send('GET', '/capture');
    expect(idsOf(captures)).toEqual(['a-capture']);
  });

  test('is empty where there is none', async () => {
    const fresh = await vault.account();
    await fresh.key('u');
    expect((await list({}, fresh)).text).toBe('[]');
    expect((await list({ user: 'u' }, fresh)).text).toBe('[]');
  });

  test('counts as one listing', async () => {
    const before = await vault.usage(account);
    await list();
    await list({ user: 'nobody' });
    const after = await vault.usage(account);
    expect((after['list'] ?? 0) - (before['list'] ?? 0)).toBe(1);
    expect((after['retrieve'] ?? 0) - (before['retrieve'] ?? 0)).toBe(0);
  });

  test('needs the account', async () => {
    const headers = { authorization: '', 'x-vault-retrieve-secret': made[0]?.secret ?? '' };
    expect((await account.send('GET', '/retrieve', { headers })).outcome).toBe('401 unauthenticated');
  });
});

describe('in the course of time', () => {
  beforeEach(open);
  afterEach(close);

  const shownOf = async (id: string): Promise<boolean | 'gone'> =>
    (await list()).as<Listed[]>().find(({ unique_id }) => unique_id === id)?.expired ?? 'gone';

  test('an endpoint is shown as expired from its last second on', async () => {
    now = START + HOUR - 1;
    expect(await shownOf('m')).toBe(false);
    now = START + HOUR;
    expect(await shownOf('m')).toBe(true);
    expect(await shownOf('c')).toBe(false);
  });

  test('an expired one stays in the list for a day, then the sweep takes it and frees its id', async () => {
    now = START + 25 * HOUR - 1;
    await vault.opened.sweep();
    expect(await shownOf('m')).toBe(true);
    now = START + 25 * HOUR;
    await vault.opened.sweep();
    expect(await shownOf('m')).toBe('gone');
    expect(await shownOf('c')).toBe(true);
    expect(await shownOf('z')).toBe(false);
    const again = { query: { user: 'b', unique_id: 'm' }, passphrase: PASSPHRASE };
    expect((await account.send('POST', '/retrieve', again)).outcome).toBe('200');
    expect(await shownOf('m')).toBe(false);
  });

  test('a stopped one is shown as expired', async () => {
    const change = { user: 'b', passphrase: PASSPHRASE, new_passphrase: `${PASSPHRASE} anew` };
    expect((await account.send('PUT', '/key', { body: change })).status).toBe(200);
    expect(await shownOf('m')).toBe(true);
    expect(await shownOf('z')).toBe(false);
  });

  test('a deleted one is gone at once, of either kind by either path', async () => {
    const removed = await account.send('DELETE', '/capture/z');
    expect(removed.json).toEqual({ message: 'The endpoint was deleted.' });
    expect(await shownOf('z')).toBe('gone');
    expect((await account.send('DELETE', '/retrieve/z')).outcome).toBe('404 endpoint_not_found');
    expect((await account.send('DELETE', '/retrieve/a-foreign')).outcome).toBe('404 endpoint_not_found');
    expect(idsOf(await list({}, other))).toEqual(['a-foreign']);
  });
});
