import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { digestOf } from '../../redis/records/name.ts';
import { asCount } from '../../redis/reply.ts';

export const CHALLENGE_MS = 5 * 60 * 1_000;

/** What a challenge is for: a ceremony, and whom it is for if that is known. */
export type ChallengeUse = readonly [
  ceremony: 'invitation' | 'passkey' | 'signin',
  ...subject: readonly string[],
];

/** Challenges that wait for their answer, over all servers. The name of a key has all: what it is for, and the challenge. */
export class ChallengeStore {
  constructor(private readonly redis: RedisLink) {}

  async add(use: ChallengeUse, challenge: string): Promise<void> {
    await this.redis.write('SET', [nameOf(use, challenge), '', 'PX', CHALLENGE_MS]);
  }

  /** Takes a challenge: true once, for the same use and in time. Of two requests at one instant one gets it. */
  async take(use: ChallengeUse, challenge: string): Promise<boolean> {
    return asCount(await this.redis.write('DEL', [nameOf(use, challenge)])) === 1;
  }
}

function nameOf(use: ChallengeUse, challenge: string): string {
  return redisKeys.challenge(digestOf(JSON.stringify([...use, challenge])));
}
