/** Accounts by API, as a platform manages them with an operator credential. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../server/boot/routes.ts';
import { OPERATOR_SCOPE, SCOPES } from '../../server/core/scopes.ts';
import { type AccountClient, type Answer, createAccountClient, type Sending } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { credentialClient, type MadeCredential, operatorClient } from '../helpers/credentials.ts';
import { createCapture, createRetrieve } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

let vault: TestVault;
let operator: AccountClient & { readonly made: MadeCredential };
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ trustedProxies: ['127.0.0.0/8'] });
  operator = await operatorClient(vault);
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

interface Shown {
  readonly name: string;
  readonly password?: string;
  readonly created_at: string;
}

interface Entry {
  readonly action: string;
  readonly outcome: string;
  readonly actor: string;
  readonly actor_name?: string;
  readonly object: string;
  readonly request_id: string;
}

let names = 0;
function newName(): string {
  names += 1;
  return `shop-${names}`;
}

/** Creates an account, and gives its client. */
async function create(body: object = {}): Promise<AccountClient & { readonly answer: Answer }> {
  const answer = await operator.send('POST', '/account', { body: { name: newName(), ...body } });
  const { name, password = '' } = answer.as<Shown>();
  const aid = (await vault.opened.services.accounts.lookUp(name))?.aid ?? '';
  return { ...createAccountClient(vault.handle, { name, password, aid }), answer };
}

function post(name: string, action: string): Promise<Answer> {
  return operator.send('POST', `/account/${name}/${action}`);
}

/** The entries of the operator's log, newest first. */
async function operatorLog(): Promise<readonly Entry[]> {
  await vault.opened.services.audit.flush();
  const { out } = await runCommand(['audit', 'export'], { vault });
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
}

const OWN_ROUTES = ROUTES.filter(({ scope }) => scope === OPERATOR_SCOPE);
const OTHERS = ROUTES.filter(
  ({ scope, auth }) => scope !== OPERATOR_SCOPE && auth !== 'public' && auth !== 'console',
);

function pathOf({ path }: { readonly path: string }): string {
  return path.slice('/v1'.length).replaceAll(/\{\w+\}/g, 'x');
}

