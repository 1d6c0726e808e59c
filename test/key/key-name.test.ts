/** The two names of a vault key in requests: `key`, and `user`. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../server/boot/routes.ts';
import { pairsOf } from '../../server/schema/other-name.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { person } from '../helpers/people.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault();
const account = await vault.account();
await account.key('one');
await account.key('two');
const member = await person(vault, account, 'owner');
afterAll(() => vault.close());

/** A request to a route, with names of keys where it has them. */
type Send = (names: Readonly<Record<string, string>>) => Promise<Answer>;

const CARD = { card_number: '4111111111111111' };

function inQuery(
  method: string,
  path: string,
  more: Readonly<Record<string, string>> = {},
  body?: object,
): Send {
  return (names) =>
    account.send(method, path, {
      query: { ...more, ...names },
      passphrase: PASSPHRASE,
      ...(body && { body }),
    });
}

function inBody(method: string, path: string, more: object): Send {
  const passphrase = method === 'POST' && path.startsWith('/vault') ? { passphrase: PASSPHRASE } : {};
  return (names) => account.send(method, path, { ...passphrase, body: { ...more, ...names } });
}

function ofPerson(method: string, path: string, more: object = {}): Send {
  const body = { passkey_id: member.passkey.id, ...more };
  return (names) => member.send(method, `/person/self${path}`, { body: { ...body, ...names } });
}

const RECIPIENTS = [
  'age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm',
  'age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg',
];
const BAD_CARD = { token: 'none' };
const SECRETS = { passphrase: PASSPHRASE };

/** A request to each operation that names a key, and its outcome for a key that is not there. */
const REQUESTS: Readonly<Record<string, readonly [send: Send, place: 'query' | 'body']>> = {
  storeItem: [inQuery('POST', '/vault', {}, CARD), 'query'],
  readItems: [inQuery('GET', '/vault', { token: 'none' }), 'query'],
  deleteItem: [inQuery('DELETE', '/vault', { token: 'none' }), 'query'],
  updateItem: [inQuery('POST', '/vault/update', { token: 'none' }, { a: 1 }), 'query'],
  readLog: [inQuery('GET', '/vault/metadata', { token: 'none' }), 'query'],
  readAccess: [inQuery('GET', '/vault/access'), 'query'],
  createCaptureEndpoint: [inQuery('POST', '/capture'), 'query'],
  listCaptureEndpoints: [inQuery('GET', '/capture'), 'query'],
  createRetrieveEndpoint: [inQuery('POST', '/retrieve'), 'query'],
  listRetrieveEndpoints: [inQuery('GET', '/retrieve'), 'query'],
  deleteKey: [inQuery('DELETE', '/key'), 'query'],
  readRecovery: [inQuery('GET', '/key/recovery'), 'query'],
  readReseal: [inQuery('GET', '/key/reseal'), 'query'],
  storeItems: [inBody('POST', '/vault/batch', { items: [{ data: CARD }] }), 'body'],
  decryptItems: [inBody('POST', '/vault/batch/decrypt', { items: [BAD_CARD] }), 'body'],
  deleteItems: [inBody('POST', '/vault/batch/delete', { items: [BAD_CARD] }), 'body'],
  changePassphrase: [inBody('PUT', '/key', SECRETS), 'body'],
  resealKey: [inBody('POST', '/key/reseal', SECRETS), 'body'],
  createRecovery: [
    inBody('POST', '/key/recovery', { ...SECRETS, recipients: RECIPIENTS, threshold: 2 }),
    'body',
  ],
  deleteRecovery: [inBody('DELETE', '/key/recovery', SECRETS), 'body'],
  beginPassphrase: [ofPerson('POST', '/passphrase/options'), 'body'],
  keepPassphrase: [ofPerson('PUT', '/passphrase', { wrap: 'A'.repeat(40) }), 'body'],
};

/** Operations whose request for a key that is not there has another outcome. */
const OTHERS = [
  'createInbound',
  'forgetPassphrase',
  'createKey',
  'recoverKey',
  'exportItems',
  'proxyPost',
  'proxyGet',
  'requestNetworkToken',
];

test('every operation that names a key is tried', () => {
  const named = ROUTES.filter(({ query, body }) =>
    [...pairsOf(query), ...(body.kind === 'none' ? [] : pairsOf(body.schema))].some(
      ({ name }) => name === 'user',
    ),
  ).map(({ operationId }) => operationId);
  expect(named.sort()).toEqual([...Object.keys(REQUESTS), ...OTHERS].sort());
});

