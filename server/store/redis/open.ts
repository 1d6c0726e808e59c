import type { LinkOptions, RedisLink } from './client.ts';
import { openClusterLink } from './cluster-link.ts';
import type { RedisTarget } from './connect.ts';
import { openServerLink } from './server-link.ts';

/** Opens a connection and waits until Redis answers. Throws a `StartError` if it does not within 30 s. */
export function openRedis(target: RedisTarget, options: LinkOptions): Promise<RedisLink> {
  return target.kind === 'cluster' ? openClusterLink(target.urls, options) : openServerLink(target, options);
}