describe('rights', () => {
  test('the routes of accounts are those of the operator', () => {
    expect(OWN_ROUTES.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/account',
      'GET /v1/account',
      'GET /v1/account/{name}',
      'PATCH /v1/account/{name}',
      'DELETE /v1/account/{name}',
      'POST /v1/account/{name}/password',
      'POST /v1/account/{name}/suspend',
      'POST /v1/account/{name}/resume',
    ]);
  });

  test.each(OTHERS.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'an operator credential is refused on %s',
    async (_name, route) => {
      const sending = route.method === 'GET' ? {} : { body: {} };
      const answer = await operator.send(route.method, pathOf(route), sending);
      const isOfEndpoint = route.auth !== 'basic';
      expect(answer.outcome).toBe(isOfEndpoint ? '403 endpoint_refused' : '403 not_allowed');
      expect(answer.field).toBe(isOfEndpoint ? undefined : 'scope');
    },
  );

  test('no other secret is taken where accounts are managed', async () => {
    const endpoints = [await createCapture(account, 'u'), await createRetrieve(account, 'u')];
    const credentials = await Promise.all(
      [...SCOPES.map((scope) => [scope]), [...SCOPES]].map((scopes) =>
        credentialClient(vault.handle, account, scopes, { unmasked: true }),
      ),
    );
    const unmasked = await vault.account({ unmasked: true });
    for (const { method, ...route } of OWN_ROUTES) {
      const sending: Sending = method === 'GET' ? {} : { body: { name: 'new' } };
      for (const caller of [account, unmasked, ...credentials]) {
        const answer = await caller.send(method, pathOf(route), sending);
        expect([answer.outcome, answer.field]).toEqual(['403 not_allowed', 'scope']);
        expect(answer.headers.get('www-authenticate')).toContain(OPERATOR_SCOPE);
      }
      for (const { unique_id, secret } of endpoints) {
        for (const authorization of [`Bearer ${secret}`, `Basic ${btoa(`${unique_id}:${secret}`)}`]) {
          const headers = { authorization, 'x-vault-capture-secret': secret };
          const answer = await account.send(method, pathOf(route), { ...sending, headers });
          expect(answer.outcome).toBe('401 unauthenticated');
        }
      }
    }
    expect((await operator.send('GET', '/account/new')).outcome).toBe('404 account_not_found');
  });

  test('no credential of an account can have the scope', async () => {
    const body = { name: 'c', scopes: [OPERATOR_SCOPE] };
    const answer = await account.send('POST', '/credential', { body });
    expect(answer.outcome).toBe('400 invalid_request');
    expect(answer.field).toStartWith('body.scopes');
    const args = ['credential', 'create', 'c', '--account', account.name, '--scope', OPERATOR_SCOPE];
    expect((await runCommand(args, { vault })).code).toBe(2);
  });

  test('addresses, expiry and secrets of an operator credential are those of any', async () => {
    const near = await operatorClient(vault, '--ip', '192.0.2.0/24');
    const from = (ip: string): Sending => ({ headers: { 'x-forwarded-for': ip } });
    expect((await near.send('GET', '/account', from('192.0.2.7'))).outcome).toBe('200');
    expect((await near.send('GET', '/account', from('198.51.100.7'))).outcome).toBe('403 not_allowed');
    expect(near.made).toMatchObject({ scopes: [OPERATOR_SCOPE], ips: ['192.0.2.0/24'], unmasked: false });

    const rolled = await commandJson<MadeCredential>(
      vault,
      ...['credential', 'roll', near.made.id, '--operator', '--overlap', '1h'],
    );
    const after = createAccountClient(vault.handle, { name: rolled.id, password: rolled.secret, aid: '' });
    for (const client of [near, after]) {
      expect((await client.send('GET', '/account', from('192.0.2.7'))).outcome).toBe('200');
    }
    const bearer = { authorization: `Bearer ${rolled.secret}`, 'x-forwarded-for': '192.0.2.7' };
    expect((await near.send('GET', '/account', { headers: bearer })).outcome).toBe('200');
    await commandJson(vault, 'credential', 'delete', near.made.id, '--operator');
    for (const client of [near, after]) {
      expect((await client.send('GET', '/account', from('192.0.2.7'))).outcome).toBe('401 unauthenticated');
    }
    const list = await commandJson<readonly MadeCredential[]>(vault, 'credential', 'list', '--operator');
    expect(list.map(({ id }) => id)).not.toContain(near.made.id);
    expect(list.map(({ id }) => id)).toContain(operator.made.id);
    const own = await account.send('GET', '/credential', { query: {} });
    expect(own.text).not.toContain(operator.made.id);
  });

  test.each([
    [['create', 'x']],
    [['create', 'x', '--operator', '--account', 'y', '--scope', 'vault:list']],
    [['create', 'x', '--operator', '--scope', 'vault:list']],
    [['create', 'x', '--operator', '--key', 'u']],
    [['create', 'x', '--operator', '--host', 'a.example']],
    [['create', 'x', '--operator', '--unmasked']],
    [['list', '--operator', '--account', 'y']],
    [['roll', 'x']],
    [['delete', 'x']],
  ])('vault credential %p is refused', async (args) => {
    expect((await runCommand(['credential', ...args], { vault })).code).toBe(2);
  });
});

