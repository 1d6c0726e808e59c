import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asBytes, asList, asText } from '../redis/reply.ts';

/** The operator's certificate of compliance: one encrypted document; each upload has a new version. */
export interface ComplianceStore {
  /** Replaces the document atomically. */
  save(version: string, record: Uint8Array): Promise<void>;
  /** Undefined if none was uploaded. */
  version(): Promise<string | undefined>;
  /** The document with its version; undefined if none was uploaded. */
  read(): Promise<{ readonly version: string; readonly record: Buffer } | undefined>;
}

/** The certificate of compliance of one Redis. */
export function createComplianceStore(redis: RedisLink): ComplianceStore {
  return {
    async save(version, record) {
      await redis.write('HSET', [redisKeys.compliance, 'v', version, 'r', record]);
    },
    async version() {
      const found = await redis.command('HGET', [redisKeys.compliance, 'v']);
      return found === null ? undefined : asText(found);
    },
    async read() {
      const [version, record] = asList(await redis.command('HMGET', [redisKeys.compliance, 'v', 'r']));
      return version === null ? undefined : { version: asText(version), record: asBytes(record) };
    },
  };
}
