import { digestOf, readHash } from './hash.ts';
import addCountsText from './lua/account/add-counts-1.lua' with { type: 'text' };
import countAttemptText from './lua/account/count-attempt-1.lua' with { type: 'text' };
import giveBackAttemptText from './lua/account/give-back-attempt-1.lua' with { type: 'text' };
import replaceFieldText from './lua/maintenance/replace-field-1.lua' with { type: 'text' };
import { type RedisLink, script } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';
import { asBytes, asCount, asList, asOptionalBytes, asText, isOk } from './redis/reply.ts';

const countAttempt = script(countAttemptText);
const replaceField = script(replaceFieldText);
const giveBackAttempt = script(giveBackAttemptText);
const addCounts = script(addCountsText);

/** Accounts: their encrypted records, their usage, and counters of failed attempts. */
export interface AccountStore {
  /** The encrypted record. */
  read(name: string): Promise<Buffer | undefined>;
  /** All accounts, in ascending order of name. */
  list(): Promise<readonly { readonly name: string; readonly record: Buffer }[]>;
  /** Adds an account; false if the name is in use. */
  create(name: string, record: Uint8Array): Promise<boolean>;
  /** Replaces the record that was read; false if it has changed. */
  replace(name: string, read: Uint8Array, record: Uint8Array): Promise<boolean>;
  /** Removes the record and adds the account to `listGone`; false if it did not exist. */
  remove(name: string, aid: string): Promise<boolean>;
  /** Deleted accounts whose data may not be deleted completely. */
  listGone(): Promise<readonly string[]>;
  /** Removes an account from `listGone` when its data is deleted. */
  forgetGone(aid: string): Promise<void>;
  /** The counter of one account name and one address. It is a hash, since callers choose the name. */
  signInCounter(name: string, ip: string): string;
  /** The counter of wrong passphrases of one key. */
  passphraseCounter(aid: string, kid: string): string;
  /** The counter of password changes of one account. */
  passwordCounter(aid: string): string;
  /** Counts an attempt in a time window; 0 if it is within the limit, otherwise the ms to wait. */
  countAttempt(counter: string, attemptsMax: number, windowMs: number): Promise<number>;
  /** Subtracts one counted attempt. */
  giveBackAttempt(counter: string): Promise<void>;
  /** Deletes a counter after a success. */
  clearAttempts(counter: string): Promise<void>;
  /** Adds to the counts of a month (`YYYY-MM`) by operation; counts may be negative. */
  addUsage(aid: string, month: string, counts: ReadonlyMap<string, number>): Promise<void>;
  /** The counts of a month by operation; empty if there are none. */
  readUsage(aid: string, month: string): Promise<ReadonlyMap<string, number>>;
  /** Removes the counters of a deleted account: its usage of these months, and its rate limits. */
  removeCounts(aid: string, months: readonly string[]): Promise<void>;
}

/** The accounts of one Redis. */
export function createAccountStore(redis: RedisLink): AccountStore {
  return {
    async read(name) {
      return asOptionalBytes(await redis.command('HGET', [redisKeys.accounts, name]));
    },
    async list() {
      const fields = await readHash(redis, redisKeys.accounts);
      return fields.map(({ field, value }) => ({ name: field, record: asBytes(value) }));
    },
    async create(name, record) {
      return asCount(await redis.write('HSETNX', [redisKeys.accounts, name, record])) === 1;
    },
    async replace(name, read, record) {
      return isOk(await redis.run(replaceField, [redisKeys.accounts], [name, read, record]));
    },
    async remove(name, aid) {
      await redis.write('SADD', [redisKeys.goneAccounts, aid]);
      return asCount(await redis.write('HDEL', [redisKeys.accounts, name])) === 1;
    },
    async listGone() {
      return asList(await redis.command('SMEMBERS', [redisKeys.goneAccounts])).map(asText);
    },
    async forgetGone(aid) {
      await redis.write('SREM', [redisKeys.goneAccounts, aid]);
    },
    signInCounter: (name, ip) => redisKeys.signInFailures(digestOf(JSON.stringify([name, ip]))),
    passphraseCounter: redisKeys.passphraseFailures,
    passwordCounter: redisKeys.passwordChanges,
    async countAttempt(counter, attemptsMax, windowMs) {
      return asCount(await redis.run(countAttempt, [counter], [attemptsMax, windowMs]));
    },
    async giveBackAttempt(counter) {
      await redis.run(giveBackAttempt, [counter], []);
    },
    async clearAttempts(counter) {
      await redis.write('DEL', [counter]);
    },
    async addUsage(aid, month, counts) {
      const args = [...counts].flat();
      await redis.run(addCounts, [redisKeys.usage(aid, month)], args);
    },
    async readUsage(aid, month) {
      const fields = await readHash(redis, redisKeys.usage(aid, month));
      return new Map(fields.map(({ field, value }) => [field, asCount(value)]));
    },
    async removeCounts(aid, months) {
      const usage = months.map((month) => redisKeys.usage(aid, month));
      await redis.write('UNLINK', [redisKeys.passwordChanges(aid), redisKeys.accountRate(aid), ...usage]);
    },
  };
}
