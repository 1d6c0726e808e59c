import { afterAll, describe, expect, test } from 'bun:test';
import type { AuditEntry } from '../../sdk/index.ts';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault({ alone: true, trustedProxies: ['127.0.0.0/8'] });
afterAll(() => vault.close());

describe('an entry', () => {
  test('tells who did what to what, when, from where and how it ended', async () => {
    const account = await vault.account();
    await account.send('GET', '/whoami');
    const before = Date.now();
    const answer = await account.send('POST', '/key', {
      body: { user: 'alice', passphrase: PASSPHRASE },
      headers: { 'user-agent': 'shop/1.0', 'x-request-id': 'request-1' },
    });
    expect(answer.outcome).toBe('200');
    const [created, signedIn, ...rest] = await entriesOf(account);
    const time = created?.time ?? '';
    expect(rest).toEqual([]);
    expect(created).toEqual({
      ...{ id: '2', time, action: 'key.create', outcome: 'success', actor: `account/${account.name}` },
      ...{ source_ip: '127.0.0.1', user_agent: 'shop/1.0', request_id: 'request-1', object: 'key/alice' },
    });
    expect(Date.parse(time)).toBeWithin(before, Date.now() + 1);
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(signedIn).toMatchObject({ id: '1', action: 'sign_in', object: `account/${account.name}` });
  });

  test('names a refusal by its code, with what the request named', async () => {
    const account = await vault.account();
    await account.key('alice');
    const again = await account.send('POST', '/key', { body: { user: 'alice', passphrase: PASSPHRASE } });
    expect(again.outcome).toBe('409 key_exists');
    const broken = await account.send('POST', '/key', { body: { passphrase: PASSPHRASE } });
    expect(broken.status).toBe(400);
    await account.send('DELETE', '/key', { query: { user: 'nobody' } });
    expect((await entriesOf(account)).map(lineOf)).toEqual([
      'key.delete key_not_found key/nobody',
      'key.create invalid_request',
      'key.create key_exists key/alice',
      'key.create success key/alice',
      `sign_in success account/${account.name}`,
    ]);
  });

  test('holds no card number that was sent where a token, a key or a name belongs', async () => {
    const account = await vault.account();
    const query = { user: 'alice', token: '4111111111111111' };
    await account.send('DELETE', '/vault', { query });
    await account.send('DELETE', '/vault', { query: { ...query, token: '5555-5555-5555-4444' } });
    await account.send('DELETE', '/key', { query: { user: '378282246310005' } });
    const luhnToken = '9000000000000001';
    await account.send('DELETE', '/vault', { query: { ...query, token: luhnToken } });
    expect((await entriesOf(account)).map(lineOf).slice(0, 4)).toEqual([
      `item.delete key_not_found item/alice/${luhnToken}`,
      'key.delete key_not_found key',
      'item.delete key_not_found item/alice',
      'item.delete key_not_found item/alice',
    ]);
    const headers = { authorization: basicAuth('4111111111111111', 'x') };
    expect((await account.send('GET', '/whoami', { headers })).status).toBe(401);
    await account.send('GET', '/retrieve/5555555555554444');
    await vault.opened.checkpoint();
    const { head } = await vault.opened.stores.auditStore.readMarks('');
    const { head: newest } = await vault.opened.crypto.describeChain({
      aid: '',
      ...{ head, start: undefined },
    });
    const entries = await vault.opened.stores.auditStore.read('', [newest.sequence, newest.sequence - 1]);
    const sealed = entries.filter((entry) => entry !== undefined);
    const { events } = await vault.opened.crypto.readAudit({
      aid: '',
      newest: newest.sequence,
      filter: {},
      known: [],
      entries: sealed,
    });
    expect(events.map(({ action, object }) => [action, object])).toEqual([
      ['endpoint.use', 'endpoint'],
      ['sign_in', 'account'],
    ]);
  });

  test('holds nothing of what a caller sent but names and the user agent', async () => {
    const account = await vault.account();
    const odd = { user: 'a name with spaces', token: 'x'.repeat(300) };
    await account.send('DELETE', '/vault', { query: odd });
    expect((await entriesOf(account, { limit: 1 })).map(lineOf)).toEqual(['item.delete invalid_request']);
    await account.send('DELETE', '/vault', { query: { ...odd, user: 'alice' } });
    expect((await entriesOf(account, { limit: 1 })).map(lineOf)).toEqual([
      'item.delete key_not_found item/alice',
    ]);
  });

  test('of one account shows to no other', async () => {
    const [one, other] = [await vault.account(), await vault.account()];
    await one.key('alice');
    expect((await entriesOf(other)).map(lineOf)).toEqual([`sign_in success account/${other.name}`]);
  });
});

describe('reading', () => {
  test('is an entry itself, refused or not', async () => {
    const account = await vault.account();
    await entriesOf(account);
    const refused = await account.send('GET', '/audit', { query: { next_token: 'AAAA' } });
    expect(refused.outcome).toBe('400 cursor_invalid');
    const lines = (await entriesOf(account)).map(lineOf);
    expect(lines.slice(0, 2)).toEqual(['audit.read cursor_invalid', 'audit.read success']);
  });
});

