/** Readings of items over an account, as `GET /vault/access` lists them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccessEntry } from '../../sdk/index.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const RETENTION_MS = 10 * DAY_MS;

/** The clock of the server, ms since 1970; that of the system while it is 0. */
let clock = 0;
let numbers = 0;

const vault = await openTestVault({
  now: () => clock || Date.now(),
  trustedProxies: ['127.0.0.0/8'],
  auditRetentionMs: RETENTION_MS,
});
afterAll(() => vault.close());

async function newAccount(): Promise<AccountClient> {
  const account = await vault.account();
  await account.key('u');
  return account;
}
function newItem(account: AccountClient, query: Query = {}, user = 'u'): Promise<string> {
  numbers += 1;
  return account.store(user, { number: `${numbers}` }, query);
}
function open(client: AccountClient, token: string, ip = '127.0.0.1', query: Query = {}) {
  return client.send('GET', '/vault', {
    query: { user: 'u', token, ...query },
    passphrase: PASSPHRASE,
    headers: { 'x-forwarded-for': ip },
  });
}
async function readings(client: AccountClient, query: Query = {}): Promise<AccessEntry[]> {
  const answer = await client.send('GET', '/vault/access', { query });
  expect(answer.outcome).toBe('200');
  return answer.as<AccessEntry[]>();
}
async function tokensOf(client: AccountClient, query: Query = {}): Promise<string[]> {
  return (await readings(client, query)).map(({ token }) => token);
}

describe('a reading', () => {
  test('has the entry of the log of its item, with the item', async () => {
    const account = await newAccount();
    const token = await newItem(account, { reference: 'r' });
    await open(account, token, '203.0.113.7', { reference: 'r' });
    const [entry, ...rest] = await readings(account);
    expect(rest).toEqual([]);
    const [logged] = (await account.sdk.vault.log({ user: 'u', token, reference: 'r' })).data;
    expect(entry).toEqual({ user: 'u', token, reference: 'r', ...logged } as AccessEntry);
    expect(entry).toMatchObject({ action: 'decrypt', outcome: 'ok', ip_address: '203.0.113.7' });
  });

  test('names its link or its credential, whose name stays after its deletion', async () => {
    const account = await newAccount();
    const token = await newItem(account);
    const link = await createRetrieve(account, 'u', { token });
    const desk = await credentialClient(vault.handle, account, ['vault:read']);
    await retrieve(vault, link, { query: { token } });
    await open(desk, token);
    await account.send('DELETE', `/credential/${desk.made.id}`);
    const found = await readings(account);
    expect(found.map(({ actor, actor_name, endpoint }) => [actor, actor_name, endpoint])).toEqual([
      [`${account.name}/${desk.made.id}`, 'a test', undefined],
      [account.name, undefined, link.unique_id],
    ]);
  });

  test('is each of a bulk reading, and no refused attempt, store or update', async () => {
    const account = await newAccount();
    const tokens = await Promise.all(Array.from({ length: 100 }, () => newItem(account)));
    const [first = ''] = tokens;
    await account.send('GET', '/vault', { query: { user: 'u', decrypt_all: true }, passphrase: PASSPHRASE });
    await open(account, first, '127.0.0.1', { reference: 'wrong' });
    await account.sdk.vault.update({ user: 'u', token: first, data: { a: 1 } });
    expect((await tokensOf(account)).sort()).toEqual(tokens.toSorted());
    const body = { user: 'u', items: [{ token: first }] };
    await account.send('POST', '/vault/batch/decrypt', { passphrase: PASSPHRASE, body });
    expect((await tokensOf(account))[0]).toBe(first);
  });

  test('goes with its item, and is none of an item that is stored again', async () => {
    const account = await newAccount();
    const [token, other] = [await newItem(account), await newItem(account)];
    const number = `${numbers - 1}`;
    await open(account, token);
    await open(account, other);
    await account.sdk.vault.delete({ user: 'u', token });
    expect(await tokensOf(account)).toEqual([other]);
    expect(await account.store('u', { number })).toBe(token);
    await open(account, token);
    expect(await tokensOf(account)).toEqual([token, other]);
  });

  test('of a deleted key is gone, and so is its index', async () => {
    const account = await newAccount();
    await open(account, await newItem(account));
    const kid = await vault.kidOf(account, 'u');
    expect(await vault.raw.keys(`{${kid}.*}a`)).toHaveLength(1);
    await account.sdk.keys.delete({ user: 'u', safe: false });
    expect(await readings(account)).toEqual([]);
    expect(await vault.raw.keys(`{${kid}.*}a`)).toEqual([]);
  });

  test('leaves the list with the retention of logs, and the log of its item keeps it', async () => {
    const account = await newAccount();
    const token = await newItem(account);
    clock = Date.now() - 2 * RETENTION_MS;
    await open(account, token);
    clock = 0;
    await open(account, token);
    expect(await readings(account)).toHaveLength(2);
    await vault.opened.services.expiry.sweep(account.aid);
    expect(await readings(account)).toHaveLength(1);
    expect((await account.sdk.vault.log({ user: 'u', token })).data).toHaveLength(3);
  });
});

