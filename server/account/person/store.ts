import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { Pointers, type RecordName } from '../../redis/records/pointers.ts';
import { UsedStore } from '../../redis/records/used.ts';

/** A person of an account. */
export type PersonName = RecordName;

/** Stores people: encrypted records of each account, and for all accounts the digests of passkeys and invitations. */
export class PersonStore extends UsedStore {
  readonly pointers: Pointers;

  constructor(redis: RedisLink) {
    super(redis, redisKeys.persons, redisKeys.personUses);
    this.pointers = new Pointers(redis, redisKeys.personPointers);
  }
}
