/** Names of credentials in entries of logs. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
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

describe('the name of a credential', () => {
  test('is in each of its entries, also after its deletion, and in no other', async () => {
    const desk = await credentialClient(vault.handle, account, RIGHTS);
    await desk.send('DELETE', '/rule', { query: { id: 'none' } });
    await desk.send('GET', '/credential');
    await desk.key('v');
    await account.send('DELETE', `/credential/${desk.made.id}`);
    expect((await desk.send('GET', '/whoami')).status).toBe(401);
    await vault.opened.checkpoint();
    const entries = await entriesOf(account);
    const actor = `credential/${desk.made.id}`;
    const own = entries.filter((entry) => entry.actor === actor);
    expect(own.map(lineOf)).toEqual([
      'key.create success key/v',
      `credential.use not_allowed ${actor}`,
      'rule.delete rule_not_found rule/none',
      `sign_in success ${actor}`,
    ]);
    expect(own.map(({ actor_name }) => actor_name)).toEqual(own.map(() => 'a test'));
    const others = entries.filter((entry) => entry.actor !== actor);
    expect(others.filter(({ actor_name }) => actor_name !== undefined)).toEqual([]);
  });

  test('is whole, whatever characters it has', async () => {
    const name = `${'客'.repeat(126)}😀`;
    const body = { name, scopes: RIGHTS };
    const made = (await account.send('POST', '/credential', { body })).as<{ id: string; secret: string }>();
    const headers = { authorization: `Bearer ${made.secret}` };
    const token = await account.store('u', { number: '4111111111111111' });
    const query = { user: 'u', token };
    expect((await account.send('GET', '/vault', { query, passphrase: PASSPHRASE, headers })).outcome).toBe(
      '200',
    );
    const signedIn = (await entriesOf(account)).find(({ actor }) => actor === `credential/${made.id}`);
    expect(signedIn?.actor_name).toBe(name);
    expect((await account.sdk.vault.log(query)).data.map(({ actor_name }) => actor_name)).toEqual([
      name,
      undefined,
    ]);
  });
});
