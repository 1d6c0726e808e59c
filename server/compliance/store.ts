import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asBytes, asList, asText } from '../redis/reply.ts';

/** The operator's certificate of compliance: one encrypted document; each upload has a new version. */
export class ComplianceStore {
  constructor(private readonly redis: RedisLink) {}

  /** Replaces the document atomically. */
  async save(version: string, record: Uint8Array): Promise<void> {
    await this.redis.write('HSET', [redisKeys.compliance, 'v', version, 'r', record]);
  }

  /** Returns the version; undefined if none was uploaded. */
  async version(): Promise<string | undefined> {
    const found = await this.redis.command('HGET', [redisKeys.compliance, 'v']);
    return found === null ? undefined : asText(found);
  }

  /** Returns the document with its version; undefined if none was uploaded. */
  async read(): Promise<{ readonly version: string; readonly record: Buffer } | undefined> {
    const [version, record] = asList(await this.redis.command('HMGET', [redisKeys.compliance, 'v', 'r']));
    return version === null ? undefined : { version: asText(version), record: asBytes(record) };
  }
}
