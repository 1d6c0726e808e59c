import { type RedisLink, script } from '../../redis/client.ts';
import createText from '../../redis/records/create-named-1.lua' with { type: 'text' };
import { readHash } from '../../redis/records/hash.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import replaceText from '../../redis/records/replace-field-1.lua' with { type: 'text' };
import { scanHash } from '../../redis/records/scan.ts';
import { asBytes, asCount, asOneOf, asOptionalBytes, asText, isOk } from '../../redis/reply.ts';
import touchText from './touch-credential-2.lua' with { type: 'text' };

const create = script(createText);
const replace = script(replaceText);
const touch = script(touchText);

/** The most credentials of one account. */
export const CREDENTIALS_MAX = 1_000;
const SCAN_STEP = 500;
const POINTER = /^([\w-]+) ([\w-]+) (\d{1,15})$/;

/** The name of a credential. */
export interface CredentialName {
  readonly aid: string;
  readonly id: string;
}

/** What the digest of a secret leads to, and when it was stored, ms since 1970. */
export interface CredentialPointer extends CredentialName {
  readonly digest: string;
  readonly storedMs: number;
}

/** A stored credential. */
export interface StoredCredential {
  readonly id: string;
  /** Encrypted. */
  readonly record: Buffer;
  /** When it was used last, ms since 1970. */
  readonly lastUsedMs: number | undefined;
}

/**
 * API credentials: encrypted records of each account, and for all accounts the digests of secrets, which only lead to a
 * record: it says itself which secrets are its own. A digest is stored before its record and removed after it.
 */
export interface CredentialStore {
  /** The encrypted record. */
  read(name: CredentialName): Promise<Buffer | undefined>;
  /** The credentials of an account, in ascending order of id. */
  list(aid: string): Promise<readonly StoredCredential[]>;
  /** `full` if the account has reached its limit of credentials. */
  create(name: CredentialName, record: Uint8Array): Promise<'ok' | 'exists' | 'full'>;
  /** Replaces the record that was read; false if it has changed. */
  replace(name: CredentialName, read: Uint8Array, record: Uint8Array): Promise<boolean>;
  /** False if it did not exist. */
  remove(name: CredentialName): Promise<boolean>;
  /** When it was used last, ms since 1970. */
  lastUse(name: CredentialName): Promise<number | undefined>;
  /** Notes a use, ms since 1970. */
  touch(name: CredentialName, usedMs: number): Promise<void>;
  /** The credential that a digest leads to. */
  find(digest: string): Promise<CredentialName | undefined>;
  /** Lets a digest lead to a credential. */
  point(digest: string, name: CredentialName, nowMs: number): Promise<void>;
  /** Removes digests. */
  unpoint(digests: readonly string[]): Promise<void>;
  /** All digests, in chunks; a malformed one leads to no credential. */
  pointers(): AsyncGenerator<readonly CredentialPointer[]>;
}

/** The time of a last use; undefined for what no server writes. */
function asUse(value: unknown): number | undefined {
  const text = value === null ? '' : asText(value);
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function pointerOf(digest: string, value: unknown): CredentialPointer {
  const [, aid = '', id = '', storedMs = '0'] = POINTER.exec(asText(value)) ?? [];
  return { digest, aid, id, storedMs: Number(storedMs) };
}

async function* pointers(redis: RedisLink): AsyncGenerator<readonly CredentialPointer[], void, void> {
  for await (const fields of scanHash(redis, redisKeys.credentialSecrets, SCAN_STEP)) {
    yield fields.map(({ field, value }) => pointerOf(field, value));
  }
}

/** The credentials of one Redis. */
export function createCredentialStore(redis: RedisLink): CredentialStore {
  const { credentials, credentialUses, credentialSecrets } = redisKeys;
  return {
    async read({ aid, id }) {
      return asOptionalBytes(await redis.command('HGET', [credentials(aid), id]));
    },
    async list(aid) {
      const [fields, uses] = await Promise.all([
        readHash(redis, credentials(aid)),
        readHash(redis, credentialUses(aid)),
      ]);
      const lastUses = new Map(uses.map(({ field, value }) => [field, asUse(value)]));
      return fields.map(({ field: id, value }) => ({
        id,
        record: asBytes(value),
        lastUsedMs: lastUses.get(id),
      }));
    },
    async create({ aid, id }, record) {
      const reply = await redis.run(create, [credentials(aid)], [id, record, CREDENTIALS_MAX]);
      return asOneOf(reply, ['ok', 'exists', 'full']);
    },
    async replace({ aid, id }, read, record) {
      return isOk(await redis.run(replace, [credentials(aid)], [id, read, record]));
    },
    async remove({ aid, id }) {
      const removed = asCount(await redis.write('HDEL', [credentials(aid), id])) === 1;
      await redis.write('HDEL', [credentialUses(aid), id]);
      return removed;
    },
    async lastUse({ aid, id }) {
      const usedMs = await redis.command('HGET', [credentialUses(aid), id]);
      return asUse(usedMs);
    },
    async touch({ aid, id }, usedMs) {
      await redis.run(touch, [credentials(aid), credentialUses(aid)], [id, usedMs]);
    },
    async find(digest) {
      const value = await redis.command('HGET', [credentialSecrets, digest]);
      const { aid, id } = pointerOf(digest, value ?? '');
      return aid === '' ? undefined : { aid, id };
    },
    async point(digest, { aid, id }, nowMs) {
      await redis.write('HSET', [credentialSecrets, digest, `${aid} ${id} ${nowMs}`]);
    },
    async unpoint(digests) {
      if (digests.length > 0) {
        await redis.write('HDEL', [credentialSecrets, ...digests]);
      }
    },
    pointers: () => pointers(redis),
  };
}
