import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { NamedStore } from '../../redis/records/named.ts';

/** Stores the passphrases that people keep under their passkeys: one record of each person, by its id. */
export class WrapStore extends NamedStore {
  constructor(redis: RedisLink) {
    // People are limited already.
    super(redis, redisKeys.passphraseWraps, Number.MAX_SAFE_INTEGER);
  }

  /** The ids of people with such a record. */
  owners(aid: string): Promise<readonly string[]> {
    return this.ids(aid);
  }
}
