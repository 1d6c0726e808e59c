import { describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { createAttempts } from '../../server/services/request/attempts.ts';

/** Attempts on counters in memory; `calls` holds what was asked of them, in order. */
function attemptsOf({ clearing = async () => undefined }: { readonly clearing?: () => Promise<void> } = {}) {
  const calls: string[] = [];
  const counts = new Map<string, number>();
  const accountStore = {
    async countAttempt(counter: string, most: number) {
      calls.push('count');
      const count = (counts.get(counter) ?? 0) + 1;
      counts.set(counter, count);
      return count > most ? 1_500 : 0;
    },
    async clearAttempts(counter: string) {
      calls.push('clear');
      await clearing();
      counts.delete(counter);
    },
    async giveBackAttempt(counter: string) {
      calls.push('give back');
      counts.set(counter, (counts.get(counter) ?? 0) - 1);
    },
  };
  const attempts = createAttempts({ accountStore, settings: { authFailuresMax: 2 } });
  return { attempts, calls, counts };
}

function wrong(): Promise<never> {
  return Promise.reject(new VaultError('passphrase_wrong'));
}

function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'ok',
    (error: VaultError) => error.code,
  );
}

describe('attempts at a secret', () => {
  test('are refused over the limit without their work, and stay counted where they were wrong', async () => {
    const { attempts, counts } = attemptsOf();
    let worked = 0;
    const guess = () => {
      worked += 1;
      return wrong();
    };
    const outcomes: string[] = [];
    for (let i = 0; i < 4; i++) {
      outcomes.push(await outcomeOf(attempts.run('c', 'passphrase_wrong', guess)));
    }
    expect(outcomes).toEqual([
      'passphrase_wrong',
      'passphrase_wrong',
      'too_many_failures',
      'too_many_failures',
    ]);
    expect(worked).toBe(2);
    expect(counts.get('c')).toBe(4);
  });

  test('that are right stay counted until their caller clears them, once', async () => {
    const { attempts, calls, counts } = attemptsOf();
    expect(await attempts.run('c', 'passphrase_wrong', async () => 7)).toBe(7);
    expect([calls, counts.get('c')]).toEqual([['count'], 1]);
    attempts.succeed('c');
    attempts.succeed('c');
    expect(calls).toEqual(['count', 'clear']);
    await Bun.sleep(1);
    expect(counts.has('c')).toBe(false);
  });

  test('are cleared again when one was counted since, however soon', async () => {
    const { attempts, calls } = attemptsOf();
    attempts.succeed('c');
    expect(await outcomeOf(attempts.run('c', 'passphrase_wrong', wrong))).toBe('passphrase_wrong');
    attempts.succeed('c');
    expect(calls).toEqual(['clear', 'count', 'clear']);
  });

  test('do without the clearing where it fails', async () => {
    const clearing = () => Promise.reject(new VaultError('store_unavailable'));
    const { attempts, calls } = attemptsOf({ clearing });
    expect(await attempts.run('c', 'passphrase_wrong', async () => 7)).toBe(7);
    attempts.succeed('c');
    await Bun.sleep(1);
    expect(calls).toEqual(['count', 'clear']);
  });

  test('that end for another reason are not counted', async () => {
    const { attempts, calls, counts } = attemptsOf();
    const failing = () => Promise.reject(new VaultError('overloaded'));
    expect(await outcomeOf(attempts.run('c', 'passphrase_wrong', failing))).toBe('overloaded');
    expect(calls).toEqual(['count', 'give back']);
    expect(counts.get('c')).toBe(0);
  });
});