describe('an account', () => {
  test('is created with a password of 256 bits, shown once, with no rights but those given', async () => {
    const shop = await create();
    expect(Object.keys(shop.answer.as<Shown>())).toEqual([
      ...['name', 'password', 'unmasked', 'paying', 'suspended', 'created_at'],
    ]);
    expect(shop.password).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect((await shop.send('GET', '/whoami')).json).toMatchObject({ user: shop.name });
    const { password: _, ...shown } = shop.answer.as<Shown>();
    expect(shown).toMatchObject({ unmasked: false, paying: false, suspended: false });
    expect((await operator.send('GET', `/account/${shop.name}`)).json).toEqual(shown);

    const rights = { unmasked: true, paying: true, hosts: ['Pay.Example', 'pay.example'], rate: '5/s' };
    const rich = await create(rights);
    const list = (await operator.send('GET', '/account')).as<readonly Shown[]>();
    expect(list.find(({ name }) => name === rich.name)).toMatchObject({ ...rights, hosts: ['pay.example'] });
    expect(list.map(({ name }) => name)).toEqual(list.map(({ name }) => name).sort());
    expect(JSON.stringify(list)).not.toContain('password');
    expect((await rich.send('GET', '/account')).outcome).toBe('403 not_allowed');
  });

  test.each([
    [{ name: '' }, 'body.name'],
    [{ name: '..' }, 'body.name'],
    [{ name: 'a:b' }, 'body.name'],
    [{ name: 'a b' }, 'body.name'],
    [{ name: 'x'.repeat(129) }, 'body.name'],
    [{ name: `cred_${'a'.repeat(22)}` }, 'body.name'],
    [{ name: 'ok', rate: '0/m' }, 'body.rate'],
    [{ name: 'ok', rate: '5/d' }, 'body.rate'],
    [{ name: 'ok', rate: null }, 'body.rate'],
    [{ name: 'ok', hosts: [] }, 'body.hosts'],
    [{ name: 'ok', hosts: ['a', 'https://b'] }, 'body.hosts[1]'],
    [{ name: 'ok', unmasked: 'yes' }, 'body.unmasked'],
    [{ name: 'ok', password: 'own' }, 'body.password'],
    [{ name: 'ok', suspended: true }, 'body.suspended'],
    [{}, 'body.name'],
  ])('%p is refused', async (body, field) => {
    const answer = await operator.send('POST', '/account', { body });
    expect([answer.status, answer.field]).toEqual([400, field]);
    expect((await operator.send('GET', '/account/ok')).outcome).toBe('404 account_not_found');
  });

  test('is changed as far as the body says, on every server', async () => {
    const second = await vault.secondServer();
    const shop = await create({ unmasked: true, hosts: ['a.example'], rate: '100/m' });
    const change = (body: object): Promise<Answer> =>
      operator.send('PATCH', `/account/${shop.name}`, { body });
    const before = (await operator.send('GET', `/account/${shop.name}`)).as<Shown>();
    expect((await change({})).json).toEqual(before);
    expect((await change({ unmasked: false, rate: '50/m' })).json).toEqual({
      ...before,
      ...{ unmasked: false, rate: '50/m' },
    });
    const bare = (await change({ hosts: null, rate: null, paying: true })).json;
    expect(bare).toEqual({
      ...{ name: shop.name, unmasked: false, paying: true, suspended: false },
      created_at: before.created_at,
    });
    expect((await operator.via(second.handle).send('GET', `/account/${shop.name}`)).json).toEqual(bare);
    expect((await change({ name: 'other' })).outcome).toBe('400 unknown_parameter');
    expect((await change({ suspended: true })).outcome).toBe('400 unknown_parameter');
    expect((await change({ hosts: ['a b'] })).field).toBe('body.hosts[0]');
    await second.close();
  });

  test('gets a new password, and the old one ends at once, with the overlap that it had', async () => {
    const shop = await create();
    const changed = await shop.send('POST', '/change-password', { body: { overlap: '1h' } });
    const { password } = changed.as<{ password: string }>();
    const credential = await credentialClient(
      vault.handle,
      createAccountClient(vault.handle, { ...shop, password }),
      ['key:read'],
    );
    const answer = await post(shop.name, 'password');
    const made = answer.as<{ name: string; password: string }>();
    expect(Object.keys(made)).toEqual(['name', 'password']);
    const outcome = (word: string): Promise<string> =>
      createAccountClient(vault.handle, { ...shop, password: word })
        .send('GET', '/whoami')
        .then(({ status }) => String(status));
    expect(await Promise.all([shop.password, password, made.password].map(outcome))).toEqual([
      ...['401', '401', '200'],
    ]);
    expect((await credential.send('GET', '/key')).outcome).toBe('200');
  });

  test('is deleted when it has no key, and its name is never given again', async () => {
    const shop = await create();
    const credential = await credentialClient(vault.handle, shop, ['key:read']);
    await shop.key('k');
    const path = `/account/${shop.name}`;
    expect((await operator.send('DELETE', path)).outcome).toBe('409 account_not_empty');
    await shop.key('while-it-is-refused');
    for (const key of ['k', 'while-it-is-refused']) {
      await shop.send('DELETE', '/key', { query: { key } });
    }
    expect((await operator.send('DELETE', path)).json).toEqual({ message: 'The account was deleted.' });
    expect((await operator.send('DELETE', path)).outcome).toBe('404 account_not_found');
    for (const client of [shop, credential]) {
      expect((await client.send('GET', '/key')).outcome).toBe('401 unauthenticated');
    }
    const again = await operator.send('POST', '/account', { body: { name: shop.name } });
    expect([again.outcome, again.field]).toEqual(['409 account_exists', 'body.name']);
    const restarted = await vault.secondServer();
    const there = await operator
      .via(restarted.handle)
      .send('POST', '/account', { body: { name: shop.name } });
    expect(there.outcome).toBe('409 account_exists');
    await restarted.close();
    // The command line may.
    await commandJson(vault, 'account', 'create', shop.name);
    expect((await operator.send('GET', path)).outcome).toBe('200');
    // What it deletes is not given again either.
    expect((await runCommand(['account', 'delete', shop.name, '--yes'], { vault })).code).toBe(0);
    const last = await operator.send('POST', '/account', { body: { name: shop.name } });
    expect(last.outcome).toBe('409 account_exists');
  });

  test.each([
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/password'],
    ['POST', '/suspend'],
    ['POST', '/resume'],
  ])('an unknown one is not found: %s %s', async (method, action) => {
    for (const name of ['nobody', `${'x'.repeat(200)}`, 'a%20b', '4111111111111111']) {
      const sending = method === 'PATCH' ? { body: { paying: true } } : {};
      const answer = await operator.send(method, `/account/${name}${action}`, sending);
      expect(answer.outcome).toBe('404 account_not_found');
    }
  });
});

