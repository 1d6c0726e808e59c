import { Cluster, type RedisOptions } from 'ioredis';

/** The library gives clients another type with `replyMapping`, which is not used. */
export type NodeOptions = Omit<RedisOptions, 'replyMapping'>;

/** The shortest time between two refreshes of the slot table, while requests fail. */
const REFRESH_MS = 100;

/**
 * Opens a client of a Cluster. A command is redirected to the node of its slot; a command whose connection was lost may have
 * been executed and is never sent again. Every failure refreshes the slot table, so that the client finds a promoted replica
 * as soon as the Cluster knows it.
 */
export function openCluster(
  urls: readonly string[],
  options: NodeOptions,
  tls: NonNullable<NodeOptions['tls']>,
): Cluster {
  // Nodes that the Cluster announces are reached with the protocol and credentials of the first URL.
  const { protocol, username, password } = new URL(urls[0] ?? '');
  const client = new Cluster([...urls], {
    redisOptions: {
      ...options,
      ...(username ? { username: decodeURIComponent(username) } : {}),
      ...(password ? { password: decodeURIComponent(password) } : {}),
      ...(protocol === 'rediss:' ? { tls } : {}),
    },
    // Commands wait while a node is being connected, up to the command timeout.
    enableOfflineQueue: true,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // Certificates are issued for names.
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

/** Refreshes the slot table: now, or after REFRESH_MS if it was refreshed recently. */
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
