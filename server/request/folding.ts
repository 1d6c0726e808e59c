import type { RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import { addendsOf } from './metering.ts';
import type { UsageStore } from './usage-store.ts';

/** Keys whose buckets are folded in one step, which blocks Redis for about a millisecond. */
const KEYS_AT_ONCE = 32;
/** Attempts while other servers fold the counts of the same account. */
const TRIES_MAX = 100;

/**
 * Adds the counts of buckets to those of their account, each once through a crash after any step and on several servers. Counts
 * are taken under a new id, after which they do not grow; one script adds them and notes their names, if what was noted before
 * is as it was read; then they are deleted. Taken counts whose names are noted are deleted before others are taken.
 */
export class UsageFolding {
  constructor(
    private readonly store: UsageStore,
    private readonly buckets: number,
    private readonly randomId: RandomId,
  ) {}

  /** Resolves when all counts of these keys that were stored before the call are counts of the account. */
  async fold(aid: string, kids: readonly string[]): Promise<void> {
    for (let at = 0; at < kids.length; at += KEYS_AT_ONCE) {
      await this.foldSome(aid, kids.slice(at, at + KEYS_AT_ONCE));
    }
  }

  /** Keeps the counts of a key that is being deleted. */
  removeOfKey(aid: string, kid: string): Promise<void> {
    // Damaged counts must not keep the data of the key.
    return recover(this.fold(aid, [kid]), 'integrity_failed', undefined);
  }

  private async foldSome(aid: string, kids: readonly string[]): Promise<void> {
    const { store } = this;
    const all = kids.flatMap((kid) => Array.from({ length: this.buckets }, (_, number) => ({ kid, number })));
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const has = await Promise.all(all.map((bucket) => store.hasCounts(bucket)));
      if (!has.includes(true)) {
        return;
      }
      const last = await store.lastFold(aid);
      await dropAll(store, last);
      const id = this.randomId();
      const found = await Promise.all(all.map((bucket, i) => (has[i] ? store.take(bucket, id) : undefined)));
      const taken = found.filter((one) => one !== undefined);
      const names = taken.map(({ name }) => name).join('\n');
      const addends = taken.flatMap(({ counts }) => [...counts].flatMap(addendsOf));
      if (names !== '' && (await store.fold(aid, last, names, addends))) {
        await dropAll(store, names);
        // Where older counts were taken already, newer ones are left.
        if (taken.every(({ name }) => name.endsWith(id))) {
          return;
        }
      }
    }
    throw new VaultError('overloaded');
  }
}

async function dropAll(store: UsageStore, names: string): Promise<void> {
  await Promise.all((names === '' ? [] : names.split('\n')).map((name) => store.drop(name)));
}
