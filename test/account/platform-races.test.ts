/** Requests for accounts at the same moment on two servers. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type AccountClient, createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { commandJson } from '../helpers/command.ts';
import { operatorClient } from '../helpers/credentials.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const ROUNDS = 30;
const ROUNDS_MS = 60_000;

let vault: TestVault;
let second: TestVault;
let operator: AccountClient;
let there: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ alone: true });
  second = await vault.secondServer();
  operator = await operatorClient(vault);
  there = operator.via(second.handle);
});
afterAll(async () => {
  await second.close();
  await vault.close();
});

test('of two creations of one name one succeeds', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const body = { name: `one-${round}` };
    const made = await Promise.all([operator, there].map((at) => at.send('POST', '/account', { body })));
    expect(made.map(({ outcome }) => outcome).sort()).toEqual(['200', '409 account_exists']);
    const winner = made.find(({ status }) => status === 200);
    const { password = '' } = winner?.as<{ password: string }>() ?? {};
    const account = createAccountClient(second.handle, { ...body, password, aid: '' });
    expect((await account.send('GET', '/whoami')).outcome).toBe('200');
  }
});

test(
  'a deletion and the creation of a key: either the account is left with its key, or there is neither',
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `two-${round}`;
      const made = await operator.send('POST', '/account', { body: { name } });
      const { password } = made.as<{ password: string }>();
      const { aid = '' } = (await vault.opened.services.accounts.lookUp(name)) ?? {};
      const account = createAccountClient(second.handle, { name, password, aid });
      await account.send('GET', '/whoami');
      const creating = account.send('POST', '/key', { body: { user: 'k', passphrase: PASSPHRASE } });
      await Bun.sleep(round % 10);
      const [key, deletion] = await Promise.all([creating, operator.send('DELETE', `/account/${name}`)]);
      const left = await vault.raw.keys(`{a:${aid}}k*`);
      if (deletion.status === 200) {
        expect([key.outcome, left]).toEqual(['401 unauthenticated', []]);
      } else {
        expect([key.outcome, deletion.outcome]).toEqual(['200', '409 account_not_empty']);
        expect((await account.send('GET', '/key')).json).toEqual([{ user: 'k' }]);
      }
    }
    await vault.opened.sweep();
    expect((await commandJson<{ bad: object }>(vault, 'verify')).bad).toEqual({});
  },
  ROUNDS_MS,
);

test('a key that a request creates after its account was closed is not there', async () => {
  const account = await vault.account();
  const { accountStore, keyStore } = vault.opened.stores;
  expect(await accountStore.close(account.aid)).toBe(true);
  const answer = await account.send('POST', '/key', { body: { user: 'k', passphrase: PASSPHRASE } });
  expect([answer.outcome, await keyStore.read(account.aid, 'k')]).toEqual(['401 unauthenticated', undefined]);
  // An interrupted deletion is forgotten.
  expect(await vault.raw.pttl(`{a:${account.aid}}closed`)).toBeWithin(1, 300_001);
  await vault.raw.del(`{a:${account.aid}}closed`);
  await account.key('k');
  expect(await accountStore.close(account.aid)).toBe(false);
});

test('of two deletions one succeeds, and a new password does not bring the account back', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const name = `three-${round}`;
    await operator.send('POST', '/account', { body: { name } });
    const [one, two, password] = await Promise.all([
      operator.send('DELETE', `/account/${name}`),
      there.send('DELETE', `/account/${name}`),
      there.send('POST', `/account/${name}/password`),
    ]);
    expect([one.outcome, two.outcome].sort()).toEqual(['200', '404 account_not_found']);
    expect(['200', '404 account_not_found']).toContain(password.outcome);
    expect((await there.send('GET', `/account/${name}`)).outcome).toBe('404 account_not_found');
  }
});

test('changes at the same moment all hold', async () => {
  const name = 'four';
  await operator.send('POST', '/account', { body: { name } });
  const path = `/account/${name}`;
  await Promise.all([
    operator.send('PATCH', path, { body: { paying: true } }),
    there.send('PATCH', path, { body: { rate: '9/s' } }),
    there.send('POST', `${path}/suspend`),
    operator.send('PATCH', path, { body: { hosts: ['a.example'] } }),
  ]);
  expect((await operator.send('GET', path)).json).toMatchObject({
    ...{ paying: true, rate: '9/s', suspended: true, hosts: ['a.example'] },
  });
});