describe.each(Object.entries(REQUESTS))('%s', (operation, [send, place]) => {
  const at = ({ outcome, field }: Answer) => [outcome, field];
  const isOptional = /^list|readItems|readAccess/.test(operation);

  test('takes either name, and tells errors under the one that was sent', async () => {
    expect(at(await send({ user: 'nobody' }))).toEqual(['404 key_not_found', `${place}.user`]);
    expect(at(await send({ key: 'nobody' }))).toEqual(['404 key_not_found', `${place}.key`]);
    expect(at(await send({ key: 'nobody', user: 'nobody' }))).toEqual(['404 key_not_found', `${place}.key`]);
    expect(at(await send({ key: 'a b' }))).toEqual(['400 invalid_request', `${place}.key`]);
    expect(at(await send({ user: 'a b' }))).toEqual(['400 invalid_request', `${place}.user`]);
  });

  test('refuses two different ones, and none where it needs one', async () => {
    const field = `${place}.key`;
    expect(at(await send({ key: 'one', user: 'two' }))).toEqual(['400 conflicting_parameters', field]);
    if (!isOptional) {
      expect(at(await send({}))).toEqual(['400 invalid_request', `${place}.user`]);
    }
  });
});

test('a key is made, used and deleted under the first name, and replies have the other', async () => {
  const made = await account.send('POST', '/key', { body: { key: 'new', passphrase: PASSPHRASE } });
  expect(made.json).toEqual({ user: 'new', passphrase: PASSPHRASE });
  expect((await account.send('POST', '/key', { body: { key: 'new' } })).field).toBe('body.key');
  const query = { key: 'new', reference: 'r' };
  const stored = await account.send('POST', '/vault', { query, passphrase: PASSPHRASE, body: CARD });
  expect(stored.json).toMatchObject({ user: 'new' });
  const items = [{ token: (stored.json as { token: string }).token, reference: 'r' }];
  const opened = await account.send('POST', '/vault/batch/decrypt', {
    passphrase: PASSPHRASE,
    body: { key: 'new', items },
  });
  expect(opened.text).toContain('1111');
  const kept = await account.send('POST', '/vault/batch', {
    passphrase: PASSPHRASE,
    body: { key: 'new', user: 'new', items: [{ data: CARD }] },
  });
  expect(kept.json).toMatchObject({ results: [{ user: 'new' }] });
  const removed = await account.send('DELETE', '/key', { query: { key: 'new', safe: 'false' } });
  expect(removed.outcome).toBe('200');
});

test('a credential that is limited to keys is so under either name', async () => {
  const scopes = ['vault:store', 'vault:list', 'vault:read', 'proxy:send'] as const;
  const limited = await credentialClient(vault.handle, account, scopes, { keys: ['one'] });
  const store = (caller: AccountClient, query: Readonly<Record<string, string>>) =>
    caller.send('POST', '/vault', { query, passphrase: PASSPHRASE, body: CARD });
  expect((await store(limited, { key: 'one' })).outcome).toBe('200');
  for (const name of ['key', 'user']) {
    const items = [{ token: 'none' }];
    const answers = [
      await store(limited, { [name]: 'two' }),
      await limited.send('POST', '/vault/batch', {
        passphrase: PASSPHRASE,
        body: { [name]: 'two', items: [{ data: CARD }] },
      }),
      await limited.send('POST', '/vault/batch/decrypt', {
        passphrase: PASSPHRASE,
        body: { [name]: 'two', items },
      }),
    ];
    expect(answers.map(({ outcome }) => outcome)).toEqual(Array(3).fill('403 not_allowed'));
  }
});

test('the SDK takes either name', async () => {
  const { keys, vault: items } = account.sdk;
  await keys.create({ key: 'sdk', passphrase: PASSPHRASE });
  const { token } = await items.store({ key: 'sdk', data: CARD });
  expect(await items.decrypt({ user: 'sdk', token })).toHaveProperty('card_number');
  expect(await items.decrypt({ key: 'sdk', user: 'sdk', token })).toHaveProperty('card_number');
  const found = await Array.fromAsync(items.items({ key: 'sdk' }));
  expect(found).toEqual([expect.objectContaining({ user: 'sdk', token })]);
  await items.delete({ key: 'sdk', token });
  await keys.delete({ key: 'sdk' });
});
