import type {
  AccountStore,
  CountedGuess,
  GuessCounters,
  GuessLimits,
  GuessSource,
} from '../account/store.ts';
import { bindParts } from '../core/bind.ts';
import { createMemory, type Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import { networkOf, sourceOf } from '../domain/text/source.ts';

const WINDOW_MS = 15 * 60 * 1_000;
const CLEAR_AGAIN_MS = 20;
/** So many times the limit are the guesses of a /48, whoever of it succeeds in between. */
const NETWORK_FACTOR = 4;
/** So many times the limit are the guesses of one address, however often it succeeds in between. */
const ADDRESS_FACTOR = 10;
const STANDINGS_MAX = 20_000;
/** How long a process remembers that a source succeeded. */
const STANDING_MS = 24 * 60 * 60 * 1_000;
/** Redis remembers it for longer: a process marks a source no more often than it forgets one. */
const SUCCESS_MS = 2 * STANDING_MS;

/** A guess at a secret: an attempt to verify what a source has presented. */
export interface Guess {
  /** Names the secret and the source within this process. */
  readonly id: string;
  /** A digest of what is presented, good for comparing within this process. */
  readonly digest: () => string;
  readonly counters: () => GuessCounters;
  /** The address that it came from. */
  readonly ip: string;
}

/** What a process knows of a source that succeeded. */
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

interface AttemptParts {
  readonly accountStore: Pick<AccountStore, 'countGuess' | 'giveBackGuess' | 'clearGuesses' | 'markSuccess'>;
  readonly settings: Pick<ServiceSettings, 'authFailuresMax' | 'authLockSeconds'>;
  readonly standings: Memory<Standing>;
}

/**
 * The limits of guesses at secrets, over all servers. Too many failures of a source lock that source, right or wrong. A
 * source that had succeeded before is let through with the credential it succeeded with, and with no other.
 */
export type Attempts = ReturnType<typeof createAttempts>;

/** Makes the limits of a server. `authFailuresMax` 0 is no limit. */
export function createAttempts(dependencies: Omit<AttemptParts, 'standings'> & { readonly now: Clock }) {
  const standings = createMemory<Standing>(STANDINGS_MAX, STANDING_MS, dependencies.now);
  const parts: AttemptParts = { ...dependencies, standings };
  return {
    ...bindParts(parts, { trusts, succeed }),
    run: <T>(guess: Guess, wrong: ErrorCode, work: (hasSucceeded: boolean) => Promise<T>) =>
      run(parts, guess, wrong, work),
  };
}

/** The source of an address, and its network. */
export function guessSourceOf(ip: string): GuessSource {
  return { source: sourceOf(ip), network: networkOf(ip) };
}

/**
 * Whether a source may present a credential to what is verified without a count: it had succeeded, and has presented no
 * other credential since, or this is the one that it succeeded with.
 */
function trusts({ standings, settings }: AttemptParts, id: string, digest: () => string): boolean {
  if (settings.authFailuresMax === 0) {
    return true;
  }
  const standing = standings.get(id);
  return standing !== undefined && (!standing.isFailing || standing.digest === digest());
}

/**
 * Ends the count and the lock of a source after a right credential, at most once in 20 ms: another server may have
 * counted too, but not every success needs a command.
 */
function succeed({ standings, accountStore }: AttemptParts, id: string): void {
  const standing = standings.get(id);
  const now = performance.now();
  if (standing === undefined || now - standing.clearedAt < CLEAR_AGAIN_MS) {
    return;
  }
  standing.isFailing = false;
  standing.clearedAt = now;
  const { counters, isMarked } = standing;
  standing.isMarked = true;
  const cleared = isMarked
    ? accountStore.clearGuesses(counters)
    : accountStore.markSuccess(counters, SUCCESS_MS);
  // Not awaited: a count that stays is only stricter.
  cleared.catch(() => {
    standing.isMarked = isMarked;
  });
}

function limitsOf({ settings }: AttemptParts, { ip }: Guess): GuessLimits {
  const { authFailuresMax: ownMax, authLockSeconds } = settings;
  const factor = networkOf(ip) === sourceOf(ip) ? ADDRESS_FACTOR : NETWORK_FACTOR;
  return { ownMax, networkMax: ownMax * factor, windowMs: WINDOW_MS, lockMs: authLockSeconds * 1_000 };
}

function tooMany({ waitMs }: CountedGuess): VaultError {
  return new VaultError('too_many_failures', { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
}

/**
 * Counts a guess before its cost is paid; rejects with `too_many_failures` where the source is locked. A guess that ends
 * with the code `wrong` stays counted, and any other error uncounts it. A success is to be followed by `succeed`: at once,
 * or when commands that its caller waits for need not wait for that one. `work` learns whether the source succeeded lately.
 */
async function run<T>(
  parts: AttemptParts,
  guess: Guess,
  wrong: ErrorCode,
  work: (hasSucceeded: boolean) => Promise<T>,
): Promise<T> {
  const { settings, standings } = parts;
  if (settings.authFailuresMax === 0) {
    return work(false);
  }
  const digest = guess.digest();
  const standing = standings.get(guess.id);
  if (standing?.digest === digest) {
    return repeat(parts, guess, standing, wrong, work);
  }
  const counters = standing?.counters ?? guess.counters();
  const result = await verifyCounted(parts, guess, counters, standing, wrong, work);
  standings.set(guess.id, {
    ...{ digest, counters, isFailing: false, isMarked: false, clearedAt: Number.NEGATIVE_INFINITY },
  });
  return result;
}

/** Verifies the credential that its source succeeded with last: it is no guess, unless it is wrong by now. */
async function repeat<T>(
  parts: AttemptParts,
  guess: Guess,
  { counters }: Standing,
  wrong: ErrorCode,
  work: (hasSucceeded: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await work(true);
  } catch (error) {
    if (isWrong(error, wrong)) {
      parts.standings.delete(guess.id);
      await parts.accountStore.countGuess(counters, limitsOf(parts, guess), false);
    }
    throw error;
  }
}

function isWrong(error: unknown, wrong: ErrorCode): boolean {
  return error instanceof VaultError && error.code === wrong;
}

async function verifyCounted<T>(
  parts: AttemptParts,
  guess: Guess,
  counters: GuessCounters,
  standing: Standing | undefined,
  wrong: ErrorCode,
  work: (hasSucceeded: boolean) => Promise<T>,
): Promise<T> {
  const { accountStore } = parts;
  const limits = limitsOf(parts, guess);
  if (standing !== undefined) {
    standing.isFailing = true;
    standing.clearedAt = Number.NEGATIVE_INFINITY;
  }
  const counted = await accountStore.countGuess(counters, limits, standing === undefined);
  if (counted.kind === 'locked') {
    throw tooMany(counted);
  }
  try {
    return await work(standing !== undefined || counted.hasSucceeded);
  } catch (error) {
    if (!isWrong(error, wrong)) {
      await accountStore.giveBackGuess(counters, limits).catch(() => undefined);
    } else if (counted.kind === 'spare') {
      throw tooMany(counted);
    }
    throw error;
  }
}