describe('signing in', () => {
  test('is an entry for each check of the password, and not for each request', async () => {
    const account = await vault.account();
    await Promise.all([1, 2, 3, 4].map(() => account.send('GET', '/whoami')));
    await account.send('GET', '/whoami', { headers: { 'x-forwarded-for': '203.0.113.9' } });
    await account.send('GET', '/whoami', { headers: { 'x-forwarded-for': '203.0.113.9' } });
    const entries = await entriesOf(account, { action: 'sign_in' });
    expect(entries.map(({ source_ip, outcome }) => [source_ip, outcome])).toEqual([
      ['203.0.113.9', 'success'],
      ['127.0.0.1', 'success'],
    ]);
  });

  test('with a wrong password is an entry of the account that was named', async () => {
    const account = await vault.account();
    const headers = { authorization: basicAuth(account.name, 'wrong'), 'x-forwarded-for': '203.0.113.8' };
    expect((await account.send('GET', '/whoami', { headers })).status).toBe(401);
    await account.send('GET', '/retrieve/5555555555554444');
    await vault.opened.checkpoint();
    const [entry] = await entriesOf(account, { action: 'sign_in' }).then((all) => all.slice(1));
    expect(entry).toMatchObject({
      outcome: 'unauthenticated',
      actor: 'anonymous',
      object: `account/${account.name}`,
      source_ip: '203.0.113.8',
    });
  });
});

test('the account itself leaves changes of its password and its preferences', async () => {
  const account = await vault.account();
  const preference = { key: 'default_limit', value: 10 };
  expect((await account.send('POST', '/preferences', { body: preference })).outcome).toBe('200');
  expect((await account.send('DELETE', '/preferences', { query: { key: 'not-set' } })).status).toBe(404);
  const fresh = 'a password that nobody has seen before, ever';
  expect((await account.send('POST', '/change-password', { body: { new_password: fresh } })).outcome).toBe(
    '200',
  );
  const headers = { authorization: basicAuth(account.name, fresh) };
  const entries = (await account.send('GET', '/audit', { headers })).as<AuditEntry[]>();
  expect(entries.slice(1, 4).map(lineOf)).toEqual([
    `password.change success account/${account.name}`,
    'preference.delete preference_not_found preference/not-set',
    'preference.set success preference/default_limit',
  ]);
});

test('what comes at once over two servers is written once each, in one chain', async () => {
  const account = await vault.account();
  const second = await vault.secondServer();
  const others = account.via(second.handle);
  const objects = Array.from({ length: 500 }, (_, i) => `rule/${i}`);
  const note = { aid: account.aid, action: 'rule.create', outcome: 'success', actor: 'operator' } as const;
  const from = { ip: '', userAgent: '', requestId: '' };
  await Promise.all(
    objects.map((object, i) =>
      (i % 2 === 0 ? vault : second).opened.services.audit.record({ ...note, ...from, object }),
    ),
  );
  await Promise.all(
    [0, 1, 2].map((i) => others.send('POST', '/rule', { query: { id: `r${i}` }, body: [{ name: 'noop' }] })),
  );
  const entries = await entriesOf(account, { action: 'rule.create' });
  expect(entries.map(({ object }) => object).sort()).toEqual(
    [...objects, 'rule/r0', 'rule/r1', 'rule/r2'].sort(),
  );
  const all = await entriesOf(account, { limit: -1 });
  expect(all.map(({ id }) => Number(id))).toEqual(all.map((_, i) => all.length - i));
  await second.close();
});

test('a full Redis is not filled further by entries of who reads; what is deleted is noted', async () => {
  const account = await vault.account();
  await account.key('alice');
  const token = await account.store('alice', { number: '71' });
  const rule = { query: { id: 'first' } };
  await account.send('POST', '/rule', {
    ...rule,
    body: [{ name: 'noop' }],
  });
  const { aid } = (await vault.opened.services.accounts.lookUp(account.name)) ?? { aid: '' };
  const headOf = async (): Promise<number> => {
    const { head } = await vault.opened.stores.auditStore.readMarks(aid);
    return (await vault.opened.crypto.describeChain({ aid, ...{ head, start: undefined } })).head.sequence;
  };
  const before = await headOf();
  await vault.raw.config('SET', 'maxmemory', '1mb');
  const answers = await Promise.all(
    Array.from({ length: 10 }, async () => [
      await account.send('GET', '/audit'),
      await account.send('GET', '/vault/metadata', { query: { user: 'alice', token } }),
    ]),
  );
  const between = await headOf();
  await account.send('DELETE', '/rule', rule);
  const after = await headOf();
  await vault.raw.config('SET', 'maxmemory', '0');
  expect(new Set(answers.flat().map(({ outcome }) => outcome))).toEqual(new Set(['503 store_unavailable']));
  expect([between, after]).toEqual([before, before + 1]);
});
