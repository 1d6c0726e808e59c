import { afterAll, beforeAll, expect, test } from 'bun:test';
import { PASSPHRASE } from '../helpers/clients.ts';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

let cluster: TestCluster;
let vault: TestVault;

beforeAll(async () => {
  cluster = await startTestCluster({ durable: true, replicas: true });
  vault = await openTestVault({ redis: cluster });
}, 60_000);
afterAll(async () => {
  await vault.close();
  await cluster.stop();
});

test('the items of one key lie on every master, and are all found', async () => {
  const account = await vault.account();
  await account.key('u');
  const tokens = await Promise.all(
    Array.from({ length: 60 }, (_, number) => account.store('u', { number: `${number}` })),
  );
  const sizes = await Promise.all(
    cluster.masters.map(async ({ command }) => Number((await command('DBSIZE')).slice(1))),
  );
  expect(Math.min(...sizes)).toBeGreaterThan(10);
  const { data } = await account.sdk.vault.list({ user: 'u' });
  expect(data['u']?.map(({ token }) => token).sort()).toEqual([...tokens].sort());
  for (const [number, token] of tokens.entries()) {
    expect(await account.open('u', token)).toBe(`{"number":"${number}"}`);
  }
});

test('batches and erasures reach the items on every master', async () => {
  const account = await vault.account();
  await account.key('u');
  const reference = 'r';
  const tokens = await Promise.all(
    Array.from({ length: 60 }, (_, number) => account.store('u', { number: `${number}` }, { reference })),
  );
  const items = tokens.map((token) => ({ token, reference }));
  const passphrase = PASSPHRASE;
  const opened = await Array.fromAsync(account.sdk.vault.decryptMany({ user: 'u', passphrase, items }));
  expect(opened.map((result) => ('data' in result ? result.data['number'] : result.code))).toEqual(
    tokens.map((_, number) => `${number}`),
  );
  const some = items.slice(0, 20);
  const deleted = await Array.fromAsync(account.sdk.vault.deleteMany({ user: 'u', items: some }));
  expect(deleted.every((result) => 'deleted' in result)).toBe(true);
  expect(await account.sdk.vault.eraseReference({ user: 'u', reference })).toBe(40);
  expect((await account.sdk.vault.list({ user: 'u' })).data['u']).toEqual([]);
});
