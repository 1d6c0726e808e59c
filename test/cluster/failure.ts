/** A Cluster with two servers under load, and what is to fail of it. */
import { type ClusterNode, startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { openRaw } from '../helpers/redis.ts';
import { type Load, startLoad } from './load.ts';
import { type ClusterServers, startServers } from './servers.ts';

/** A master that has items alone: neither the accounts nor the record of the key. */
export async function masterOfItems(place: TestCluster): Promise<ClusterNode> {
  const raw = openRaw(place);
  const [directory = ''] = await raw.keys('{a:*}keys');
  raw.disconnect();
  const needed = await Promise.all(['{accounts}', directory].map(place.masterOf));
  const master = place.masters.find((node) => !needed.includes(node));
  if (master === undefined) {
    throw new Error('every master is needed by every request');
  }
  return master;
}

/** A Cluster and two servers on it, with a key `u` that has an item. */
export interface Place {
  readonly cluster: TestCluster;
  readonly both: ClusterServers;
  readonly stop: () => Promise<void>;
}

/** Starts all of it. */
export async function startPlace(
  replicas: boolean,
  settings: Parameters<typeof startServers>[1],
): Promise<Place> {
  const cluster = await startTestCluster({ replicas });
  const both = await startServers(cluster.target.urls.join(','), settings);
  await both.client.key('u');
  await both.client.store('u', { number: '0' });
  return {
    cluster,
    both,
    async stop() {
      await both.stop();
      await cluster.stop();
    },
  };
}

/** Starts a load, and waits until it is well under way. */
export async function beginLoad(both: ClusterServers): Promise<Load> {
  const load = startLoad(both);
  while (load.stored.size < 50) {
    await Bun.sleep(10);
  }
  return load;
}
