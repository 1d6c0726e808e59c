import { recover, replaceOrConfirm, withRetries } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { KeyHandle, KeyOpener } from './opener.ts';
import type { KeyPair, KeyStore } from './store.ts';

/** Attempts while only the master key of a record changes, which is no reason to reject and happens seldom. */
const RESEALED_TRIES_MAX = 3;

/** A key with both of its records as they were read, to be replaced. */
export interface ReadRecords extends KeyPair {
  readonly key: KeyHandle;
}

type Make = (read: ReadRecords) => Promise<KeyPair>;

/** Replaces the records of a key: its own, and that of its recovery. */
export class KeyRecords {
  constructor(
    private readonly store: KeyStore,
    private readonly opener: KeyOpener,
    private readonly metering: Metering,
  ) {}

  /** Replaces both records of a key and returns them, with `gen` under a new generation. Rejects with `key_changed`. */
  replace(ctx: AccountContext, key: KeyHandle, make: Make, gen?: number): Promise<KeyPair> {
    return this.withSameKey(key, async (target) => {
      const { aid, user, kid } = target;
      const { record, recovery } = await this.store.readPair(aid, user);
      if (!record?.equals(target.record)) {
        return undefined;
      }
      const next = await make({ key: target, record, recovery });
      const isReplaced = await replaceOrConfirm(
        next.record,
        () => this.store.change({ aid, user, kid, gen, read: { record, recovery }, next }),
        () => this.store.read(aid, user),
      );
      if (!isReplaced) {
        return undefined;
      }
      // Nothing may fail from here on: the new passphrase may exist nowhere else.
      await this.metering.request(ctx)?.catch(() => undefined);
      return next;
    });
  }

  /** Puts a key under a new passphrase and generation, and stops the use of the old one. Rejects with `key_changed`. */
  async renew(ctx: AccountContext, key: KeyHandle, make: Make): Promise<void> {
    const gen = key.gen + 1;
    await this.replace(ctx, key, make, gen);
    this.opener.forget(key);
    // The caller gets the passphrase from here on, even if Redis fails: the sweep or the first unlock does the rest.
    await withRetries(() => this.opener.finishChange(key.aid, key.kid, gen)).catch(() => undefined);
  }

  /** Repeats `attempt` while it returns undefined, since records but not the key have changed. Rejects with `key_changed`. */
  async withSameKey<T>(key: KeyHandle, attempt: (key: KeyHandle) => Promise<T | undefined>): Promise<T> {
    let target: KeyHandle | undefined = key;
    for (let tries = 1; target && tries <= RESEALED_TRIES_MAX; tries++) {
      const result = await attempt(target);
      if (result !== undefined) {
        return result;
      }
      const found = await recover(this.opener.find(key, key.user), 'key_not_found', undefined);
      // With the same generation, only its records were encrypted again.
      target = found?.kid === key.kid && found.gen === key.gen ? found : undefined;
    }
    throw new VaultError('key_changed');
  }
}
