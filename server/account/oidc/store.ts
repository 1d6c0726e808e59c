import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { asCount } from '../../redis/reply.ts';

/** Stores the sign-ins at a provider that were begun, by a digest of their proof. */
export class OidcStore {
  constructor(private readonly redis: RedisLink) {}

  async begin(digest: string, ms: number): Promise<void> {
    await this.redis.write('SET', [redisKeys.oidcSignIn(digest), '', 'PX', ms]);
  }

  /** Ends a sign-in; true once, within its time. */
  async take(digest: string): Promise<boolean> {
    return asCount(await this.redis.write('DEL', [redisKeys.oidcSignIn(digest)])) === 1;
  }
}
