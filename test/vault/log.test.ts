import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { LogEntry } from '../../sdk/index.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

let numbers = 0;

const vault = await openTestVault({ trustedProxies: ['127.0.0.0/8'] });
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

function newItem(query: Query = {}): Promise<string> {
  numbers += 1;
  return account.store('u', { number: `${numbers}` }, query);
}
function log(token: string, query: Query = {}, client = account): Promise<Answer> {
  return client.send('GET', '/vault/metadata', { query: { user: 'u', token, ...query } });
}
function entriesOf(answer: Answer): LogEntry[] {
  expect(answer.outcome).toBe('200');
  return answer.as<LogEntry[]>();
}
function open(token: string, headers: Record<string, string> = {}): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user: 'u', token }, passphrase: PASSPHRASE, headers });
}

describe('an entry', () => {
  test('tells who did what, from where and when', async () => {
    const before = Date.now();
    const token = await newItem();
    const answer = await open(token, { 'x-forwarded-for': '203.0.113.7', 'user-agent': 'shop/1.0 (tests)' });
    const [decrypted, stored, ...rest] = entriesOf(await log(token));
    expect(rest).toEqual([]);
    expect(decrypted).toEqual({
      action: 'decrypt',
      source: 'vault',
      ip_address: '203.0.113.7',
      user_agent: 'shop/1.0 (tests)',
      outcome: 'ok',
      actor: account.name,
      request_id: answer.headers.get('x-request-id') ?? '',
      timestamp: decrypted?.timestamp ?? '',
    });
    expect(stored).toMatchObject({
      action: 'encrypt',
      source: 'vault',
      ip_address: '127.0.0.1',
      user_agent: 'tests/1.0',
    });
    for (const { timestamp } of [decrypted, stored].filter((entry) => entry !== undefined)) {
      expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(timestamp)).toBeLessThanOrEqual(Date.now());
    }
  });
});

describe('what is logged', () => {
  test('each encryption and each decryption, newest first', async () => {
    const token = await newItem();
    await open(token);
    await account.sdk.vault.update({ user: 'u', token, data: { a: 1 } });
    await open(token);
    await account.store('u', { number: `${numbers}` });
    const entries = entriesOf(await log(token));
    expect(entries.map(({ action }) => action).join()).toBe('encrypt,decrypt,encrypt,decrypt,encrypt');
    const times = entries.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted().reverse());
  });

  test('each of many decryptions at once', async () => {
    const token = await newItem();
    const opened = await Promise.all(Array.from({ length: 50 }, () => open(token)));
    expect(opened.every(({ status }) => status === 200)).toBe(true);
    expect(entriesOf(await log(token))).toHaveLength(51);
  });
});

describe('pages', () => {
  let token: string;
  let other: string;
  beforeAll(async () => {
    token = await newItem();
    other = await newItem();
    for (let n = 1; n < 25; n++) {
      await open(token, { 'user-agent': `n${n}` });
    }
    await open(other);
  });
  const agents = (answer: Answer): string[] => entriesOf(answer).map(({ user_agent }) => user_agent);
  const whole = ['tests/1.0', ...Array.from({ length: 24 }, (_, n) => `n${n + 1}`)].reverse();

  test('of any size make up the whole log', async () => {
    for (const limit of [1, 7, 24, 25, 26]) {
      const walked: string[] = [];
      let next_token: string | undefined;
      do {
        const page = await account.sdk.vault.log({ user: 'u', token, limit, next_token });
        expect(page.data.length).toBeLessThanOrEqual(limit);
        walked.push(...page.data.map(({ user_agent }) => user_agent));
        next_token = page.next_token;
      } while (next_token !== undefined);
      expect(walked).toEqual(whole);
    }
    for (const limit of [-1, -7, 25, 100_000]) {
      const answer = await log(token, { limit });
      expect(agents(answer)).toEqual(whole);
      expect(answer.headers.has('x-vault-next-token')).toBe(false);
    }
    for (const limit of ['0', '', 'x', '1.5']) {
      expect((await log(token, { limit })).field).toBe('query.limit');
    }
  });

  test('go on where they were while new entries come', async () => {
    const item = await newItem();
    for (let n = 0; n < 9; n++) {
      await open(item, { 'user-agent': `a${n}` });
    }
    const first = await log(item, { limit: 5 });
    await open(item, { 'user-agent': 'late' });
    const second = await log(item, { limit: 5, next_token: first.headers.get('x-vault-next-token') ?? '' });
    const before = Array.from({ length: 9 }, (_, n) => `a${8 - n}`);
    expect([...agents(first), ...agents(second)]).toEqual([...before, 'tests/1.0']);
    expect(second.headers.has('x-vault-next-token')).toBe(false);
  });

  test('have 1,024 entries when nothing else is asked for', async () => {
    const item = await newItem();
    for (let n = 0; n < 11; n++) {
      await Promise.all(Array.from({ length: 100 }, () => open(item)));
    }
    const first = await log(item);
    expect(entriesOf(first)).toHaveLength(1_024);
    const second = await log(item, { next_token: first.headers.get('x-vault-next-token') ?? '' });
    expect(entriesOf(second)).toHaveLength(1_101 - 1_024);
    expect(entriesOf(await log(item, { limit: -1 }))).toHaveLength(1_101);
  });

  test('a next_token belongs to its item and its account', async () => {
    const next_token = (await log(token, { limit: 2 })).headers.get('x-vault-next-token') ?? '';
    expect((await log(token, { limit: 3, next_token })).outcome).toBe('200');
    expect((await log(other, { limit: 2, next_token })).outcome).toBe('400 cursor_invalid');
    const stranger = await vault.account();
    await stranger.key('u');
    const theirs = await stranger.store('u', { number: '1' });
    expect((await log(theirs, { next_token }, stranger)).outcome).toBe('400 cursor_invalid');
  });
});

