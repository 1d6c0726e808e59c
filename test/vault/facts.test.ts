import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { PASSPHRASE, type Query } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { openTestVault } from '../helpers/vault.ts';

const NUMBER = '4111111111111111';
/** What is stored for an hour then has expired by every clock, that of Redis too. */
const YESTERDAY = Date.now() - 24 * 60 * 60 * 1_000;

/** The server's clock, ms since 1970; the system's while it is 0. */
let clock = 0;

const vault = await openTestVault({ now: () => clock || Date.now() });
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());
afterEach(() => {
  clock = 0;
});

interface Info {
  readonly token: string;
  readonly created: boolean;
  readonly expires_at?: string;
  readonly metadata?: Record<string, string>;
  readonly fingerprint?: string;
}

async function store(number: string, query: Query = {}): Promise<Info> {
  const body = { card_number: number, expiry: '12/29' };
  const answer = await account.send('POST', '/vault', {
    query: { user: 'u', ...query },
    passphrase: PASSPHRASE,
    body,
  });
  expect(answer.outcome).toBe('200');
  return answer.json as Info;
}

function update(token: string, query: Query, body?: unknown) {
  return account.send('POST', '/vault/update', {
    query: { user: 'u', token, ...query },
    passphrase: PASSPHRASE,
    body,
  });
}

/** Tokens of a listing, in its order. */
async function tokensOf(query: Query | string): Promise<string[]> {
  const path = typeof query === 'string' ? `/vault?user=u&limit=-1&${query}` : '/vault';
  const answer = await account.send(
    'GET',
    path,
    typeof query === 'string' ? {} : { query: { user: 'u', limit: -1, ...query } },
  );
  expect(answer.outcome).toBe('200');
  return (answer.json as Record<string, { token: string }[]>)['u']?.map(({ token }) => token) ?? [];
}

let numbers = 0;
/** A number of its own. */
function fresh(): string {
  numbers += 1;
  return `9900${numbers}`;
}

describe('what a store tells', () => {
  test('whether the token is new', async () => {
    const number = fresh();
    expect((await store(number)).created).toBe(true);
    expect((await store(number)).created).toBe(false);
    expect((await store(number, { reference: 'r' })).created).toBe(true);
    expect((await store(number, { algorithm: 'uuid' })).created).toBe(true);
  });

  test('a fingerprint, equal for equal numbers under one key alone', async () => {
    const one = await store(NUMBER, { return_fingerprint: true });
    const other = await store(NUMBER, { return_fingerprint: true, reference: 'x' });
    expect(one.fingerprint).toMatch(/^[0-9a-f]{32}$/);
    expect(other.fingerprint).toBe(one.fingerprint ?? '');
    expect((await store(fresh(), { return_fingerprint: true })).fingerprint).not.toBe(one.fingerprint ?? '');
    expect((await store(NUMBER)).fingerprint).toBeUndefined();
    await account.key('v');
    const query = { user: 'v', return_fingerprint: true };
    const { json } = await account.send('POST', '/vault', {
      query,
      passphrase: PASSPHRASE,
      body: { n: NUMBER },
    });
    expect((json as Info).fingerprint).not.toBe(one.fingerprint ?? '');
  });

  test('the same fingerprint after an update, unless the number was in the query alone', async () => {
    const { token, fingerprint } = await store(NUMBER, { return_fingerprint: true });
    const asked = { return_fingerprint: true };
    const body = { card_number: '5555555555554444', expiry: '01/31' };
    expect((await update(token, asked, body)).json).toMatchObject({ fingerprint });
    expect((await update(token, { ...asked, ttl: '1h' })).json).toMatchObject({ fingerprint });
    expect((await update(token, {}, body)).json).not.toHaveProperty('fingerprint');
    const query = { user: 'u', number: fresh(), ...asked };
    const bare = await account.send('POST', '/vault', { query, passphrase: PASSPHRASE, body: { a: 1 } });
    expect(bare.json).toHaveProperty('fingerprint');
    const changed = await update((bare.json as Info).token, asked, body);
    expect([changed.outcome, Object.keys(changed.json as object)]).toEqual([
      '200',
      ['token', 'user', 'stored_at', 'created'],
    ]);
  });
});

