/** A reseal on a Redis Cluster, with two servers that store, change and delete meanwhile. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { PASSPHRASE } from '../helpers/clients.ts';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { finished } from '../key/reseals.ts';
import { type ClusterServers, startServers } from './servers.ts';

setDefaultTimeout(180_000);

const NEXT = 'another-long-passphrase-Zq4-kT9';
const ITEMS = 600;
const CARD = { card_number: '4111111111111111', expiry: '12/29' };

let cluster: TestCluster;
let servers: ClusterServers;

beforeAll(async () => {
  cluster = await startTestCluster();
  servers = await startServers(cluster.target.urls.join(','));
});
afterAll(async () => {
  expect(servers.printed().match(/CROSSSLOT/)).toBeNull();
  expect(await servers.stop()).toEqual([0, 0]);
  await cluster.stop();
});

test('a reseal reaches the items on every master, and loses no change of either server', async () => {
  const { client } = servers;
  const [one, two] = servers.servers;
  await client.key('u');
  const reference = 'r';
  const items = Array.from({ length: ITEMS }, () => ({ data: CARD, reference, algorithm: 'uuid' }));
  const stored = await Array.fromAsync(
    client.sdk.vault.storeMany({ key: 'u', passphrase: PASSPHRASE, items }),
  );
  const tokens = stored.map((result) => ('token' in result ? result.token : result.code));
  const change = { key: 'u', passphrase: PASSPHRASE, new_passphrase: NEXT, summary: true };
  expect((await client.send('PUT', '/key', { body: change })).outcome).toBe('200');
  const at = (token: string) => ({ key: 'u', token, reference });
  const [kept = ''] = tokens.slice(-1);
  const read = (token: string) => client.send('GET', '/vault', { query: at(token), passphrase: NEXT });
  const before = await read(kept);
  const body = { key: 'u', passphrase: NEXT };
  const started = await Promise.all(
    [one, two].map((server) => server.client.send('POST', '/key/reseal', { body })),
  );
  expect(started.map(({ outcome }) => outcome)).toEqual(['200', '200']);
  const answers = await Promise.all(
    tokens.slice(0, 200).flatMap((token, n) => [
      n < 150
        ? client.send('POST', '/vault/update', { query: at(token), body: { round: n }, passphrase: NEXT })
        : client.send('DELETE', '/vault', { query: at(token) }),
      client.send('POST', '/vault', {
        query: { key: 'u', reference: `new ${n}` },
        body: CARD,
        passphrase: NEXT,
      }),
    ]),
  );
  expect(answers.filter(({ status }) => status !== 200).map(({ outcome }) => outcome)).toEqual([]);
  const end = await finished(client, 'u');
  expect(end.done).toBe(end.total);
  const updated = await Promise.all(tokens.slice(0, 150).map(read));
  expect(updated.map(({ outcome }) => outcome).filter((outcome) => outcome !== '200')).toEqual([]);
  expect(updated.map(({ json }) => Object(json).round)).toEqual(tokens.slice(0, 150).map((_, n) => n));
  const gone = await Promise.all(tokens.slice(150, 200).map(read));
  expect(new Set(gone.map(({ outcome }) => outcome))).toEqual(new Set(['404 token_not_found']));
  const after = await read(kept);
  expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')]);
  for (const server of [one, two]) {
    const query = { key: 'u', last_four: '1111', limit: -1 };
    const found = await server.client.send('GET', '/vault', { query });
    expect(Object(found.json).u).toHaveLength(ITEMS - 50 + 200);
  }
  expect((await client.send('POST', '/key/reseal', { body })).json).toMatchObject({ total: 0 });
  expect(await servers.command('verify')).toContain('No faults found.');
});
