import { afterAll, describe, expect, test } from 'bun:test';
import { type AccountClient, type Answer, basicAuth, createAccountClient } from '../helpers/clients.ts';
import { commandJson } from '../helpers/command.ts';
import { openTestVault } from '../helpers/vault.ts';

const HOUR_MS = 3_600_000;
/** A chosen password, one of the form of generated ones, and none: then it is generated. */
const KINDS = ['the next one', 'A'.repeat(43), undefined];

let now = Date.parse('2026-03-01T12:00:00Z');

const settings = { authFailuresMax: 0, now: () => now };
const vault = await openTestVault(settings);
const second = await vault.secondServer(settings);
afterAll(async () => {
  await second.close();
  await vault.close();
});

function change(client: AccountClient, password: string, body: object): Promise<Answer> {
  return createAccountClient(vault.handle, { ...client, password }).send('POST', '/change-password', {
    body,
  });
}
/** What a password gets at both servers. */
async function statuses(client: AccountClient, password: string): Promise<readonly number[]> {
  const headers = { authorization: basicAuth(client.name, password) };
  const answers = [vault, second].map(({ handle }) => client.via(handle).send('GET', '/whoami', { headers }));
  return (await Promise.all(answers)).map(({ status }) => status);
}
const [IN, OUT] = [
  [200, 200],
  [401, 401],
];

describe('a password that was changed with an overlap', () => {
  test.each(KINDS.flatMap((from) => KINDS.map((to) => [from, to])))(
    'signs in until it ends: from %p to %p',
    async (from, to) => {
      const client = await vault.account();
      const first = (await change(client, client.password, { new_password: from })).as<{
        password: string;
      }>();
      const wanted = to === undefined ? to : `${to.slice(0, -1)}B`;
      const answer = await change(client, first.password, { new_password: wanted, overlap: '1h' });
      const next = answer.as<{ password: string }>().password;
      expect([await statuses(client, first.password), await statuses(client, next)]).toEqual([IN, IN]);
      expect(await statuses(client, client.password)).toEqual(OUT);
      expect(await statuses(client, 'a wrong one')).toEqual(OUT);
      expect(await statuses(client, 'C'.repeat(43))).toEqual(OUT);
      now += HOUR_MS - 1;
      expect(await statuses(client, first.password)).toEqual(IN);
      now += 1;
      expect([await statuses(client, first.password), await statuses(client, next)]).toEqual([OUT, IN]);
    },
  );

  test('cannot change the password again, and ends with the next change', async () => {
    const client = await vault.account();
    await change(client, client.password, { new_password: 'second', overlap: '7d' });
    const refused = await change(client, client.password, { new_password: 'mine' });
    expect(refused.outcome).toBe('409 password_changed');
    expect(await statuses(client, 'second')).toEqual(IN);
    await change(client, 'second', { new_password: 'third', overlap: '1h' });
    expect([await statuses(client, client.password), await statuses(client, 'second')]).toEqual([OUT, IN]);
    await change(client, 'third', { new_password: 'fourth' });
    expect([await statuses(client, 'second'), await statuses(client, 'third')]).toEqual([OUT, OUT]);
  });

  test('ends when an operator resets the password', async () => {
    const client = await vault.account();
    await change(client, client.password, { new_password: 'second', overlap: '7d' });
    const { password } = await commandJson<{ password: string }>(vault, 'account', 'password', client.name);
    expect([await statuses(client, client.password), await statuses(client, 'second')]).toEqual([OUT, OUT]);
    expect(await statuses(client, password)).toEqual(IN);
  });

  test('stays when preferences or rights change meanwhile', async () => {
    const client = await vault.account();
    await change(client, client.password, { new_password: 'second', overlap: '1d' });
    await vault.opened.services.accounts.set(client.name, { paying: true });
    expect([await statuses(client, client.password), await statuses(client, 'second')]).toEqual([IN, IN]);
  });

  test('is not made for an overlap of any other length', async () => {
    const client = await vault.account();
    for (const overlap of ['0', 'P0D', '0s', '8d', '', 'soon', '1.5h']) {
      const answer = await change(client, client.password, { new_password: 'second', overlap });
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body.overlap']);
    }
    expect(await statuses(client, client.password)).toEqual(IN);
  });
});
