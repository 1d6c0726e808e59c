import { describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import type { ServiceSettings } from '../../server/core/settings.ts';
import { Attempts } from '../../server/limits/attempts.ts';
import type { CountedGuess, LimitStore } from '../../server/limits/store.ts';
import { stub } from '../http/stub-endpoints.ts';

const FAILURES_MAX = 2;
const OPEN: CountedGuess = { kind: 'open', waitMs: 0, hasSucceeded: false };
const LOCKED: CountedGuess = { kind: 'locked', waitMs: 1_500, hasSucceeded: false };

interface Answers {
  /** What comes of counting a guess, instead of the limit. */
  readonly counting?: () => CountedGuess;
  readonly marking?: () => Promise<void>;
}

/** Attempts on counters in memory; `calls` holds what was asked of them, in order. */
function attemptsOf({ counting, marking = async () => undefined }: Answers = {}) {
  const calls: string[] = [];
  const time = { now: 1_000_000 };
  let count = 0;
  const store = stub<LimitStore>({
    guessCounters: () => ({ own: 'o', network: 'n', success: 's' }),
    async countGuess(_, __, hasSpare) {
      calls.push(hasSpare ? 'count' : 'count strictly');
      if (counting !== undefined) {
        return counting();
      }
      if (count >= FAILURES_MAX) {
        return LOCKED;
      }
      count += 1;
      return OPEN;
    },
    async giveBackGuess() {
      calls.push('give back');
      count -= 1;
    },
    async clearGuesses() {
      calls.push('clear');
      count = 0;
    },
    async markSuccess() {
      calls.push('mark');
      await marking();
      count = 0;
    },
  });
  const settings = stub<ServiceSettings>({ authFailuresMax: FAILURES_MAX, authLockSeconds: 60 });
  const attempts = new Attempts(store, settings, () => time.now);
  const present = (credential: string, code?: 'passphrase_wrong' | 'overloaded'): Promise<string> => {
    const guess = { id: 'g', kind: 'key', of: 'g', ip: '192.0.2.1', digest: () => credential } as const;
    const work = async (): Promise<string> => {
      calls.push(`verify ${credential}`);
      if (code !== undefined) {
        throw new VaultError(code);
      }
      return 'ok';
    };
    return attempts.run(guess, 'passphrase_wrong', work).catch((error: VaultError) => error.code);
  };
  const guess = (credential: string) => present(credential, 'passphrase_wrong');
  return { attempts, calls, time, present, guess };
}

describe('guesses', () => {
  test('are marked again where the marking fails', async () => {
    const marking = () => Promise.reject(new VaultError('store_unavailable'));
    const { attempts, calls, present, guess } = attemptsOf({ marking });
    await present('right');
    attempts.succeed('g');
    await guess('wrong');
    attempts.succeed('g');
    expect(calls.filter((call) => call === 'mark')).toHaveLength(2);
  });

  test('that end for another reason are not counted', async () => {
    const { calls, present } = attemptsOf();
    expect(await present('any', 'overloaded')).toBe('overloaded');
    expect(calls).toEqual(['count', 'verify any', 'give back']);
  });
});

describe('a source is trusted', () => {
  test('after a success, and while it presents nothing else; then only with what it succeeded with', async () => {
    const { attempts, present, guess } = attemptsOf();
    const trusts = (credential: string) => attempts.trusts('g', () => credential);
    expect(trusts('right')).toBe(false);
    await present('right');
    expect([trusts('right'), trusts('other')]).toEqual([true, true]);
    await guess('wrong');
    expect([trusts('right'), trusts('other')]).toEqual([true, false]);
    attempts.succeed('g');
    expect(trusts('other')).toBe(true);
  });

  test('for a day', async () => {
    const { attempts, time, present } = attemptsOf();
    await present('right');
    time.now += 86_399_000;
    expect(attempts.trusts('g', () => 'right')).toBe(true);
    time.now += 1_001;
    expect(attempts.trusts('g', () => 'right')).toBe(false);
  });
});
