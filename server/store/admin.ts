import { bytes, list, type RedisLink, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

/** The operator's certificate of compliance: one sealed document, with a version that each loading makes anew. */
export interface ComplianceStore {
  /** Puts a document in the place of the old one, in one step. */
  save(version: string, record: Uint8Array): Promise<void>;
  /** Undefined when none was loaded. */
  version(): Promise<string | undefined>;
  read(): Promise<{ readonly version: string; readonly record: Buffer } | undefined>;
}

export function createComplianceStore(redis: RedisLink): ComplianceStore {
  return {
    async save(version, record) {
      await redis.write('HSET', [redisKeys.compliance, 'v', version, 'r', record]);
    },
    async version() {
      const found = await redis.command('HGET', [redisKeys.compliance, 'v']);
      return found === null ? undefined : text(found);
    },
    async read() {
      const [version, record] = list(await redis.command('HMGET', [redisKeys.compliance, 'v', 'r']));
      return version === null ? undefined : { version: text(version), record: bytes(record) };
    },
  };
}
