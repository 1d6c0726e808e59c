import { type RedisLink, script } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { NamedStore } from '../../redis/records/named.ts';
import { readHash, scanHash } from '../../redis/records/scan.ts';
import { asText } from '../../redis/reply.ts';
import touchText from './touch-credential-2.lua' with { type: 'text' };

const touch = script(touchText);

const SCAN_STEP = 500;
const POINTER = /^([\w-]*) ([\w-]+) (\d{1,15})$/;

export interface CredentialName {
  /** Empty for the operator's, which belong to no account. */
  readonly aid: string;
  readonly id: string;
}

/** The credential that a digest leads to, and when the digest was stored, ms since 1970. */
export interface CredentialPointer extends CredentialName {
  readonly digest: string;
  readonly storedMs: number;
}

/**
 * Stores API credentials: encrypted records of each account, and for all accounts the digests of secrets. A digest leads to a
 * record, which has the digests of its secrets. It is stored before its record and removed after it.
 */
export class CredentialStore extends NamedStore {
  constructor(redis: RedisLink) {
    super(redis, (aid) => (aid === '' ? redisKeys.operatorCredentials : redisKeys.credentials(aid)));
  }

  /** Removes a record and the time of its last use; returns false if it did not exist. */
  override async remove(aid: string, id: string): Promise<boolean> {
    const isRemoved = await super.remove(aid, id);
    await this.redis.write('HDEL', [usesOf(aid), id]);
    return isRemoved;
  }

  /** Returns the time of the last use, ms since 1970; undefined if there was none. */
  async lastUse(aid: string, id: string): Promise<number | undefined> {
    return asUse(await this.redis.command('HGET', [usesOf(aid), id]));
  }

  /** Returns the times of the last uses of all credentials of an account, by id. */
  async lastUses(aid: string): Promise<ReadonlyMap<string, number | undefined>> {
    const uses = await readHash(this.redis, usesOf(aid));
    return new Map(uses.map(({ field, value }) => [field, asUse(value)]));
  }

  async touch(aid: string, id: string, usedMs: number): Promise<void> {
    await this.redis.run(touch, [this.hashOf(aid), usesOf(aid)], [id, usedMs]);
  }

  async find(digest: string): Promise<CredentialName | undefined> {
    const value = await this.redis.command('HGET', [redisKeys.credentialSecrets, digest]);
    const { aid, id } = pointerOf(digest, value ?? '');
    return id === '' ? undefined : { aid, id };
  }

  /** Lets a digest lead to a credential. */
  async point(digest: string, aid: string, id: string, now: number): Promise<void> {
    await this.redis.write('HSET', [redisKeys.credentialSecrets, digest, `${aid} ${id} ${now}`]);
  }

  async unpoint(digests: readonly string[]): Promise<void> {
    if (digests.length > 0) {
      await this.redis.write('HDEL', [redisKeys.credentialSecrets, ...digests]);
    }
  }

  /** Yields all digests in chunks; a malformed value leads to no credential. */
  async *pointers(): AsyncGenerator<readonly CredentialPointer[]> {
    for await (const fields of scanHash(this.redis, redisKeys.credentialSecrets, SCAN_STEP)) {
      yield fields.map(({ field, value }) => pointerOf(field, value));
    }
  }
}

/** Names the hash of the last uses of an account's credentials, or of the operator's. */
function usesOf(aid: string): string {
  return aid === '' ? redisKeys.operatorCredentialUses : redisKeys.credentialUses(aid);
}

/** Reads the time of a last use; undefined for what no server writes. */
function asUse(value: unknown): number | undefined {
  const text = value === null ? '' : asText(value);
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function pointerOf(digest: string, value: unknown): CredentialPointer {
  const [, aid = '', id = '', storedMs = '0'] = POINTER.exec(asText(value)) ?? [];
  return { digest, aid, id, storedMs: Number(storedMs) };
}
