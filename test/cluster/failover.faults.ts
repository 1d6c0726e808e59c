import { afterEach, describe, expect, test } from 'bun:test';
import { openRaw } from '../helpers/redis.ts';
import { beginLoad, masterOfItems, type Place, startPlace } from './failure.ts';
import { missing, recovery, until } from './load.ts';

let place: Place | undefined;
afterEach(async () => {
  await place?.stop();
  place = undefined;
}, 60_000);

async function begin(replicas: boolean, settings: Readonly<Record<string, string>>) {
  place = await startPlace(replicas, settings);
  const { cluster, both } = place;
  return { cluster, both, load: await beginLoad(both), victim: await masterOfItems(cluster) };
}

describe('a master that is killed under load', () => {
  test.each([
    ['1', 'loses nothing that was acknowledged'],
    ['0', 'loses only what its replica never had'],
  ])(
    'with VAULT_REDIS_WAIT=%s %s, and its replica takes over without a start of the servers',
    async (wait) => {
      const { both, load, victim, cluster } = await begin(true, { VAULT_REDIS_WAIT: wait });
      const killed = performance.now();
      await victim.signal('SIGKILL');
      const ready = await Promise.all(both.servers.map((server) => server.ready()));
      if (wait === '1') {
        // The promoted node takes no write before it has a replica again: here the one that it took over from.
        await until(
          async () => (await cluster.replicaOf(victim)?.command('ROLE'))?.includes('master') === true,
        );
        await victim.start();
      }
      const took = await recovery(load, killed);
      await load.end();
      const lost = await missing(both, load.stored);
      const raw = openRaw(cluster);
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
  }, 60_000);
});
