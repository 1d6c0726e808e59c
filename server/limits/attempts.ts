import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import { networkOf, sourceOf } from '../domain/text/network.ts';
import type { CountedGuess, GuessCounters, GuessLimits, LimitStore } from './store.ts';

const WINDOW_MS = 15 * 60 * 1_000;
const CLEAR_AGAIN_MS = 20;
/** Guesses of a /48, as a multiple of the limit, regardless of successes in between. */
const NETWORK_FACTOR = 4;
/** Guesses of one address, as a multiple of the limit, regardless of successes in between. */
const ADDRESS_FACTOR = 10;
const STANDINGS_MAX = 20_000;
/** The time for which a process remembers the success of a source. */
const STANDING_MS = 24 * 60 * 60 * 1_000;
/** Longer in Redis, since a process marks a source only after it has forgotten it. */
const SUCCESS_MS = 2 * STANDING_MS;

export interface Guess {
  /** Names the secret and the source within this process. */
  readonly id: string;
  /** The secret: the password of an account, by its name, or a secret of a key, by its id. */
  readonly kind: 'name' | 'key';
  readonly of: string;
  readonly ip: string;
  /** A digest of the presented secret, comparable within this process. */
  readonly digest: () => string;
}

interface Standing {
  /** Of the credential that it succeeded with last. */
  readonly digest: string;
  readonly counters: GuessCounters;
  /** True if it has presented another credential since. */
  isFailing: boolean;
  /** True if its success is stored in Redis. */
  isMarked: boolean;
  /** On `performance.now()`. */
  clearedAt: number;
}

/**
 * Limits guesses at secrets, over all servers. Too many failures lock a source, even for the right secret; a source that had
 * succeeded before can still use the credential that it succeeded with.
 * `authFailuresMax` 0 is no limit.
 */
export class Attempts {
  private readonly standings: Memory<Standing>;

  constructor(
    private readonly store: LimitStore,
    private readonly settings: ServiceSettings,
    now: Clock,
  ) {
    this.standings = new Memory(STANDINGS_MAX, STANDING_MS, now);
  }

  /**
   * Counts a guess before its verification; rejects with `too_many_failures` if the source is locked. A guess that fails with
   * the code `wrong` stays counted, any other error subtracts it. The caller calls `succeed` after a success: at once, or
   * when commands that its caller waits for are sent. `work` receives whether the source succeeded recently.
   */
  async run<T>(guess: Guess, wrong: ErrorCode, work: (hasSucceeded: boolean) => Promise<T>): Promise<T> {
    if (this.settings.authFailuresMax === 0) {
      return work(false);
    }
    const digest = guess.digest();
    const standing = this.standings.get(guess.id);
    if (standing?.digest === digest) {
      return this.repeat(guess, standing, wrong, work);
    }
    const { kind, of, ip } = guess;
    const counters =
      standing?.counters ??
      this.store.guessCounters(kind, of, { source: sourceOf(ip), network: networkOf(ip) });
    const result = await this.verifyCounted(guess, counters, standing, wrong, work);
    this.standings.set(guess.id, {
      ...{ digest, counters, isFailing: false, isMarked: false, clearedAt: Number.NEGATIVE_INFINITY },
    });
    return result;
  }

  /**
   * Counts a guess that is verified already; rejects with `too_many_failures` if the source is locked, whether the guess is
   * right or wrong. A right one is not counted and ends no lock: it may be known to who guesses another.
   */
  async judge({ kind, of, ip }: Pick<Guess, 'kind' | 'of' | 'ip'>, isRight: boolean): Promise<void> {
    if (this.settings.authFailuresMax === 0) {
      return;
    }
    const counters = this.store.guessCounters(kind, of, { source: sourceOf(ip), network: networkOf(ip) });
    const limits = this.limitsOf({ ip });
    const counted = await this.store.countGuess(counters, limits, false);
    if (counted.kind !== 'open') {
      throw tooMany(counted);
    }
    if (isRight) {
      await this.store.giveBackGuess(counters, limits).catch(() => undefined);
    }
  }

  /** True if a source succeeded with this credential, or has presented no other since: it need not be counted. */
  trusts(id: string, digest: () => string): boolean {
    if (this.settings.authFailuresMax === 0) {
      return true;
    }
    const standing = this.standings.get(id);
    return standing !== undefined && (!standing.isFailing || standing.digest === digest());
  }

  /** Ends count and lock of a source after a right credential, at most once in 20 ms; other servers may have counted too. */
  succeed(id: string): void {
    const standing = this.standings.get(id);
    const now = performance.now();
    if (standing === undefined || now - standing.clearedAt < CLEAR_AGAIN_MS) {
      return;
    }
    standing.isFailing = false;
    standing.clearedAt = now;
    const { counters, isMarked } = standing;
    standing.isMarked = true;
    const cleared = isMarked
      ? this.store.clearGuesses(counters)
      : this.store.markSuccess(counters, SUCCESS_MS);
    // Not awaited: a count that stays is only stricter.
    cleared.catch(() => {
      standing.isMarked = isMarked;
    });
  }

  /** Verifies the credential that its source succeeded with last: it counts as a guess only if it is wrong by now. */
  private async repeat<T>(
    guess: Guess,
    { counters }: Standing,
    wrong: ErrorCode,
    work: (hasSucceeded: boolean) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(true);
    } catch (error) {
      if (isWrong(error, wrong)) {
        this.standings.delete(guess.id);
        await this.store.countGuess(counters, this.limitsOf(guess), false);
      }
      throw error;
    }
  }

  private async verifyCounted<T>(
    guess: Guess,
    counters: GuessCounters,
    standing: Standing | undefined,
    wrong: ErrorCode,
    work: (hasSucceeded: boolean) => Promise<T>,
  ): Promise<T> {
    const limits = this.limitsOf(guess);
    if (standing !== undefined) {
      standing.isFailing = true;
      standing.clearedAt = Number.NEGATIVE_INFINITY;
    }
    const counted = await this.store.countGuess(counters, limits, standing === undefined);
    if (counted.kind === 'locked') {
      throw tooMany(counted);
    }
    try {
      return await work(standing !== undefined || counted.hasSucceeded);
    } catch (error) {
      if (!isWrong(error, wrong)) {
        await this.store.giveBackGuess(counters, limits).catch(() => undefined);
      } else if (counted.kind === 'spare') {
        throw tooMany(counted);
      }
      throw error;
    }
  }

  private limitsOf({ ip }: Pick<Guess, 'ip'>): GuessLimits {
    const { authFailuresMax: ownMax, authLockSeconds } = this.settings;
    const factor = networkOf(ip) === sourceOf(ip) ? ADDRESS_FACTOR : NETWORK_FACTOR;
    return { ownMax, networkMax: ownMax * factor, windowMs: WINDOW_MS, lockMs: authLockSeconds * 1_000 };
  }
}

function tooMany({ waitMs }: CountedGuess): VaultError {
  return new VaultError('too_many_failures', { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
}

function isWrong(error: unknown, wrong: ErrorCode): boolean {
  return error instanceof VaultError && error.code === wrong;
}
