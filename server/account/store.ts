import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import replaceFieldText from '../redis/records/replace-field-1.lua' with { type: 'text' };
import { readHash } from '../redis/records/scan.ts';
import { asBytes, asCount, asList, asOptionalBytes, asText, isOk } from '../redis/reply.ts';

const replaceField = script(replaceFieldText);

/** The encrypted records of accounts, and the list of removed accounts whose data may remain. */
export class AccountStore {
  constructor(private readonly redis: RedisLink) {}

  read(name: string): Promise<Buffer | undefined> {
    return this.redis.command('HGET', [redisKeys.accounts, name]).then(asOptionalBytes);
  }

  /** Lists all accounts, in ascending order of name. */
  async list(): Promise<readonly { readonly name: string; readonly record: Buffer }[]> {
    const fields = await readHash(this.redis, redisKeys.accounts);
    return fields.map(({ field, value }) => ({ name: field, record: asBytes(value) }));
  }

  /** Adds an account; false if the name is in use. */
  async create(name: string, record: Uint8Array): Promise<boolean> {
    return asCount(await this.redis.write('HSETNX', [redisKeys.accounts, name, record])) === 1;
  }

  /** Replaces the record that was read; false if it has changed. */
  async replace(name: string, read: Uint8Array, record: Uint8Array): Promise<boolean> {
    return isOk(await this.redis.run(replaceField, [redisKeys.accounts], [name, read, record]));
  }

  /** Removes the record and adds the account to `listGone`; false if it did not exist. */
  async remove(name: string, aid: string): Promise<boolean> {
    await this.redis.write('SADD', [redisKeys.goneAccounts, aid]);
    return asCount(await this.redis.write('HDEL', [redisKeys.accounts, name])) === 1;
  }

  /** Lists removed accounts whose data may remain. */
  async listGone(): Promise<readonly string[]> {
    return asList(await this.redis.command('SMEMBERS', [redisKeys.goneAccounts])).map(asText);
  }

  /** Removes an account from `listGone` when its data is removed. */
  async forgetGone(aid: string): Promise<void> {
    await this.redis.write('SREM', [redisKeys.goneAccounts, aid]);
  }
}
