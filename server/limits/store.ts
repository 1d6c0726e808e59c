import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { digestOf } from '../redis/records/name.ts';
import { asCount, asList } from '../redis/reply.ts';
import clearGuessesText from './clear-guesses-1.lua' with { type: 'text' };
import countAttemptText from './count-attempt-1.lua' with { type: 'text' };
import countGuessText from './count-guess-1.lua' with { type: 'text' };
import giveBackGuessText from './give-back-guess-1.lua' with { type: 'text' };
import takeRateText from './take-rate-1.lua' with { type: 'text' };

const clearGuesses = script(clearGuessesText);
const countAttempt = script(countAttemptText);
const countGuess = script(countGuessText);
const giveBackGuess = script(giveBackGuessText);
const takeRate = script(takeRateText);

/** The source of a guess and its network, see `domain/text/network.ts`. */
export interface GuessSource {
  readonly source: string;
  readonly network: string;
}

/** The keys that count guesses at one secret from one source. All are in one slot. */
export interface GuessCounters {
  readonly own: string;
  /** Guesses of all sources of its network. */
  readonly network: string;
  /** Present for a source that succeeded recently. */
  readonly success: string;
}

/** The guesses allowed in a time window, and the length of a lock. */
export interface GuessLimits {
  readonly ownMax: number;
  readonly networkMax: number;
  readonly windowMs: number;
  readonly lockMs: number;
}

/** A counted guess: `open`; `locked` and not counted; `spare`: in the second budget of a source that had succeeded. */
export interface CountedGuess {
  readonly kind: 'open' | 'locked' | 'spare';
  /** Milliseconds until the lock ends. */
  readonly waitMs: number;
  /** True if the source succeeded recently, on any server. */
  readonly hasSucceeded: boolean;
}

/** A number of requests in a period. */
export interface UseRate {
  readonly count: number;
  readonly periodMs: number;
}

/** Counters of guesses, of changes and of request rates, over all servers, by the clock of Redis. */
export class LimitStore {
  constructor(private readonly redis: RedisLink) {}

  /** Names the rate counter of a source address, by its hash. */
  sourceCounter(source: string): string {
    return redisKeys.sourceRate(digestOf(source));
  }

  /** Names the rate counter of a source address at one creation of an endpoint. */
  endpointCounter(nonce: string, source: string): string {
    return redisKeys.endpointRate(digestOf(`${nonce} ${source}`));
  }

  accountCounter(aid: string): string {
    return redisKeys.accountRate(aid);
  }

  /** Names the counter of the rate that an account has of its own. */
  ownCounter(aid: string): string {
    return redisKeys.ownRate(aid);
  }

  /** Counts a request within the rate and returns 0, otherwise the ms until the next one. Counters expire after the period. */
  async take(counter: string, { count, periodMs }: UseRate): Promise<number> {
    return asCount(await this.redis.runUnreplicated(takeRate, [counter], [count, periodMs]));
  }

  /** Counts a change of an account's password; 0 if it is within the limit, otherwise the ms to wait. */
  async countPasswordChange(aid: string, changesMax: number, windowMs: number): Promise<number> {
    const counter = redisKeys.passwordChanges(aid);
    return asCount(await this.redis.run(countAttempt, [counter], [changesMax, windowMs]));
  }

  /** Names the counters of guesses at a secret from one source, by hashes: callers choose names. */
  guessCounters(kind: 'name' | 'key', of: string, { source, network }: GuessSource): GuessCounters {
    const tag = digestOf(JSON.stringify([kind, of, network]));
    const nameOf = (part: string): string => redisKeys.guesses(`${tag}.${part}`);
    return {
      own: nameOf(`c${digestOf(source)}`),
      network: nameOf('n'),
      success: nameOf(`s${digestOf(source)}`),
    };
  }

  /** Counts a guess before it is verified; with `hasSpare` the second budget can be used. */
  async countGuess(counters: GuessCounters, limits: GuessLimits, hasSpare: boolean): Promise<CountedGuess> {
    const { own, network, success } = counters;
    const { ownMax, networkMax, windowMs, lockMs } = limits;
    const args = [ownMax, networkMax, windowMs, lockMs, hasSpare ? '0' : '1'];
    const reply = asList(await this.redis.run(countGuess, [own, network, success], args));
    const [wait = 0, succeeded] = reply.map(asCount);
    const kind = wait === 0 ? 'open' : wait > 0 ? 'locked' : 'spare';
    return { kind, waitMs: Math.abs(wait), hasSucceeded: succeeded === 1 };
  }

  /** Subtracts a counted guess that was not verified. */
  async giveBackGuess({ own, network }: GuessCounters, limits: GuessLimits): Promise<void> {
    const { ownMax, networkMax, windowMs } = limits;
    await this.redis.run(giveBackGuess, [own, network], [ownMax, networkMax, windowMs]);
  }

  /** Ends count and lock of a source that has succeeded. */
  async clearGuesses({ own }: GuessCounters): Promise<void> {
    await this.redis.write('DEL', [own]);
  }

  /** Does the same after a counted guess was right, and stores for `keepMs` that the source succeeded. */
  async markSuccess({ own, network, success }: GuessCounters, keepMs: number): Promise<void> {
    await this.redis.run(clearGuesses, [own, network, success], [keepMs]);
  }

  async removeAccount(aid: string): Promise<void> {
    const rates = [redisKeys.accountRate(aid), redisKeys.ownRate(aid)];
    await this.redis.write('UNLINK', [redisKeys.passwordChanges(aid), ...rates]);
  }
}