describe('metadata', () => {
  test('is told, listed, found by equality, replaced and removed', async () => {
    const metadata = JSON.stringify({ tier: 'gold', note: 'a,b:c' });
    const { token, metadata: told } = await store(fresh(), { metadata });
    expect(told).toEqual({ tier: 'gold', note: 'a,b:c' });
    const other = await store(fresh(), { metadata: '{"tier":"silver"}' });
    expect(await tokensOf('metadata=tier:gold')).toEqual([token]);
    expect(await tokensOf('metadata=note:a,b:c')).toEqual([token]);
    expect(await tokensOf('metadata=tier:gold&metadata=note:a,b:c')).toEqual([token]);
    expect(await tokensOf('metadata=tier:gold&metadata=note:b')).toEqual([]);
    expect(await tokensOf('metadata=tier:gol')).toEqual([]);
    const { json } = await account.send('GET', '/vault', { query: { user: 'u', token } });
    expect(json).toMatchObject({ u: [{ token, metadata: { tier: 'gold' } }] });

    const changed = await update(token, { metadata: '{"tier":"silver"}' });
    expect(changed.json).toMatchObject({ token, created: false, metadata: { tier: 'silver' } });
    expect(await tokensOf('metadata=tier:gold')).toEqual([]);
    expect((await tokensOf('metadata=tier:silver')).sort()).toEqual([token, other.token].sort());
    expect((await update(token, {}, { a: 1 })).json).toMatchObject({ metadata: { tier: 'silver' } });
    expect((await update(token, { metadata: '{}' })).json).not.toHaveProperty('metadata');
    expect(await tokensOf('metadata=tier:silver')).toEqual([other.token]);
  });

  test('goes with a deletion, and with a store that brings none', async () => {
    const [number, gone] = [fresh(), fresh()];
    const metadata = '{"batch":"7"}';
    const { token } = await store(number, { metadata });
    const other = await store(gone, { metadata });
    expect(await tokensOf('metadata=batch:7')).toHaveLength(2);
    await store(number);
    expect(await tokensOf('metadata=batch:7')).toEqual([other.token]);
    expect(
      (await account.send('DELETE', '/vault', { query: { user: 'u', token: other.token } })).outcome,
    ).toBe('200');
    expect(await tokensOf('metadata=batch:7')).toEqual([]);
    expect(await account.open('u', token)).toContain(number);
  });

  test('stands beside decrypted data, where a stored member of that name wins', async () => {
    const { token } = await store(fresh(), { metadata: '{"a":"1"}' });
    expect(JSON.parse(await account.open('u', token, { return_card_metadata: true }))).toMatchObject({
      metadata: { a: '1' },
    });
    expect(JSON.parse(await account.open('u', token))).not.toHaveProperty('metadata');
    await update(token, {}, { metadata: 'mine' });
    expect(JSON.parse(await account.open('u', token, { return_card_metadata: true }))).toMatchObject({
      metadata: 'mine',
    });
    const query = { user: 'u', decrypt_all: true, limit: -1 };
    const { json } = await account.send('GET', '/vault', { query, passphrase: PASSPHRASE });
    expect((json as Record<string, Info[]>)['u']?.find((item) => item.token === token)?.metadata).toEqual({
      a: '1',
    });
  });

  const long = 'x'.repeat(501);
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`n${i}`, ''])));
  test.each([
    ['no JSON', 'tier', '400 invalid_request query.metadata'],
    ['a list', '["a"]', '400 invalid_request query.metadata'],
    ['a number', '{"a":1}', '400 invalid_request query.metadata.a'],
    ['too long a text', JSON.stringify({ a: long }), '400 invalid_request query.metadata.a'],
    ['too many names', many, '400 invalid_request query.metadata'],
    ['a name with a space', '{"a b":"c"}', '400 invalid_request query.metadata'],
    ['half a character', String.raw`{"a":"\ud800"}`, '400 invalid_request query.metadata.a'],
    ['a card number', `{"a":"card ${NUMBER}"}`, '400 metadata_sensitive query.metadata.a'],
    [
      'digits of another script',
      `{"a":"${NUMBER.replace('4', '\u0664')}"}`,
      '400 metadata_sensitive query.metadata.a',
    ],
    ['digits apart', '{"a":"4111\u200b/1111_11\u00ad11.1111"}', '400 metadata_sensitive query.metadata.a'],
    ['a card number as a name', `{"${NUMBER}":"a"}`, '400 metadata_sensitive query.metadata'],
  ])('is refused: %s', async (_, metadata, outcome) => {
    const body = { n: fresh() };
    const stored = await account.send('POST', '/vault', {
      query: { user: 'u', metadata },
      passphrase: PASSPHRASE,
      body,
    });
    expect([stored.outcome, stored.field].join(' ')).toBe(outcome);
    expect(stored.text).not.toContain(NUMBER);
    const { token } = await store(fresh());
    expect((await update(token, { metadata })).outcome).toBe(outcome.slice(0, outcome.lastIndexOf(' ')));
  });

  test('__proto__ is a name like any', async () => {
    const { token, metadata } = await store(fresh(), { metadata: '{"__proto__":"a"}' });
    expect(Object.entries(metadata ?? {})).toEqual([['__proto__', 'a']]);
    expect(await tokensOf('metadata=__proto__:a')).toEqual([token]);
    expect(await tokensOf('metadata=toString:a')).toEqual([]);
  });
});