describe('filters', () => {
  let account: AccountClient;
  let token: string;
  let desk: Awaited<ReturnType<typeof credentialClient>>;
  let link: Awaited<ReturnType<typeof createRetrieve>>;
  // Tomorrow: the link and the credential live.
  const day = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
  const at = (hour: number) => `${day}T0${hour}:00:00Z`;

  beforeAll(async () => {
    account = await newAccount();
    await account.key('v');
    token = await newItem(account);
    const other = await newItem(account, {}, 'v');
    desk = await credentialClient(vault.handle, account, ['vault:read']);
    link = await createRetrieve(account, 'u', { token });
    const acts = [
      () => open(account, token, '203.0.113.7'),
      () => open(desk, token, '203.0.113.8'),
      () => retrieve(vault, link, { query: { token }, headers: { 'x-forwarded-for': '2001:db8::1' } }),
      () => open(account, other, '198.51.100.1', { user: 'v' }),
    ];
    for (const [i, act] of acts.entries()) {
      clock = Date.parse(at(i + 1));
      expect((await act()).status).toBe(200);
    }
    clock = 0;
  });
  const hours = async (query: Query, client = account): Promise<string> =>
    (await readings(client, query)).map(({ timestamp }) => timestamp.slice(12, 13)).join('');

  test.each<[string, () => Query, string]>([
    ['nothing', () => ({}), '4321'],
    ['a key', () => ({ user: 'v' }), '4'],
    ['the account', () => ({ actor: account.name }), '431'],
    ['a credential', () => ({ actor: `${account.name}/${desk.made.id}` }), '2'],
    ['an actor that is a part of another', () => ({ actor: desk.made.id }), ''],
    ['an address', () => ({ source_ip: '203.0.113.7' }), '1'],
    ['a range', () => ({ source_ip: '203.0.113.0/24' }), '21'],
    ['a range of IPv6', () => ({ source_ip: '2001:db8::/32' }), '3'],
    ['a link', () => ({ endpoint: link.unique_id }), '3'],
    ['a time on', () => ({ after: at(2) }), '432'],
    ['up to a time', () => ({ before: at(2) }), '1'],
    ['all at once', () => ({ user: 'u', source_ip: '203.0.113.8', actor: account.name }), ''],
  ])('by %s', async (_, query, expected) => {
    expect(await hours(query())).toBe(expected);
    expect(await hours({ ...query(), limit: -1 })).toBe(expected);
  });

  test.each(['203.0.113', '203.0.113.0/33', 'example.com', '::/129'])(
    '%p is no address',
    async (source_ip) => {
      const answer = await account.send('GET', '/vault/access', { query: { source_ip } });
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.source_ip']);
    },
  );

  test('need the scope of logs, and show a credential its keys alone', async () => {
    const auditor = await credentialClient(vault.handle, account, ['audit:read'], { keys: ['v'] });
    expect(await hours({}, auditor)).toBe('4');
    expect((await auditor.send('GET', '/vault/access', { query: { user: 'u' } })).outcome).toBe(
      '403 not_allowed',
    );
    const reader = await credentialClient(vault.handle, account, ['vault:log', 'vault:read']);
    expect((await reader.send('GET', '/vault/access')).outcome).toBe('403 not_allowed');
    expect(await readings(await newAccount())).toEqual([]);
    expect((await account.send('GET', '/vault/access', { query: { user: 'none' } })).outcome).toBe(
      '404 key_not_found',
    );
  });

  test('a cursor belongs to its filter and its account', async () => {
    const first = await account.send('GET', '/vault/access', { query: { limit: 1 } });
    const next_token = first.headers.get('x-vault-next-token') ?? '';
    expect(await hours({ limit: 2, next_token })).toBe('32');
    for (const [client, query] of [
      [account, { user: 'u' }],
      [account, { endpoint: 'x' }],
      [await newAccount(), {}],
    ] as const) {
      const answer = await client.send('GET', '/vault/access', { query: { ...query, next_token } });
      expect(answer.outcome).toBe('400 cursor_invalid');
    }
  });
});

describe('pages', () => {
  test('of any size make up the whole list, also of readings at one moment, while new ones come', async () => {
    const account = await newAccount();
    await account.key('v');
    const tokens = await Promise.all(Array.from({ length: 40 }, () => newItem(account)));
    const others = await Promise.all(Array.from({ length: 40 }, () => newItem(account, {}, 'v')));
    clock = Date.parse('2031-01-01T00:00:00Z');
    for (let round = 0; round < 3; round++) {
      clock += round % 2;
      await Promise.all(tokens.map((token) => open(account, token)));
      await Promise.all(others.map((token) => open(account, token, '127.0.0.1', { user: 'v' })));
    }
    const whole = await readings(account, { limit: -1 });
    expect(whole).toHaveLength(240);
    const times = whole.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted().reverse());
    expect(new Set(whole.map(({ request_id }) => request_id)).size).toBe(240);
    for (const limit of [1, 7, 239, 240, 241]) {
      const found: AccessEntry[] = [];
      for await (const { data } of account.sdk.vault.accessPages({ limit })) {
        expect(data.length).toBeLessThanOrEqual(limit);
        found.push(...data);
        if (limit === 7) {
          clock = Date.parse('2031-01-02T00:00:00Z');
          await open(account, tokens[0] ?? '');
        }
      }
      // Readings that came during an earlier listing are the newest of a later one.
      expect(found.slice(-240)).toEqual(whole);
      expect(found.length === 240).toBe(limit <= 7);
    }
    clock = 0;
  });
});

test('a reading that the index names wrongly is an error, and its own log is as it was', async () => {
  const account = await newAccount();
  const token = await newItem(account);
  await open(account, token);
  const bucket = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'u'), token);
  await vault.raw.zadd(redisKeys.readings(bucket), Date.now(), 'x');
  expect((await account.send('GET', '/vault/access')).outcome).toBe('500 integrity_failed');
  expect((await account.sdk.vault.log({ user: 'u', token })).data).toHaveLength(2);
});
