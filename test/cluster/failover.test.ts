import { afterEach, describe, expect, test } from 'bun:test';
import { type ClusterNode, startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { openRaw } from '../helpers/redis.ts';
import { missing, recovery, startLoad, until } from './load.ts';
import { type ClusterServers, startServers } from './servers.ts';

let cluster: TestCluster | undefined;
let servers: ClusterServers | undefined;
afterEach(async () => {
  await servers?.stop();
  await cluster?.stop();
  servers = undefined;
  cluster = undefined;
}, 20_000);

/** A master that has items alone: neither the accounts nor the record of the key. */
const masterOfItems = async (place: TestCluster): Promise<ClusterNode> => {
  const raw = openRaw(place);
  const [directory = ''] = await raw.keys('{a:*}keys');
  raw.disconnect();
  const needed = await Promise.all(['{accounts}', directory].map(place.masterOf));
  const master = place.masters.find((node) => !needed.includes(node));
  if (master === undefined) {
    throw new Error('every master is needed by every request');
  }
  return master;
};

const begin = async (replicas: boolean, settings: Readonly<Record<string, string>>) => {
  cluster = await startTestCluster({ replicas });
  servers = await startServers(cluster, settings);
  await servers.client.key('u');
  await servers.client.store('u', { number: '0' });
  const load = startLoad(servers);
  while (load.stored.size < 50) {
    await Bun.sleep(10);
  }
  return { place: cluster, both: servers, load, victim: await masterOfItems(cluster) };
};

describe('a master that is killed under load', () => {
  test.each([
    ['1', 'loses nothing that was acknowledged'],
    ['0', 'loses only what its replica never had'],
  ])(
    'with VAULT_REDIS_WAIT=%s %s, and its replica takes over without a start of the servers',
    async (wait) => {
      const { both, load, victim, place } = await begin(true, { VAULT_REDIS_WAIT: wait });
      const killed = performance.now();
      await victim.signal('SIGKILL');
      const ready = await Promise.all(both.servers.map((server) => server.ready()));
      if (wait === '1') {
        // The promoted node takes no write before it has a replica again: here the one that it took over from.
        await until(
          async () => (await place.replicaOf(victim)?.command('ROLE'))?.includes('master') === true,
        );
        await victim.start();
      }
      const took = await recovery(load, killed);
      await load.end();
      const lost = await missing(both, load.stored);
      const raw = openRaw(place);
      const there = await Promise.all(lost.map(async (token) => (await raw.keys(`*i${token}`)).length));
      raw.disconnect();
      console.log(
        `WAIT=${wait}: ${load.stored.size} acknowledged, ${lost.length} lost by Redis, ` +
          `${[...load.failed].join(' ')} failed, ${load.through()} went through, all well after ${took.toFixed(0)} ms`,
      );
      expect([...load.failed.keys()]).toEqual(['503 store_unavailable']);
      expect(load.through()).toBeGreaterThan(0);
      expect(ready).toEqual([200, 200]);
      // What is lost is not there in Redis itself: the vault has not mislaid it.
      expect(there.filter((found) => found > 0)).toEqual([]);
      if (wait === '1') {
        expect(lost).toEqual([]);
      }
      expect(both.servers.every((server) => server.isRunning())).toBe(true);
      expect(both.printed().match(/CROSSSLOT/)).toBeNull();
    },
    40_000,
  );

  test('and has no replica is back with its file, and nothing that was acknowledged is lost', async () => {
    const { both, load, victim } = await begin(false, {});
    await victim.signal('SIGKILL');
    const killed = performance.now();
    while (load.failed.size === 0) {
      await Bun.sleep(5);
    }
    await Bun.sleep(500);
    const started = performance.now();
    await victim.start();
    const took = await recovery(load, started);
    await load.end();
    console.log(
      `restart: ${load.stored.size} acknowledged, ${[...load.failed].join(' ')} failed, ` +
        `${load.through()} went through, all well ${took.toFixed(0)} ms after its start, which was ` +
        `${(started - killed).toFixed(0)} ms after the kill`,
    );
    expect([...load.failed.keys()]).toEqual(['503 store_unavailable']);
    expect(await missing(both, load.stored)).toEqual([]);
  }, 40_000);
});