describe('a lifetime', () => {
  test('ends on its second: nothing shows the item any more', async () => {
    const { token, expires_at = '' } = await store(fresh(), { ttl: '10m', metadata: '{"short":"1"}' });
    const end = Date.parse(expires_at);
    expect(end % 1_000).toBe(0);
    expect(await tokensOf('metadata=short:1')).toEqual([token]);
    expect(await tokensOf({ expires_before: new Date(end + 1_000).toISOString() })).toEqual([token]);
    expect(await tokensOf({ expires_before: expires_at })).toEqual([]);
    clock = end - 1;
    expect(await account.open('u', token)).toContain('12/29');
    clock = end;
    for (const [method, path, query] of [
      ['GET', '/vault', {}],
      ['POST', '/vault/update', {}],
      ['DELETE', '/vault', {}],
    ] as const) {
      const given = { query: { user: 'u', token, ...query }, passphrase: PASSPHRASE };
      const answer = await account.send(method, path, {
        ...given,
        ...(method === 'POST' ? { body: { a: 1 } } : {}),
      });
      expect(`${method} ${answer.outcome}`).toBe(`${method} 404 token_not_found`);
    }
    expect((await account.send('GET', '/vault', { query: { user: 'u', token } })).outcome).toBe(
      '404 token_not_found',
    );
    expect(await tokensOf('metadata=short:1')).toEqual([]);
    expect((await account.send('GET', '/vault/metadata', { query: { user: 'u', token } })).outcome).toBe(
      '200',
    );
  });

  test('is changed and ended by an update, and by a store', async () => {
    const number = fresh();
    const { token } = await store(number, { ttl: '1h' });
    expect((await update(token, {}, { a: 1 })).json).toHaveProperty('expires_at');
    expect((await update(token, { ttl: '0' })).json).not.toHaveProperty('expires_at');
    expect(await tokensOf({ expires_before: '2100-01-01T00:00:00Z' })).not.toContain(token);
    expect((await update(token, { ttl: 'P1D' })).json).toHaveProperty('expires_at');
    expect(await tokensOf({ expires_before: '2100-01-01T00:00:00Z' })).toContain(token);
    await store(number);
    expect(await tokensOf({ expires_before: '2100-01-01T00:00:00Z' })).not.toContain(token);
  });

  test('that is none is refused', async () => {
    for (const ttl of ['1', '-1h', '', '11000d']) {
      const given = { query: { user: 'u', ttl }, passphrase: PASSPHRASE, body: { n: fresh() } };
      const stored = await account.send('POST', '/vault', given);
      expect([stored.outcome, stored.field]).toEqual(['400 invalid_request', 'query.ttl']);
    }
  });

  test('an update of nothing is refused', async () => {
    const { token } = await store(fresh());
    expect((await update(token, {})).outcome).toBe('400 invalid_json');
  });
});

