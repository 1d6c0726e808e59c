import { createHash } from 'node:crypto';
import addCountsText from './lua/account/add-counts-1.lua' with { type: 'text' };
import countAttemptText from './lua/account/count-attempt-1.lua' with { type: 'text' };
import giveBackAttemptText from './lua/account/give-back-attempt-1.lua' with { type: 'text' };
import replaceFieldText from './lua/maintenance/replace-field-1.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const countAttempt = script(countAttemptText);
const replaceField = script(replaceFieldText);
const giveBackAttempt = script(giveBackAttemptText);
const addCounts = script(addCountsText);

/** Records of accounts, what they used, and how often somebody failed to sign in. */
export interface AccountStore {
  /** The sealed record, or undefined. */
  read(name: string): Promise<Buffer | undefined>;
  list(): Promise<readonly { readonly name: string; readonly record: Buffer }[]>;
  /** Adds an account; false when the name is taken. */
  create(name: string, record: Uint8Array): Promise<boolean>;
  /** Replaces the record that was read; false when it is another one by now. */
  replace(name: string, read: Uint8Array, record: Uint8Array): Promise<boolean>;
  /** Removes the record and notes that what the account leaves behind must go; false when there was none. */
  remove(name: string, aid: string): Promise<boolean>;
  /** Accounts that are gone while something of theirs may be left. */
  listGone(): Promise<readonly string[]>;
  forgetGone(aid: string): Promise<void>;
  /** The counter of one account name from one address; names that callers make up are hashed. */
  signInCounter(name: string, ip: string): string;
  passphraseCounter(aid: string, kid: string): string;
  passwordCounter(aid: string): string;
  /** Counts an attempt against the limit of a window; 0 when it may go on, else ms to wait. */
  countAttempt(counter: string, attemptsMax: number, windowMs: number): Promise<number>;
  /** Takes one counted attempt back. */
  giveBackAttempt(counter: string): Promise<void>;
  clearAttempts(counter: string): Promise<void>;
  addUsage(aid: string, month: string, counts: ReadonlyMap<string, number>): Promise<void>;
  readUsage(aid: string, month: string): Promise<ReadonlyMap<string, number>>;
  /** Removes what was counted of a deleted account: its usage of these months, and what bounds its requests. */
  removeCounts(aid: string, months: readonly string[]): Promise<void>;
}

export function createAccountStore(redis: RedisLink): AccountStore {
  return {
    async read(name) {
      const record = await redis.command('HGET', [redisKeys.accounts, name]);
      return record === null ? undefined : bytes(record);
    },
    async list() {
      const names = list(await redis.command('HKEYS', [redisKeys.accounts])).map(text);
      if (names.length === 0) {
        return [];
      }
      const records = list(await redis.command('HMGET', [redisKeys.accounts, ...names]));
      return names.flatMap((name, i) =>
        Buffer.isBuffer(records[i]) ? [{ name, record: bytes(records[i]) }] : [],
      );
    },
    async create(name, record) {
      return count(await redis.write('HSETNX', [redisKeys.accounts, name, record])) === 1;
    },
    async replace(name, read, record) {
      return text(await redis.run(replaceField, [redisKeys.accounts], [name, read, record])) === 'ok';
    },
    async remove(name, aid) {
      await redis.write('SADD', [redisKeys.goneAccounts, aid]);
      return count(await redis.write('HDEL', [redisKeys.accounts, name])) === 1;
    },
    async listGone() {
      return list(await redis.command('SMEMBERS', [redisKeys.goneAccounts])).map(text);
    },
    async forgetGone(aid) {
      await redis.write('SREM', [redisKeys.goneAccounts, aid]);
    },
    signInCounter: (name, ip) =>
      redisKeys.signInFailures(
        createHash('sha256')
          .update(JSON.stringify([name, ip]))
          .digest('base64url')
          .slice(0, 22),
      ),
    passphraseCounter: redisKeys.passphraseFailures,
    passwordCounter: redisKeys.passwordChanges,
    async countAttempt(counter, attemptsMax, windowMs) {
      return count(await redis.run(countAttempt, [counter], [attemptsMax, windowMs]));
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
      const key = redisKeys.usage(aid, month);
      const names = list(await redis.command('HKEYS', [key])).map(text);
      if (names.length === 0) {
        return new Map();
      }
      const values = list(await redis.command('HMGET', [key, ...names]));
      return new Map(names.map((name, i) => [name, count(values[i])]));
    },
    async removeCounts(aid, months) {
      const usage = months.map((month) => redisKeys.usage(aid, month));
      await redis.write('UNLINK', [redisKeys.passwordChanges(aid), redisKeys.accountRate(aid), ...usage]);
    },
  };
}
