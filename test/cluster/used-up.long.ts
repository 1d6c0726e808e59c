/** An endpoint with a number of uses on a Redis Cluster, at two servers. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { capture, createCapture, createRetrieve, useEndpoint } from '../helpers/endpoints.ts';
import { openProxyVault } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';

const REQUESTS = 1_000;
const USES = 10;
const POLL_MS = 20;
const CARD = { card_number: '4111111111111111' };

let cluster: TestCluster;
let party: ThirdParty;
let vault: TestVault;
let second: TestVault;
beforeAll(async () => {
  cluster = await startTestCluster();
  party = await startThirdParty();
  vault = await openProxyVault({ redis: cluster });
  second = await vault.secondServer();
}, 60_000);
afterAll(async () => {
  await second.close();
  await vault.close();
  party.stop();
  await cluster.stop();
});

test('exactly so many requests at one instant succeed, and the last use has one event', async () => {
  const account = await vault.account();
  await account.key('u');
  const receiver = createReceiver(party);
  const body = { ...receiver.webhook, types: ['endpoint.used_up'] };
  expect((await account.send('POST', '/event/subscription', { body })).outcome).toBe('200');
  const token = await account.store('u', CARD);
  const [captures, reads] = [
    await createCapture(account, 'u', { max_uses: USES }),
    await createRetrieve(account, 'u', { max_uses: USES }),
  ];
  const outcomesOf = async (send: (at: TestVault, n: number) => Promise<{ readonly outcome: string }>) => {
    const answers = Array.from({ length: REQUESTS }, (_, n) => send(n % 2 === 0 ? vault : second, n));
    const byOutcome = Map.groupBy(await Promise.all(answers), ({ outcome }) => outcome);
    return Object.fromEntries([...byOutcome].map(([outcome, some]) => [outcome, some.length]));
  };
  const expected = { '200': USES, '410 endpoint_used_up': REQUESTS - USES };
  expect(
    await outcomesOf((at, n) => capture(at, captures, { body: CARD, query: { reference: `r${n}` } })),
  ).toEqual(expected);
  expect(
    await outcomesOf((at) => useEndpoint(at, 'GET', reads.url, { secret: reads.secret, query: { token } })),
  ).toEqual(expected);
  const told = (): readonly unknown[] => receiver.events().map(({ json }) => Object(json['data']).id);
  while (told().length < 2) {
    await vault.opened.services.events.round();
    await Bun.sleep(POLL_MS);
  }
  await vault.opened.services.events.round(true);
  expect(told().toSorted()).toEqual([captures.unique_id, reads.unique_id].toSorted());
}, 120_000);
