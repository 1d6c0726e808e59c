import type { Redis } from 'ioredis';
import { StartError } from '../core/errors.ts';
import { RedisLink } from './client.ts';
import { ClusterLink } from './cluster-link.ts';
import { type ClusterTarget, connectCluster, connectServer, type RedisTarget } from './connect.ts';
import { infoField } from './info.ts';
import { asText } from './reply.ts';
import { type LinkOptions, Wire } from './wire.ts';

class ServerLink extends RedisLink {
  readonly isCluster = false;
  private readonly wire: Wire;

  constructor(client: Redis, options: LinkOptions) {
    super(client, options);
    this.wire = new Wire(client, this.wireOptions);
  }

  nodes(): readonly Wire[] {
    return [this.wire];
  }

  protected wireOf(): Wire {
    return this.wire;
  }
}

/** The mode that a server reports: `standalone`, `cluster` or `sentinel`; undefined if it hides it. */
async function modeOf(link: RedisLink): Promise<string | undefined> {
  const info = asText(await link.command('INFO', ['server']).catch(() => ''));
  // Valkey has renamed the field.
  return infoField(info, 'redis_mode') ?? infoField(info, 'server_mode');
}

/** The Cluster of a single address, such as the configuration endpoint of a managed one. */
function clusterAt(target: RedisTarget): ClusterTarget {
  if (target.kind !== 'url') {
    throw new StartError(
      'This Redis is part of a Cluster. Name its host in VAULT_REDIS_URL: redis://host:port.',
    );
  }
  if (!/^\/?0?$/.test(new URL(target.url).pathname)) {
    throw new StartError('This Redis is part of a Cluster, which has no databases. Check VAULT_REDIS_URL.');
  }
  return { kind: 'cluster', urls: [target.url], tls: target.tls };
}

/**
 * Opens a connection and waits until Redis answers; one address that belongs to a Cluster opens the Cluster, which is then the
 * returned target. Throws a `StartError` if Redis does not answer in time, or is of another kind than the address says.
 */
export async function findRedis(
  given: RedisTarget,
  options: LinkOptions,
): Promise<{ readonly redis: RedisLink; readonly target: RedisTarget }> {
  if (given.kind === 'cluster') {
    return { redis: await new ClusterLink(connectCluster(given), options).open(given), target: given };
  }
  const redis = await new ServerLink(connectServer(given), options).open(given);
  const mode = await modeOf(redis);
  if (mode !== 'cluster' && mode !== 'sentinel') {
    return { redis, target: given };
  }
  await redis.close();
  if (mode === 'sentinel') {
    throw new StartError('This is a Sentinel. VAULT_REDIS_URL must be redis+sentinel://host:port/name.');
  }
  return findRedis(clusterAt(given), options);
}

/** Like `findRedis`, for callers that need no second connection. */
export async function openRedis(target: RedisTarget, options: LinkOptions): Promise<RedisLink> {
  return (await findRedis(target, options)).redis;
}