test('a key with summaries lists brand, last four digits and expiry; another key does not', async () => {
  const made = await account.send('POST', '/key', {
    body: { user: 's', passphrase: PASSPHRASE, summary: true },
  });
  expect(made.outcome).toBe('200');
  const body = { card_number: NUMBER, expiry: '12/29' };
  const query = { user: 's' };
  const stored = await account.send('POST', '/vault', { query, passphrase: PASSPHRASE, body });
  const { token } = stored.json as Info;
  const card = { brand: 'visa', last_four: '1111', expiry_month: '12', expiry_year: '2029' };
  expect((await account.send('GET', '/vault', { query })).json).toMatchObject({ s: [{ token, card }] });
  const changes = { query: { user: 's', token }, passphrase: PASSPHRASE, body: { expiry: '01/31' } };
  await account.send('POST', '/vault/update', changes);
  const later = { ...card, expiry_month: '01', expiry_year: '2031' };
  expect((await account.send('GET', '/vault', { query })).json).toMatchObject({
    s: [{ token, card: later }],
  });
  const changed = { user: 's', passphrase: PASSPHRASE, new_passphrase: PASSPHRASE };
  expect((await account.send('PUT', '/key', { body: changed })).outcome).toBe('200');
  await account.send('POST', '/vault', { query, passphrase: PASSPHRASE, body });
  expect((await account.send('GET', '/vault', { query })).json).toMatchObject({ s: [{ token, card }] });
  const plain = await store(NUMBER, { reference: 'plain' });
  expect(
    JSON.stringify((await account.send('GET', '/vault', { query: { user: 'u', token: plain.token } })).json),
  ).not.toContain('1111');
});

describe('the sweep', () => {
  const swept = async (): Promise<void> => {
    await vault.opened.services.expiry.sweep(account.aid);
  };
  async function hashOf(token: string): Promise<Record<string, string>> {
    const [name = ''] = await vault.raw.keys(`*}i${token}`);
    return vault.raw.hgetall(name);
  }

  test('leaves nothing but the log of what has expired, and says so in the security log', async () => {
    const number = fresh();
    const facts = { reference: 'gone', metadata: '{"gone":"1"}' };
    clock = YESTERDAY;
    const { token, expires_at = '' } = await store(number, { ...facts, ttl: '1h' });
    await account.open('u', token, { reference: 'gone' });
    clock = 0;
    const kept = await store(fresh(), { ...facts, ttl: '1h' });
    clock = Date.parse(expires_at) + 120_000;
    await swept();
    expect(Object.keys(await hashOf(token)).sort()).toEqual(['1', '2', 'm', 'n']);
    expect(Object.keys(await hashOf(kept.token))).toContain('c');
    expect(await tokensOf('metadata=gone:1')).toEqual([kept.token]);
    expect(await tokensOf('reference=gone')).toEqual([kept.token]);
    const log = { query: { user: 'u', token, reference: 'gone' } };
    expect((await account.send('GET', '/vault/metadata', log)).json).toHaveLength(2);
    expect((await account.send('GET', '/vault/metadata', { query: { user: 'u', token } })).outcome).toBe(
      '400 reference_required',
    );
    const { json } = await account.send('GET', '/audit', { query: { action: 'item.expire' } });
    expect(json).toMatchObject([{ action: 'item.expire', outcome: 'success', object: 'items/u/1' }]);
    const verified = await runCommand(['verify', '--json'], { vault });
    expect(JSON.parse(verified.out)).toMatchObject({ ok: true, faults: [] });

    clock = 0;
    const again = await store(number, { reference: 'gone' });
    expect(again).toMatchObject({ token, created: true });
    expect((await account.send('GET', '/vault/metadata', log)).json).toHaveLength(3);
    expect(await account.open('u', token, { reference: 'gone' })).toContain(number);
  });

  test('removes nothing where the clock of this server alone is ahead', async () => {
    const { token, expires_at = '' } = await store(fresh(), { ttl: '1h' });
    clock = Date.parse(expires_at) + 3_600_000;
    await swept();
    clock = 0;
    expect(await account.open('u', token)).toContain('12/29');
  });

  test('takes more than one step, and a deleted key takes what it has left', async () => {
    await account.key('short');
    clock = YESTERDAY;
    const items = Array.from({ length: 300 }, () => ({ data: { n: fresh() }, ttl: '1h' }));
    await account.send('POST', '/vault/batch', { passphrase: PASSPHRASE, body: { user: 'short', items } });
    clock = 0;
    await swept();
    const kid = await vault.kidOf(account, 'short');
    expect(await vault.opened.stores.itemStore.countItems(kid)).toBe(0);
    expect(await vault.raw.keys(`{${kid}.*}i*`)).toHaveLength(300);
    expect((await account.send('DELETE', '/key', { query: { user: 'short' } })).outcome).toBe('200');
    expect(await vault.raw.keys(`{${kid}.*}i*`)).toEqual([]);
  });
});