describe('access', () => {
  test('needs no passphrase, but the reference of an item that has one', async () => {
    const named = await newItem({ reference: 'r' });
    expect((await log(named)).outcome).toBe('400 reference_required');
    expect((await log(named, { reference: 's' })).outcome).toBe('404 token_not_found');
    expect(entriesOf(await log(named, { reference: 'r' }))).toHaveLength(1);
    expect((await log(await newItem(), { reference: 'r' })).outcome).toBe('404 token_not_found');
  });

  test('names what is missing', async () => {
    expect((await account.send('GET', '/vault/metadata', { query: { user: 'u' } })).field).toBe(
      'query.token',
    );
    expect((await account.send('GET', '/vault/metadata', { query: { token: 'x' } })).field).toBe('query.key');
    expect((await log('x', { user: 'nobody' })).outcome).toBe('404 key_not_found');
  });
});

describe('a log whose end was changed in the database', () => {
  /** An item with three entries in its log, and the key of its record. */
  async function itemWithLog() {
    const token = await newItem();
    await open(token);
    await open(token);
    const { itemStore } = vault.opened.stores;
    return { token, name: redisKeys.item(itemStore.bucketOf(await vault.kidOf(account, 'u'), token), token) };
  }
  async function fieldAt(name: string, length: number): Promise<Buffer> {
    const entry = (await vault.raw.hgetBuffer(name, String(length))) ?? Buffer.alloc(0);
    return Buffer.concat([Buffer.from(String(length)), entry.subarray(-16)]);
  }

  const CHANGES: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
    'is missing': (name) => vault.raw.hdel(name, 'n'),
    'is empty': (name) => vault.raw.hset(name, 'n', ''),
    'is no number': async (name) =>
      vault.raw.hset(name, 'n', Buffer.concat([Buffer.from('x'), (await fieldAt(name, 3)).subarray(1)])),
    'names another entry': async (name) =>
      vault.raw.hset(name, 'n', Buffer.concat([Buffer.from('3'), (await fieldAt(name, 2)).subarray(1)])),
    'is cut': async (name) => vault.raw.hset(name, 'n', (await fieldAt(name, 3)).subarray(0, -1)),
    'is an older one': async (name) => vault.raw.hset(name, 'n', await fieldAt(name, 2)),
    'is ahead': async (name) =>
      vault.raw.hset(name, 'n', Buffer.concat([Buffer.from('4'), (await fieldAt(name, 3)).subarray(1)])),
    'has lost its entry': (name) => vault.raw.hdel(name, '3'),
  };

  test.each(Object.keys(CHANGES))('is found when its field %s', async (what) => {
    const { token, name } = await itemWithLog();
    expect(entriesOf(await log(token))).toHaveLength(3);
    await CHANGES[what]?.(name);
    const before = await vault.raw.hgetallBuffer(name);
    expect((await log(token)).outcome).toBe('500 integrity_failed');
    expect((await log(token, { limit: 1 })).outcome).toBe('500 integrity_failed');
    // No entry is written over another one.
    expect((await open(token)).outcome).toBe('500 integrity_failed');
    const changes = { query: { user: 'u', token }, passphrase: PASSPHRASE, body: { a: 1 } };
    expect((await account.send('POST', '/vault/update', changes)).outcome).toBe('500 integrity_failed');
    expect(await vault.raw.hgetallBuffer(name)).toEqual(before);
  });

  test('is found when it is shorter than it was recorded', async () => {
    const { token, name } = await itemWithLog();
    await vault.raw.hset(name, 'r', '3', 'n', await fieldAt(name, 2));
    await vault.raw.hdel(name, '3');
    expect((await log(token)).outcome).toBe('500 integrity_failed');
  });
});

test('an item that is deleted and stored anew while its log is read has the new log', async () => {
  const body = { number: '77001' };
  const token = await account.store('u', body);
  await open(token);
  const { itemStore } = vault.opened.stores;
  const readLog = itemStore.readLog.bind(itemStore);
  itemStore.readLog = async (...given) => {
    itemStore.readLog = readLog;
    await account.send('DELETE', '/vault', { query: { user: 'u', token } });
    await account.store('u', body);
    return readLog(...given);
  };
  expect(entriesOf(await log(token))).toHaveLength(1);
});
