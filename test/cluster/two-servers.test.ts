import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type AccountClient, answerOf, PASSPHRASE } from '../helpers/clients.ts';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { type ClusterServers, startServers } from './servers.ts';

let cluster: TestCluster;
let servers: ClusterServers;
let one: AccountClient;
let two: AccountClient;

beforeAll(async () => {
  cluster = await startTestCluster();
  servers = await startServers(cluster);
  [one, two] = [servers.servers[0].client, servers.servers[1].client];
  await one.key('u');
}, 30_000);
afterAll(async () => {
  expect(servers.printed().match(/CROSSSLOT/)).toBeNull();
  expect(await servers.stop()).toEqual([0, 0]);
  await cluster.stop();
}, 20_000);

const opening = (token: string) => ({ query: { user: 'u', token }, passphrase: PASSPHRASE });

test('what one server stores, updates or deletes is so at the other at once', async () => {
  const token = await one.store('u', { number: '4111111111111111' });
  expect(await two.open('u', token)).toBe('{"number":"4111111111111111"}');
  expect((await two.send('POST', '/vault/update', { ...opening(token), body: { a: 1 } })).outcome).toBe(
    '200',
  );
  expect(await one.open('u', token)).toContain('"a":1');
  expect((await one.send('DELETE', '/vault', opening(token))).outcome).toBe('200');
  expect((await two.send('GET', '/vault', opening(token))).outcome).toBe('404 token_not_found');
});

test('a listing goes on at the other server, page after page', async () => {
  const stored = await Promise.all(
    Array.from({ length: 25 }, (_, n) =>
      servers.client.store('u', { number: `${n}` }, { reference: 'page' }),
    ),
  );
  const found: string[] = [];
  let next: string | undefined;
  for (let page = 0; page === 0 || next !== undefined; page++) {
    const query = { user: 'u', reference: 'page', limit: 4 };
    const { sdk } = page % 2 === 0 ? one : two;
    const answer = await sdk.vault.list(next === undefined ? query : { ...query, next_token: next });
    found.push(...(answer.data['u'] ?? []).map(({ token }) => token));
    next = answer.next_token;
  }
  expect(found.toSorted()).toEqual(stored.toSorted());
});

test('a repeat under an Idempotency-Key at the other server stores nothing new', async () => {
  const sending = {
    query: { user: 'u' },
    passphrase: PASSPHRASE,
    body: { number: '1' },
    idempotencyKey: 'same',
  };
  const [first, again] = [
    await one.send('POST', '/vault', sending),
    await two.send('POST', '/vault', sending),
  ];
  expect(first.outcome).toBe('200');
  expect(again.json).toEqual(first.json);
});

test('a change of the passphrase stops an endpoint at both servers at once', async () => {
  await one.key('changing');
  const query = { user: 'changing', unique_id: 'shop', ttl: 'PT1H' };
  const made = await one.send('POST', '/capture', { query, passphrase: PASSPHRASE });
  const { secret } = made.as<{ secret: string }>();
  const post = async (at: 0 | 1): Promise<string> => {
    const request = new Request('http://localhost/v1/capture/shop', {
      method: 'POST',
      headers: { 'x-vault-capture-secret': secret, 'content-type': 'application/json' },
      body: '{"number":"4111111111111111"}',
    });
    return (await answerOf(await servers.servers[at].handle(request))).outcome;
  };
  expect([await post(0), await post(1)]).toEqual(['200', '200']);
  const changed = await two.send('PUT', '/key', {
    body: { user: 'changing', passphrase: PASSPHRASE, new_passphrase: `${PASSPHRASE} new` },
  });
  expect(changed.outcome).toBe('200');
  expect(await Promise.all([post(0), post(1)])).toEqual(['410 endpoint_gone', '410 endpoint_gone']);
});
