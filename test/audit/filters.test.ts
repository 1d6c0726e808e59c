/** Filters of the security log by actor, address and outcome, and by the keys of a credential. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import type { AccountClient, Query } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault({ trustedProxies: ['127.0.0.0/8'], alone: true });
let account: AccountClient;
beforeEach(async () => {
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

const RIGHTS = ['key:write', 'rule:write', 'vault:read'] as const;

describe('a filter', () => {
  const linesOf = async (query: Query, client = account): Promise<string[]> =>
    (await entriesOf(client, query)).map(lineOf);
  const refuse = (client: AccountClient, id: string, ip: string) =>
    client.send('DELETE', '/rule', { query: { id }, headers: { 'x-forwarded-for': ip } });

  test('selects by actor, address and outcome, each and together, page by page', async () => {
    const [one, two] = [
      await credentialClient(vault.handle, account, RIGHTS),
      await credentialClient(vault.handle, account, RIGHTS),
    ];
    await refuse(one, 'a', '203.0.113.7');
    await refuse(one, 'b', '203.0.114.7');
    await refuse(two, 'c', '203.0.113.8');
    await refuse(account, 'd', '2001:db8:0:1::1');
    const actor = `credential/${one.made.id}`;
    const of = (...ids: readonly string[]) => ids.map((id) => `rule.delete rule_not_found rule/${id}`);
    const action = 'rule.delete';
    expect(await linesOf({ action, actor })).toEqual(of('b', 'a'));
    expect(await linesOf({ action, actor: actor.slice(0, -1) })).toEqual([]);
    expect(await linesOf({ action, actor: `account/${account.name}` })).toEqual(of('d'));
    expect(await linesOf({ action, source_ip: '203.0.113.7' })).toEqual(of('a'));
    expect(await linesOf({ action, source_ip: '203.0.113.0/24' })).toEqual(of('c', 'a'));
    expect(await linesOf({ action, source_ip: '2001:DB8::/48' })).toEqual(of('d'));
    expect(await linesOf({ action, actor, source_ip: '203.0.113.0/24', outcome: 'rule_not_found' })).toEqual(
      of('a'),
    );
    expect(await linesOf({ actor, outcome: 'success' })).toEqual([
      `sign_in success ${actor}`,
      `sign_in success ${actor}`,
    ]);
    const found: string[] = [];
    for await (const { data } of account.sdk.audit.pages({ outcome: 'rule_not_found', limit: 1 })) {
      found.push(...data.map(lineOf));
    }
    expect(found).toEqual(of('d', 'c', 'b', 'a'));
    expect(await linesOf({ outcome: 'rule_not_found', limit: -1 })).toEqual(found);
  });

  test.each(['203.0.113', '10.0.0.0/33', 'a.example', ''])(
    'by %p, which is no address, is refused',
    async (source_ip) => {
      const answer = await account.send('GET', '/audit', { query: { source_ip } });
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.source_ip']);
    },
  );

  test('is bound to its cursor', async () => {
    await refuse(account, 'a', '203.0.113.7');
    await refuse(account, 'b', '203.0.113.7');
    const first = await account.send('GET', '/audit', { query: { limit: 1, outcome: 'rule_not_found' } });
    const next_token = first.headers.get('x-vault-next-token') ?? '';
    const ask = (query: Query) =>
      account.send('GET', '/audit', { query: { limit: 1, next_token, ...query } });
    expect((await ask({ outcome: 'rule_not_found' })).outcome).toBe('200');
    for (const query of [{}, { outcome: 'success' }, { outcome: 'rule_not_found', actor: 'vault' }]) {
      expect((await ask(query)).outcome).toBe('400 cursor_invalid');
    }
  });
});

test('a credential with certain keys sees no entries about others', async () => {
  await account.key('v');
  const tokens = await Promise.all(
    ['u', 'v'].map((user) => account.store(user, { number: '4111111111111111' })),
  );
  for (const [i, user] of ['u', 'v'].entries()) {
    await account.send('DELETE', '/vault', { query: { user, token: tokens[i] } });
  }
  const auditor = await credentialClient(vault.handle, account, ['audit:read'], { keys: ['v'] });
  for (const limit of [1_000, -1]) {
    const objects = (await entriesOf(auditor, { limit })).map(({ object = '' }) => object);
    expect(objects).toContain('key/v');
    expect(objects).toContain(`item/v/${tokens[1]}`);
    expect(objects.filter((object) => /^(key|items?)\/u/.test(object))).toEqual([]);
  }
});
