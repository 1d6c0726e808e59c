import { afterAll, describe, expect, test } from 'bun:test';
import type { LogEntry } from '../../sdk/index.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

let now = Date.parse('2031-01-01T00:00:00Z');
let numbers = 0;

const vault = await openTestVault({ now: () => now, authFailuresMax: 1_000 });
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

function newItem(reference?: string, client = account): Promise<string> {
  numbers += 1;
  return client.store('u', { number: `${numbers}` }, { reference });
}
async function logOf(token: string, query: Query = {}, client = account): Promise<LogEntry[]> {
  const answer = await client.send('GET', '/vault/metadata', {
    query: { user: 'u', token, limit: -1, ...query },
  });
  expect(answer.outcome).toBe('200');
  return answer.as<LogEntry[]>();
}
function read(token: string, query: Query = {}, passphrase = PASSPHRASE): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user: 'u', token, ...query }, passphrase });
}
function update(token: string, query: Query = {}, passphrase = PASSPHRASE): Promise<Answer> {
  const body = { name: 'Ada' };
  return account.send('POST', '/vault/update', { query: { user: 'u', token, ...query }, passphrase, body });
}
function remove(token: string, query: Query = {}): Promise<Answer> {
  return account.send('DELETE', '/vault', { query: { user: 'u', token, ...query } });
}
function send(token: string, query: Query = {}, passphrase = PASSPHRASE): Promise<Answer> {
  const body = {
    request: { method: 'POST', url: 'https://one.example.invalid/', body: 'x' },
    synchronous: true,
  };
  return account.send('POST', '/proxy/post', { query: { user: 'u', token, ...query }, passphrase, body });
}

const NOT_IT = 'not the passphrase of it';
const ATTEMPTS: readonly [string, LogEntry['action'], string, (token: string) => Promise<Answer>][] = [
  ['a reading', 'decrypt', '403 passphrase_wrong', (token) => read(token, { reference: 'r' }, NOT_IT)],
  ['a reading', 'decrypt', '404 token_not_found', (token) => read(token, { reference: 's' })],
  ['a reading', 'decrypt', '400 reference_required', (token) => read(token)],
  [
    'a reading by rules',
    'decrypt',
    '404 rule_not_found',
    (token) => read(token, { reference: 'r', rules: 'x' }),
  ],
  [
    'a listing with data',
    'decrypt',
    '403 passphrase_wrong',
    (token) => read(token, { reference: 'r', decrypt_all: true }, NOT_IT),
  ],
  ['an update', 'encrypt', '403 passphrase_wrong', (token) => update(token, { reference: 'r' }, NOT_IT)],
  ['an update', 'encrypt', '404 token_not_found', (token) => update(token, { reference: 's' })],
  ['an update', 'encrypt', '400 reference_required', (token) => update(token)],
  ['a deletion', 'encrypt', '404 token_not_found', (token) => remove(token, { reference: 's' })],
  ['a deletion', 'encrypt', '400 reference_required', (token) => remove(token)],
  [
    'a proxied request',
    'decrypt',
    '403 passphrase_wrong',
    (token) => send(token, { reference: 'r' }, NOT_IT),
  ],
  ['a proxied request', 'decrypt', '404 token_not_found', (token) => send(token, { reference: 's' })],
];

