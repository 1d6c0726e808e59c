import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { type AccountClient, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { openTestVault } from '../helpers/vault.ts';

const MINUTE_MS = 60_000;

let account: AccountClient;
let now = Date.parse('2026-03-01T00:00:00Z');

// What is gathered waits in the server that heard it.
const vault = await openTestVault({
  now: () => now,
  trustedProxies: ['127.0.0.0/8'],
  authFailuresMax: 3,
  alone: true,
});
beforeEach(async () => {
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function lengthOf(aid: string): Promise<number> {
  return vault.raw.hlen(`{a:${aid}}log`);
}
async function operatorLog() {
  return (await Array.fromAsync(vault.opened.services.auditListing.walk('', {}))).flat();
}
function signIn(name: string, ip: string) {
  return account.send('GET', '/whoami', {
    headers: { authorization: basicAuth(name, 'wrong'), 'x-forwarded-for': ip },
  });
}

describe('refusals in a flood', () => {
  test('of one source are ten entries and a count, at the end of the window', async () => {
    for (let i = 0; i < 60; i++) {
      await signIn(account.name, '203.0.113.1');
    }
    await vault.opened.services.audit.flush();
    const before = await entriesOf(account, { action: 'sign_in', limit: 100 });
    const outcomes = (outcome: string) => before.filter((entry) => entry.outcome === outcome).length;
    expect([outcomes('unauthenticated'), outcomes('too_many_failures')]).toEqual([3, 10]);
    now += 16 * MINUTE_MS;
    await vault.opened.checkpoint();
    const [gathered] = await entriesOf(account, { action: 'sign_in', limit: 100 }).then((all) =>
      all.filter(({ count }) => count !== undefined),
    );
    expect(gathered).toMatchObject({ outcome: 'too_many_failures', source_ip: '203.0.113.1', count: 47 });
  });

  test('of a thousand sources stay within what an account may have, and none goes uncounted', async () => {
    const length = await lengthOf(account.aid);
    const refused = { action: 'sign_in', outcome: 'unauthenticated', actor: 'anonymous' } as const;
    const from = { userAgent: '', requestId: '' };
    for (let i = 0; i < 1_000; i++) {
      await vault.opened.services.audit.record({
        ...refused,
        ...from,
        aid: account.aid,
        ip: `198.51.${i >> 8}.${i & 255}`,
      });
    }
    expect((await lengthOf(account.aid)) - length).toBe(200);
    now += 16 * MINUTE_MS;
    await vault.opened.checkpoint();
    const all = await entriesOf(account, { action: 'sign_in', limit: 2_000 });
    const many = all.filter(({ count }) => count !== undefined);
    expect(many.map(({ count, source_ip }) => [count, source_ip])).toEqual([[800, '']]);
  });

  test('of one credential neither hide nor take the entries of another at the same address', async () => {
    const refuse = (client: AccountClient, id: string, ip: string) =>
      client.send('DELETE', '/rule', { query: { id }, headers: { 'x-forwarded-for': ip } });
    const [loud, quiet] = [
      await credentialClient(vault.handle, account, ['rule:write']),
      await credentialClient(vault.handle, account, ['rule:write']),
    ];
    for (let i = 0; i < 30; i++) {
      await refuse(loud, 'loud', '203.0.113.1');
    }
    // So many sources that the loud one has no entry left.
    for (let i = 0; i < 300; i++) {
      await vault.opened.services.audit.record({
        ...{
          aid: account.aid,
          action: 'rule.delete',
          outcome: 'rule_not_found',
          userAgent: '',
          requestId: '',
        },
        ...{ actor: `credential/${loud.made.id}`, ip: `198.51.${i >> 8}.${i & 255}` },
      });
    }
    for (let i = 0; i < 3; i++) {
      await refuse(quiet, 'quiet', '203.0.113.1');
    }
    const actor = `credential/${quiet.made.id}`;
    const entries = await entriesOf(account, { actor, action: 'rule.delete' });
    expect(entries.map(lineOf)).toEqual(Array<string>(3).fill('rule.delete rule_not_found rule/quiet'));
    now += 16 * MINUTE_MS;
    await vault.opened.checkpoint();
    const counted = (await entriesOf(account, { limit: 2_000 })).filter(({ count }) => count !== undefined);
    expect(new Set(counted.map((entry) => entry.actor))).toEqual(new Set([`credential/${loud.made.id}`]));
    const ofLoud = await entriesOf(account, {
      actor: `credential/${loud.made.id}`,
      limit: 2_000,
      action: 'rule.delete',
    });
    expect(ofLoud.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(330);
  });

  test('of another kind are told apart', async () => {
    for (let i = 0; i < 12; i++) {
      await account.send('GET', '/vault', { query: { user: 'u', token: 'nothing' }, passphrase: PASSPHRASE });
      await account.send('DELETE', '/rule', { query: { id: 'nothing' } });
    }
    now += 16 * MINUTE_MS;
    await vault.opened.checkpoint();
    const counted = (await entriesOf(account, { limit: 40 })).filter(({ count }) => count === 2);
    expect(counted.map(lineOf).sort()).toEqual([
      'item.decrypt token_not_found item/u/nothing',
      'rule.delete rule_not_found rule/nothing',
    ]);
  });
});

describe('what belongs to no account', () => {
  test("is on the operator's own log: unknown names, and requests without credentials", async () => {
    await signIn('nobody-here', '203.0.113.5');
    await vault.handle(new Request('http://localhost/v1/whoami'));
    await account.send('GET', '/whoami', { headers: { 'sec-fetch-site': 'cross-site' } });
    await vault.opened.services.audit.flush();
    expect((await operatorLog()).map(lineOf).slice(0, 3)).toEqual([
      'sign_in unauthenticated account/nobody-here',
      'sign_in not_allowed account',
      'sign_in unauthenticated account',
    ]);
    expect((await entriesOf(account, { limit: 3 })).map(({ object }) => object)).not.toContain(
      'account/nobody-here',
    );
  });

  test('and so is what is sent to endpoints that are not there', async () => {
    await account.send('GET', '/retrieve/not-there', { headers: { 'x-vault-retrieve-secret': 'wrong' } });
    await vault.opened.checkpoint();
    expect((await operatorLog())[0]).toMatchObject({
      action: 'endpoint.use',
      outcome: 'endpoint_refused',
      actor: 'anonymous',
      object: 'endpoint/not-there',
    });
  });
});

test('an endpoint leaves its making, its refusals and its end in the log of its account, and no use of it', async () => {
  const token = await account.store('u', { number: '4111111111111111' });
  const made = await account.send('POST', '/retrieve', {
    query: { user: 'u', token, unique_id: 'e1', ttl: '1h' },
    passphrase: PASSPHRASE,
  });
  const { secret } = made.as<{ secret: string }>();
  const use = (query: Record<string, string>, own: string) =>
    account.send('GET', '/retrieve/e1', { query, headers: { 'x-vault-retrieve-secret': own } });
  expect((await use({ token }, secret)).outcome).toBe('200');
  expect((await use({ token: 'other' }, secret)).outcome).toBe('403 endpoint_out_of_scope');
  expect((await use({ token }, 'wrong')).outcome).toBe('403 endpoint_refused');
  await vault.opened.checkpoint();
  now += 26 * 60 * MINUTE_MS;
  await vault.opened.sweep();
  const lines = (await entriesOf(account, { limit: 8 })).filter(({ object }) => object === 'endpoint/e1');
  expect(lines.map((entry) => [entry.actor, lineOf(entry)])).toEqual([
    ['vault', 'endpoint.expire success endpoint/e1'],
    ['anonymous', 'endpoint.use endpoint_refused endpoint/e1'],
    ['endpoint/e1', 'endpoint.use endpoint_out_of_scope endpoint/e1'],
    [`account/${account.name}`, 'endpoint.create success endpoint/e1'],
  ]);
});
