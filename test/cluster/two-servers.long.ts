import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AuditEntry } from '../../sdk/index.ts';
import { type AccountClient, basicAuth } from '../helpers/clients.ts';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { acceptedId, CARD, CHARGED, proxyPost, requestTo } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty, thirdPartyTrust } from '../helpers/third-party.ts';
import { createReceiver, expectedSignature, type WebhookEvent } from '../helpers/webhook.ts';
import { type ClusterServers, startServers } from './servers.ts';

const REQUESTS = 20;

let cluster: TestCluster;
let party: ThirdParty;
let servers: ClusterServers;
let one: AccountClient;
let two: AccountClient;

beforeAll(async () => {
  cluster = await startTestCluster();
  party = await startThirdParty();
  servers = await startServers(cluster.target.urls.join(','), {
    caPem: (await thirdPartyTrust()).authority.pem,
  });
  [one, two] = [servers.servers[0].client, servers.servers[1].client];
  await one.key('u');
}, 60_000);
afterAll(async () => {
  expect(servers.printed().match(/CROSSSLOT/)).toBeNull();
  expect(await servers.stop()).toEqual([0, 0]);
  party.stop();
  await cluster.stop();
}, 60_000);

/** What the month has cost by now, as counts of operations. */
async function countsOf(account: AccountClient): Promise<Readonly<Record<string, number>>> {
  const { items } = await account.sdk.admin.billing();
  return Object.fromEntries(items.map(({ operation, count }) => [operation, count]));
}

test('requests that either server accepts are sent once, by one of them, and their webhooks are told once', async () => {
  const token = await one.store('u', CARD);
  const receiver = createReceiver(party);
  party.script('/pay', { status: 201, body: '{"paid":true}' });
  const before = await countsOf(one);
  const accepted = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, n) => {
      const account = n % 2 === 0 ? one : two;
      const order = { request: requestTo(party.url('/pay')), webhook: receiver.webhook, synchronous: false };
      return acceptedId(await proxyPost({ account, user: 'u', token }, order));
    }),
  );
  const told: WebhookEvent[] = [];
  while (told.length < REQUESTS) {
    told.push(await receiver.next());
  }
  expect(told.map(({ id }) => id ?? '').toSorted()).toEqual(accepted.toSorted());
  expect(told.map(({ received }) => received.header('webhook-signature'))).toEqual(
    told.map(({ received }) => expectedSignature(receiver.webhook.secret, received)),
  );
  expect(party.calls('/pay').map(({ text }) => text)).toEqual(Array(REQUESTS).fill(CHARGED));
  const after = await countsOf(two);
  expect((after['proxy_attempt'] ?? 0) - (before['proxy_attempt'] ?? 0)).toBe(REQUESTS);
});

test('the security log has what both did, in one order, and goes on at the other page after page', async () => {
  const users = Array.from({ length: 10 }, (_, n) => `logged-${n}`);
  for (const [n, user] of users.entries()) {
    await (n % 2 === 0 ? one : two).key(user);
  }
  const found: AuditEntry[] = [];
  let next: string | undefined;
  for (let page = 0; page === 0 || next !== undefined; page++) {
    const query = { limit: 7, next_token: next };
    const answer = await (page % 2 === 0 ? one : two).send('GET', '/audit', { query });
    expect(answer.outcome).toBe('200');
    found.push(...answer.as<AuditEntry[]>());
    next = answer.headers.get('x-vault-next-token') ?? undefined;
  }
  const ids = found.map(({ id }) => Number(id));
  expect(ids).toEqual(Array.from(ids, (_, n) => ids.length - n));
  const made = found.flatMap(({ action, object }) => (action === 'key.create' ? [object ?? ''] : []));
  expect(made.slice(0, users.length).toReversed()).toEqual(users.map((user) => `key/${user}`));
});

test('a change of the account is so at both servers at once, whether a request or the operator makes it', async () => {
  const token = await one.store('u', { card_number: '4111111111111111' });
  const shown = (): Promise<string[]> => Promise.all([one, two].map((at) => at.open('u', token)));
  expect(await shown()).toEqual(Array(2).fill('{"card_number":"4111111111111111"}'));
  await servers.command('account', 'set', one.name, '--unmasked=false');
  const masked = await shown();
  expect(masked.map((text) => text.includes('4111111111111111'))).toEqual([false, false]);
  await servers.command('account', 'set', one.name, '--unmasked');
  expect(await shown()).toEqual(Array(2).fill('{"card_number":"4111111111111111"}'));

  const signIn = (password: string): Promise<string[]> =>
    Promise.all(
      [one, two].map(async (at) => {
        const headers = { authorization: basicAuth(one.name, password) };
        return (await at.send('GET', '/whoami', { headers })).outcome;
      }),
    );
  const changed = await one.send('POST', '/change-password', { body: { new_password: 'another one' } });
  expect(changed.outcome).toBe('200');
  expect(await signIn(one.password)).toEqual(Array(2).fill('401 unauthenticated'));
  expect(await signIn('another one')).toEqual(['200', '200']);
});
