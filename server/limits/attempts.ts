import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import { networkOf, sourceOf } from '../domain/text/source.ts';
import type { CountedGuess, GuessCounters, GuessLimits, LimitStore } from './store.ts';

const WINDOW_MS = 15 * 60 * 1_000;
const CLEAR_AGAIN_MS = 20;
/** Guesses of a /48, as a multiple of the limit, regardless of successes in between. */
const NETWORK_FACTOR = 4;
/** Guesses of one address, as a multiple of the limit, regardless of successes in between. */
const ADDRESS_FACTOR = 10;
const STANDINGS_MAX = 20_000;
/** The time for which a process remembers that a source succeeded. */
const STANDING_MS = 24 * 60 * 60 * 1_000;
/** Longer in Redis: a process marks a source no more often than it forgets one. */
const SUCCESS_MS = 2 * STANDING_MS;

/** A guess: an attempt to verify a secret that a source has presented. */
export interface Guess {
  /** Names the secret and the source within this process. */
  readonly id: string;
  /** The secret: the password of an account, by its name, or a secret of a key, by its id. */
  readonly kind: 'name' | 'key';
  readonly of: string;
  /** The address that it came from. */
  readonly ip: string;
  /** A digest of the presented secret, comparable within this process. */
  readonly digest: () => string;
}

/** The state of a source that succeeded. */
interface Standing {
  /** Of the credential that it succeeded with last. */
  readonly digest: string;
  readonly counters: GuessCounters;
  /** Whether it has presented another credential since. */
  isFailing: boolean;
  /** Whether Redis remembers its success. */
  isMarked: boolean;
  /** On `performance.now()`. */
  clearedAt: number;
}

/**
 * Limits guesses at secrets, over all servers. Too many failures of a source lock that source, even for the right secret. A
 * source that had succeeded before is let through with the credential it succeeded with, and with no other.
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
   * Counts a guess before its cost is paid; rejects with `too_many_failures` if the source is locked. A guess that fails
   * with the code `wrong` stays counted, and any other error uncounts it. The caller calls `succeed` after a success: at once,
   * or when commands that its own caller waits for are sent. `work` is told whether the source succeeded lately.
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
   * Whether a source may present a credential to a verification that is not counted: it had succeeded, and has presented no
   * other credential since, or this is the one that it succeeded with.
   */
  trusts(id: string, digest: () => string): boolean {
    if (this.settings.authFailuresMax === 0) {
      return true;
    }
    const standing = this.standings.get(id);
    return standing !== undefined && (!standing.isFailing || standing.digest === digest());
  }

  /**
   * Ends the count and the lock of a source after a right credential, at most once in 20 ms: another server may have
   * counted too, but not every success needs a command.
   */
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

  /** Verifies the credential that its source succeeded with last: it is no guess, unless it is wrong by now. */
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

  private limitsOf({ ip }: Guess): GuessLimits {
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
