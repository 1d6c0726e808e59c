/** What an operator does for people of an account who cannot sign in any more. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AccountClient } from '../../helpers/clients.ts';
import { commandJson, runCommand } from '../../helpers/command.ts';
import { type Invited, join, person, signInAgain } from '../../helpers/people.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
});
afterAll(() => vault.close());

test('vault person lists, invites and deletes, and the log names the operator', async () => {
  const ada = await person(vault, account, 'owner', { name: 'Ada' });
  const made = await ada.send('POST', '/credential', { body: { name: 'c', scopes: ['job:read'] } });
  const of = ['--account', account.name];
  const list = await commandJson<readonly { id: string; name: string }[]>(vault, 'person', 'list', ...of);
  expect(list.map(({ id, name }) => [id, name])).toEqual([[ada.id, 'Ada']]);
  const { out } = await runCommand(['person', 'list', ...of], { vault });
  expect(out).toContain('passkeys: 1');

  const invited = await commandJson<Invited>(vault, 'person', 'invite', ada.id, ...of);
  expect(invited).toMatchObject({ id: ada.id, role: 'owner' });
  const again = await join(vault, invited);
  expect((await again.send('GET', '/whoami')).outcome).toBe('200');
  const shown = await runCommand(['person', 'invite', ada.id, ...of], { vault });
  expect(shown.out).toMatch(/shown only once, is good until .*\nhttp:\/\/localhost\/console#\/join\?token=/);

  await commandJson(vault, 'person', 'delete', ada.id, ...of);
  expect((await again.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
  await expect(signInAgain(vault, ada)).rejects.toThrow('passkey');
  const entries = (await account.send('GET', '/audit', { query: { actor: 'operator' } })).as<
    readonly { action: string; object: string }[]
  >();
  expect(entries.map(({ action, object }) => [action, object])).toEqual([
    ['person.delete', `person/${ada.id}`],
    ['credential.delete', `credential/${made.as<{ id: string }>().id}`],
    ['person.invite', `person/${ada.id}`],
    ['person.invite', `person/${ada.id}`],
  ]);
});

test.each([
  [['invite', 'pers_x'], 1, /^The person does not exist/],
  [['delete', 'pers_x'], 1, /^There is no person of this id/],
])('%p is refused', async (args, code, message) => {
  const ran = await runCommand(['person', ...args, '--account', account.name], { vault });
  expect(ran.code).toBe(code);
  expect(ran.err).toMatch(message);
  const nobody = await runCommand(['person', ...args], { vault });
  expect(nobody.code).toBe(2);
});
