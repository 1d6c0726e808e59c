import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import replaceFieldText from '../redis/records/replace-field-1.lua' with { type: 'text' };
import { readHash } from '../redis/records/scan.ts';
import { asBytes, asList, asOptionalBytes, asText, isOk } from '../redis/reply.ts';
import closeAccountText from './close-account-2.lua' with { type: 'text' };
import createAccountText from './create-account-2.lua' with { type: 'text' };
import removeAccountText from './remove-account-3.lua' with { type: 'text' };

const replaceField = script(replaceFieldText);
const createAccount = script(createAccountText);
const removeAccount = script(removeAccountText);
const closeAccount = script(closeAccountText);

/** The time that an account stays closed. A request that has signed in before ends in less. */
const CLOSED_MS = 5 * 60 * 1_000;

/** The encrypted records of accounts, the names of removed accounts, and the ids of those whose data may remain. */
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

  /** Adds an account; false if the name is in use, or without `mayReuse` was that of a removed account. */
  async create(name: string, record: Uint8Array, mayReuse: boolean): Promise<boolean> {
    const keys = [redisKeys.accounts, redisKeys.formerAccounts];
    return isOk(await this.redis.run(createAccount, keys, [name, record, mayReuse ? '1' : '']));
  }

  /** Replaces the record that was read; false if it has changed. */
  async replace(name: string, read: Uint8Array, record: Uint8Array): Promise<boolean> {
    return isOk(await this.redis.run(replaceField, [redisKeys.accounts], [name, read, record]));
  }

  /** Removes the record that was read and adds the account to `listGone`; false if it has changed. */
  async remove(name: string, read: Uint8Array, aid: string, now: number): Promise<boolean> {
    const keys = [redisKeys.accounts, redisKeys.formerAccounts, redisKeys.goneAccounts];
    return isOk(await this.redis.run(removeAccount, keys, [name, read, aid, now]));
  }

  /** Lets an account get no key for some minutes, so that it can be removed; false if it has one. */
  async close(aid: string): Promise<boolean> {
    const keys = [redisKeys.keyDirectory(aid), redisKeys.closedAccount(aid)];
    return isOk(await this.redis.run(closeAccount, keys, [CLOSED_MS]));
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