test('each change is in both logs with the credential as actor, and the account’s has the revision', async () => {
  const shop = await create();
  const path = `/account/${shop.name}`;
  await operator.send('PATCH', path, { body: { rate: '600/m' } });
  await post(shop.name, 'suspend');
  await post(shop.name, 'resume');
  const answer = await post(shop.name, 'password');
  // A sign-in would record it, too.
  expect(await vault.opened.services.accountRecords.readNewestRevision(shop.aid)).toBe(5);
  const { password } = answer.as<{ password: string }>();
  const now = createAccountClient(vault.handle, { ...shop, password });
  const own = (await now.send('GET', '/audit', { query: { actor: `credential/${operator.made.id}` } })).as<
    readonly Entry[]
  >();
  const actions = [
    'password.change',
    'account.resume',
    'account.suspend',
    'account.change',
    'account.create',
  ];
  expect(own.map(({ action }) => action)).toEqual(actions);
  for (const entry of own) {
    expect(entry).toMatchObject({
      outcome: 'success',
      actor_name: 'a platform',
      object: `account/${shop.name}`,
    });
  }
  const entries = (await operatorLog()).filter(({ object }) => object === `account/${shop.name}`);
  expect(entries.map(({ action }) => action)).toEqual(actions);
  expect(entries.map(({ request_id }) => request_id)).toEqual(own.map(({ request_id }) => request_id));

  await operator.send('DELETE', path);
  expect(await vault.opened.services.accountRecords.readNewestRevision(shop.aid)).toBe(
    Number.MAX_SAFE_INTEGER,
  );
  const [deleted] = await operatorLog();
  expect(deleted).toMatchObject({ action: 'account.delete', actor: `credential/${operator.made.id}` });
  const refused = await operator.send('DELETE', path);
  expect(refused.outcome).toBe('404 account_not_found');
  expect((await operatorLog())[0]).toMatchObject({ action: 'account.delete', outcome: 'account_not_found' });
});

test('passwords are kept nowhere, and an Idempotency-Key keeps no reply', async () => {
  const body = { name: newName() };
  const idempotencyKey = 'once';
  const made = await operator.send('POST', '/account', { body, idempotencyKey });
  expect(made.outcome).toBe('200');
  expect((await operator.send('POST', '/account', { body, idempotencyKey })).outcome).toBe(
    '409 account_exists',
  );
  expect(await vault.raw.keys('{d:*')).toEqual([]);
  const { password = '' } = made.as<Shown>();
  expect(password.length).toBe(43);
  expect(vault.lines.at(-1)).toMatchObject({ credential: operator.made.id, account: undefined });
  const logged = JSON.stringify([vault.lines, vault.events, await operatorLog()]);
  expect([logged.includes(password), logged.includes(operator.made.secret)]).toEqual([false, false]);
});

test('nothing of the operator is counted or limited as an account', async () => {
  const before = await vault.raw.keys('{a:}*');
  await operator.send('GET', '/account');
  expect(await vault.raw.keys('{a:}*')).toEqual(before);
  expect(before.filter((key) => key !== '{a:}log')).toEqual([]);
});
