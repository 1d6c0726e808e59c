import clearGuessesText from '../limits/clear-guesses-1.lua' with { type: 'text' };
import countAttemptText from '../limits/count-attempt-1.lua' with { type: 'text' };
import countGuessText from '../limits/count-guess-1.lua' with { type: 'text' };
import giveBackGuessText from '../limits/give-back-guess-1.lua' with { type: 'text' };
import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { digestOf } from '../redis/records/name.ts';
import replaceFieldText from '../redis/records/replace-field-1.lua' with { type: 'text' };
import { readHash } from '../redis/records/scan.ts';
import { asBytes, asCount, asList, asOptionalBytes, asText, isOk } from '../redis/reply.ts';
import addCountsText from '../request/add-counts-1.lua' with { type: 'text' };

const countAttempt = script(countAttemptText);
const replaceField = script(replaceFieldText);
const countGuess = script(countGuessText);
const giveBackGuess = script(giveBackGuessText);
const clearGuesses = script(clearGuessesText);
const addCounts = script(addCountsText);

/** Who guesses: a source, and the network that it is part of, as `domain/text/source.ts` has them. */
export interface GuessSource {
  readonly source: string;
  readonly network: string;
}

/** The keys that count guesses at one secret from one source. All are in one slot. */
export interface GuessCounters {
  readonly own: string;
  /** Guesses of all sources of its network. */
  readonly network: string;
  /** Present for a source that succeeded lately. */
  readonly success: string;
}

/** How many guesses are allowed in a time window, and how long a lock lasts. */
export interface GuessLimits {
  readonly ownMax: number;
  readonly networkMax: number;
  readonly windowMs: number;
  readonly lockMs: number;
}

/**
 * What became of a counted guess: `open`; `locked` and not counted; or `spare`: locked, but within the second budget of a
 * source that had succeeded.
 */
export interface CountedGuess {
  readonly kind: 'open' | 'locked' | 'spare';
  /** Milliseconds until the lock ends. */
  readonly waitMs: number;
  /** Whether the source succeeded lately, on any server. */
  readonly hasSucceeded: boolean;
}

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
  /** The counters of sign-ins under one name. Their names are hashes, since callers choose it. */
  signInCounters(name: string, from: GuessSource): GuessCounters;
  /** The counters of passphrases for one key. */
  passphraseCounters(kid: string, from: GuessSource): GuessCounters;
  /** The counter of password changes of one account. */
  passwordCounter(aid: string): string;
  /** Counts an attempt in a time window; 0 if it is within the limit, otherwise the ms to wait. */
  countAttempt(counter: string, attemptsMax: number, windowMs: number): Promise<number>;
  /** Counts a guess before it is verified. `hasSpare`: whether the second budget may be used. */
  countGuess(counters: GuessCounters, limits: GuessLimits, hasSpare: boolean): Promise<CountedGuess>;
  /** Subtracts a counted guess that was not verified. */
  giveBackGuess(counters: GuessCounters, limits: GuessLimits): Promise<void>;
  /** Ends count and lock of a source that has succeeded. */
  clearGuesses(counters: GuessCounters): Promise<void>;
  /** The same after a counted guess was right; for so long the source counts as one that succeeded. */
  markSuccess(counters: GuessCounters, keepMs: number): Promise<void>;
  /** Adds to the counts of a month (`YYYY-MM`) by operation; counts may be negative. */
  addUsage(aid: string, month: string, counts: ReadonlyMap<string, number>): Promise<void>;
  /** The counts of a month by operation; empty if there are none. */
  readUsage(aid: string, month: string): Promise<ReadonlyMap<string, number>>;
  /** Removes the counters of a deleted account: its usage of these months, and its rate limits. */
  removeCounts(aid: string, months: readonly string[]): Promise<void>;
}

function countersOf(kind: 'name' | 'key', of: string, { source, network }: GuessSource): GuessCounters {
  const tag = digestOf(JSON.stringify([kind, of, network]));
  const nameOf = (part: string): string => redisKeys.guesses(`${tag}.${part}`);
  return {
    own: nameOf(`c${digestOf(source)}`),
    network: nameOf('n'),
    success: nameOf(`s${digestOf(source)}`),
  };
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
    signInCounters: (name, from) => countersOf('name', name, from),
    passphraseCounters: (kid, from) => countersOf('key', kid, from),
    passwordCounter: redisKeys.passwordChanges,
    async countAttempt(counter, attemptsMax, windowMs) {
      return asCount(await redis.run(countAttempt, [counter], [attemptsMax, windowMs]));
    },
    async countGuess({ own, network, success }, { ownMax, networkMax, windowMs, lockMs }, hasSpare) {
      const limits = [ownMax, networkMax, windowMs, lockMs, hasSpare ? '0' : '1'];
      const reply = asList(await redis.run(countGuess, [own, network, success], limits));
      const [wait = 0, succeeded] = reply.map(asCount);
      const kind = wait === 0 ? 'open' : wait > 0 ? 'locked' : 'spare';
      return { kind, waitMs: Math.abs(wait), hasSucceeded: succeeded === 1 };
    },
    async giveBackGuess({ own, network }, { ownMax, networkMax, windowMs }) {
      await redis.run(giveBackGuess, [own, network], [ownMax, networkMax, windowMs]);
    },
    async clearGuesses({ own }) {
      await redis.write('DEL', [own]);
    },
    async markSuccess({ own, network, success }, keepMs) {
      await redis.run(clearGuesses, [own, network, success], [keepMs]);
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