describe('a refused attempt on an item', () => {
  test.each(ATTEMPTS)('%s is logged: %s %s', async (_, action, outcome, attempt) => {
    const token = await newItem('r');
    const answer = await attempt(token);
    expect(answer.outcome).toBe(outcome);
    const [refused, stored, ...rest] = await logOf(token, { reference: 'r' });
    expect(refused).toEqual({
      action,
      source: _.includes('proxied') ? 'proxy' : 'vault',
      outcome: outcome.slice(4),
      actor: account.name,
      request_id: answer.headers.get('x-request-id') ?? '',
      ip_address: stored?.ip_address ?? '',
      user_agent: 'tests/1.0',
      timestamp: new Date(now).toISOString(),
    });
    expect([stored?.outcome, rest]).toEqual(['ok', []]);
  });

  test('through an endpoint names it', async () => {
    const [token, other] = [await newItem(), await newItem()];
    const endpoint = await createRetrieve(account, 'u', { token });
    const outside = await retrieve(vault, endpoint, { query: { token: other } });
    const wrong = await retrieve(vault, endpoint, { query: { token, reference: 'x' } });
    expect([outside.outcome, wrong.outcome]).toEqual(['403 endpoint_out_of_scope', '404 token_not_found']);
    const named = { source: 'retrieve', actor: account.name, endpoint: endpoint.unique_id };
    expect((await logOf(other))[0]).toMatchObject({
      ...{ ...named, action: 'decrypt', outcome: 'endpoint_out_of_scope' },
      request_id: outside.headers.get('x-request-id') ?? '',
    });
    expect((await logOf(token))[0]).toMatchObject({ ...named, outcome: 'token_not_found' });
  });

  test('by another account is none on this item', async () => {
    const token = await newItem();
    const stranger = await vault.account();
    await stranger.key('u');
    const query = { user: 'u', token };
    expect((await stranger.send('GET', '/vault', { query, passphrase: PASSPHRASE })).outcome).toBe(
      '404 token_not_found',
    );
    expect(await logOf(token)).toHaveLength(1);
  });

  test('waits for nothing: the answer is out while the log cannot be read', async () => {
    const token = await newItem('r');
    const { itemStore } = vault.opened.stores;
    const original = itemStore.read.bind(itemStore);
    const held = Promise.withResolvers<void>();
    let reads = 0;
    // The first reading is that of the request, the second one that of the entry.
    Object.assign(itemStore, {
      read: async (...args: Parameters<typeof original>) => {
        reads += 1;
        if (reads > 1) {
          await held.promise;
        }
        return original(...args);
      },
    });
    const answer = await remove(token, { reference: 's' });
    Object.assign(itemStore, { read: original });
    expect(answer.outcome).toBe('404 token_not_found');
    held.resolve();
    expect((await logOf(token, { reference: 'r' }))[0]?.outcome).toBe('token_not_found');
  });

  test('neither hinders the owner nor is lost between readings', async () => {
    const token = await newItem('r');
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => read(token, { reference: n % 2 === 0 ? 'r' : 's' })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    const outcomes = (await logOf(token, { reference: 'r' })).map(({ outcome }) => outcome);
    expect(outcomes.toSorted()).toEqual([
      ...Array<string>(21).fill('ok'),
      ...Array<string>(20).fill('token_not_found'),
    ]);
  });

  test('is one of at most 30 in a quarter of an hour', async () => {
    const token = await newItem('r');
    const refuse = () => Promise.all(Array.from({ length: 50 }, () => remove(token)));
    const refused = async () =>
      (await logOf(token, { reference: 'r' })).filter(({ outcome }) => outcome !== 'ok').length;
    await refuse();
    await refuse();
    expect(await refused()).toBe(30);
    now += 15 * 60 * 1_000;
    await refuse();
    expect(await refused()).toBe(60);
    // A clock that is put back opens another one.
    now -= 60 * 60 * 1_000;
    await refuse();
    expect(await refused()).toBe(90);
  });

  test('is one of at most 30 of its credential, and takes none of another', async () => {
    const token = await newItem('r');
    const [loud, quiet] = [
      await credentialClient(vault.handle, account, ['vault:delete']),
      await credentialClient(vault.handle, account, ['vault:delete']),
    ];
    const refuse = (client: AccountClient) =>
      client.send('DELETE', '/vault', { query: { user: 'u', token } });
    await Promise.all(Array.from({ length: 50 }, () => refuse(loud)));
    await Promise.all(Array.from({ length: 3 }, () => refuse(quiet)));
    await refuse(account);
    const actors = (await logOf(token, { reference: 'r' })).map(({ actor }) => actor);
    const entriesBy = (client: typeof loud) =>
      actors.filter((actor) => actor === `${account.name}/${client.made.id}`).length;
    expect([entriesBy(loud), entriesBy(quiet), actors.length]).toEqual([30, 3, 35]);
  });

  test('is one of at most 1,000 of a caller, which leave others theirs', async () => {
    const client = await vault.account();
    await client.key('u');
    const tokens = await Promise.all(Array.from({ length: 40 }, () => newItem('r', client)));
    for (const token of tokens) {
      const query = { user: 'u', token };
      await Promise.all(Array.from({ length: 30 }, () => client.send('DELETE', '/vault', { query })));
    }
    const logs = await Promise.all(tokens.map((token) => logOf(token, { reference: 'r' }, client)));
    expect(logs.flat().filter(({ outcome }) => outcome !== 'ok')).toHaveLength(1_000);
    const token = await newItem('r');
    await remove(token);
    expect(await logOf(token, { reference: 'r' })).toHaveLength(2);
  });

  test('is written before the server stops', async () => {
    const second = await vault.secondServer({ now: () => now });
    const token = await newItem('r');
    const there = account.via(second.handle);
    await there.send('DELETE', '/vault', { query: { user: 'u', token } });
    await second.close();
    expect((await logOf(token, { reference: 'r' }))[0]?.outcome).toBe('reference_required');
  });
});

test('what is no refused attempt: a lock after too many failures', async () => {
  const strict = await openTestVault({ authFailuresMax: 3 });
  const client = await strict.account();
  await client.key('u');
  const token = await client.store('u', { number: '1' });
  const query = { user: 'u', token };
  const outcomes: string[] = [];
  for (let n = 0; n < 6; n++) {
    outcomes.push((await client.send('GET', '/vault', { query, passphrase: `${NOT_IT} ${n}` })).outcome);
  }
  const locked = outcomes.filter((outcome) => outcome === '429 too_many_failures').length;
  expect(locked).toBeGreaterThan(0);
  const wrong = (await logOf(token, {}, client)).filter(({ outcome }) => outcome === 'passphrase_wrong');
  expect(wrong).toHaveLength(6 - locked);
  expect(await logOf(token, {}, client)).toHaveLength(7 - locked);
  await strict.close();
});
