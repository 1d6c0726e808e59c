import { Cluster, type RedisOptions } from 'ioredis';

/** Options of the connections to single nodes; the library's own way of mapping replies stays. */
export type NodeOptions = Omit<RedisOptions, 'replyMapping'>;

/** How often the Cluster is asked anew who has which slots, while requests fail. */
const REFRESH_MS = 100;

/**
 * Opens a client of a Cluster. A command that a node has refused, as it does not have the slot, goes to the one that
 * has it; a command whose connection broke may have happened and is never sent again. Every failure has the client ask
 * at once who has which slots, so that it finds a replica that was promoted as soon as the Cluster names it.
 */
export function openCluster(urls: readonly string[], options: NodeOptions): Cluster {
  // Nodes that the Cluster itself tells of are reached the way that the first one named is.
  const { protocol, username, password } = new URL(urls[0] ?? '');
  const client = new Cluster([...urls], {
    redisOptions: {
      ...options,
      ...(username ? { username: decodeURIComponent(username) } : {}),
      ...(password ? { password: decodeURIComponent(password) } : {}),
      ...(protocol === 'rediss:' ? { tls: {} } : {}),
    },
    // What comes while a node is being connected to waits for that, as long as any command may take.
    enableOfflineQueue: true,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // Certificates are made out to names.
    dnsLookup: (name, done) => done(null, name),
    clusterRetryStrategy: (times) => {
      const pause = options.retryStrategy?.(times);
      return typeof pause === 'number' ? pause : null;
    },
  });
  client.on('node error', () => refreshSlots(client));
  client.on('-node', () => refreshSlots(client));
  return client;
}

const refreshed = new WeakMap<Cluster, number>();
const planned = new WeakSet<Cluster>();

/** Has the client ask who has which slots: at once, or soon when it has just done so. */
export function refreshSlots(client: Cluster): void {
  const pause = (refreshed.get(client) ?? -REFRESH_MS) + REFRESH_MS - performance.now();
  if (client.status !== 'ready' || planned.has(client)) {
    return;
  }
  if (pause > 0) {
    planned.add(client);
    setTimeout(() => {
      planned.delete(client);
      refreshSlots(client);
    }, pause).unref();
    return;
  }
  refreshed.set(client, performance.now());
  client.refreshSlotsCache();
}
