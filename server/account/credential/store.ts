import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { Pointers, type RecordName } from '../../redis/records/pointers.ts';
import { UsedStore } from '../../redis/records/used.ts';

export type { Pointer as CredentialPointer } from '../../redis/records/pointers.ts';

/** Without an account for the operator's. */
export type CredentialName = RecordName;

/** Stores API credentials: encrypted records of each account, and for all accounts the digests of secrets. */
export class CredentialStore extends UsedStore {
  readonly secrets: Pointers;

  constructor(redis: RedisLink) {
    super(
      redis,
      (aid) => (aid === '' ? redisKeys.operatorCredentials : redisKeys.credentials(aid)),
      (aid) => (aid === '' ? redisKeys.operatorCredentialUses : redisKeys.credentialUses(aid)),
    );
    this.secrets = new Pointers(redis, redisKeys.credentialSecrets);
  }
}
