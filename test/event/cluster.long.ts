/** Events on a Redis Cluster: subscription, outboxes and deliveries lie on several masters. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { openProxyVault } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';

const STORES = 40;
const POLL_MS = 20;

let cluster: TestCluster;
let party: ThirdParty;
let vault: TestVault;

beforeAll(async () => {
  cluster = await startTestCluster();
  party = await startThirdParty();
  vault = await openProxyVault({ redis: cluster });
}, 60_000);
afterAll(async () => {
  await vault.close();
  party.stop();
  await cluster.stop();
});

test('each change of an item has its event, whichever master it is on', async () => {
  const account = await vault.account();
  await account.key('u');
  const receiver = createReceiver(party);
  const body = { ...receiver.webhook, types: ['item.*', 'item.read'] };
  expect((await account.send('POST', '/event/subscription', { body })).outcome).toBe('200');
  const tokens = await Promise.all(
    Array.from({ length: STORES }, (_, number) => account.store('u', { number: `${number}` })),
  );
  await Promise.all(tokens.map((token) => account.open('u', token)));
  await Promise.all(tokens.map((token) => account.send('DELETE', '/vault', { query: { user: 'u', token } })));
  await vault.opened.services.events.round();
  const told = () =>
    new Set(receiver.events().map(({ json }) => `${json['type']} ${Object(json['data']).token}`));
  while (told().size < 3 * STORES) {
    await Bun.sleep(POLL_MS);
  }
  const types = ['item.created', 'item.read', 'item.deleted'];
  expect(told()).toEqual(new Set(tokens.flatMap((token) => types.map((type) => `${type} ${token}`))));
}, 120_000);
