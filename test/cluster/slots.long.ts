import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openRedis } from '../../server/redis/open.ts';
import { type ClusterNode, startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { openRaw } from '../helpers/redis.ts';
import { missing, startLoad } from './load.ts';
import { type ClusterServers, startServers } from './servers.ts';

const STEP = 20;
/** What Redis says of a key that is elsewhere, and of keys that lie apart. */
const REDIRECTED = /CROSSSLOT|MOVED \d|ASK \d/;

let cluster: TestCluster;
let servers: ClusterServers;

beforeAll(async () => {
  cluster = await startTestCluster();
  servers = await startServers(cluster.target.urls.join(','));
  await servers.client.key('u');
}, 60_000);
afterAll(async () => {
  await servers.stop();
  await cluster.stop();
}, 60_000);

function linesOf(reply: string): string[] {
  return reply.split('\r\n').filter((line) => /^[^*$]/.test(line));
}

/** Moves a slot with all its keys, as an operator does who adds a node. */
async function move(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
  await to.command(`CLUSTER SETSLOT ${slot} IMPORTING ${from.id}`);
  await from.command(`CLUSTER SETSLOT ${slot} MIGRATING ${to.id}`);
  for (;;) {
    const keys = linesOf(await from.command(`CLUSTER GETKEYSINSLOT ${slot} ${STEP}`));
    if (keys.length === 0) {
      break;
    }
    const reply = await from.command(`MIGRATE 127.0.0.1 ${to.port} "" 0 5000 KEYS ${keys.join(' ')}`);
    expect(reply).toMatch(/^\+(OK|NOKEY)/);
  }
  for (const node of [to, from, ...cluster.masters.filter((other) => other !== from && other !== to)]) {
    expect(await node.command(`CLUSTER SETSLOT ${slot} NODE ${to.id}`)).toStartWith('+OK');
  }
}

test('slots that move to another node under load fail no request', async () => {
  const load = startLoad(servers);
  while (load.stored.size < 100) {
    await Bun.sleep(10);
  }
  const [from, to] = cluster.masters;
  if (from === undefined || to === undefined) {
    throw new Error('no masters');
  }
  const raw = openRaw(cluster);
  const names = await raw.keys('{*}*');
  const slots = new Set(await Promise.all(names.map((name) => raw.cluster('KEYSLOT', name))));
  raw.disconnect();
  const [first, last] = from.slots ?? [0, 0];
  const used = [...slots].map(Number).filter((slot) => first <= slot && slot <= last);
  for (const slot of used) {
    await move(slot, from, to);
  }
  const before = load.stored.size;
  while (load.stored.size < before + 50) {
    await Bun.sleep(10);
  }
  await load.end();
  expect(used.length).toBeGreaterThan(3);
  expect([...load.failed]).toEqual([]);
  expect(await missing(servers, load.stored)).toEqual([]);
  expect(servers.printed().match(REDIRECTED)).toBeNull();
}, 60_000);

test('keys of a slot that is half moved for a second are read in one step when it has moved', async () => {
  const redis = await openRedis(cluster.target, { replicas: 0 });
  const raw = openRaw(cluster);
  const slot = await raw.cluster('KEYSLOT', '{half}1');
  raw.disconnect();
  const from = cluster.masters.find(({ slots: [first, last] = [0, 0] }) => first <= slot && slot <= last);
  const to = cluster.masters.find((node) => node !== from);
  if (from === undefined || to === undefined) {
    throw new Error('no masters');
  }
  await Promise.all(['1', '2'].map((name) => redis.write('SET', [`{half}${name}`, name])));
  await to.command(`CLUSTER SETSLOT ${slot} IMPORTING ${from.id}`);
  await from.command(`CLUSTER SETSLOT ${slot} MIGRATING ${to.id}`);
  await from.command(`MIGRATE 127.0.0.1 ${to.port} {half}1 0 5000`);
  const commands = ['1', '2'].map((name) => ['GET', `{half}${name}`]);
  const read = redis.readTogether(commands, 100).then(String, String);
  await Bun.sleep(1_000);
  await move(slot, from, to);
  expect(await read).toBe('*2\r\n$1\r\n1\r\n$1\r\n2\r\n');
  await redis.close();
}, 60_000);
