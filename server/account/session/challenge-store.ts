import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { digestOf } from '../../redis/records/name.ts';

/** Challenges that were answered rightly, over all servers. */
export class ChallengeStore {
  constructor(private readonly redis: RedisLink) {}

  /** Keeps for so long that a challenge was used; false if it was already. Of two requests at one instant one gets true. */
  async use(challenge: string, keptMs: number): Promise<boolean> {
    const name = redisKeys.challenge(digestOf(challenge));
    return (await this.redis.write('SET', [name, '', 'NX', 'PX', keptMs])) !== null;
  }
}
