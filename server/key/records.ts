import { recover, replaceOrConfirm, withRetries } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { KeyHandle, KeyOpener } from './opener.ts';
import type { KeyStore } from './store.ts';

/** Attempts while only the master key of a record changes, which is no reason to reject and happens seldom. */
const RESEALED_TRIES_MAX = 3;

/** Both records of a key as they were read, to be replaced. */
export interface ReadRecords {
  readonly key: KeyHandle;
  readonly record: Uint8Array;
  readonly recovery: Buffer | undefined;
}

/** The records that take their place. */
interface NextRecords {
  readonly record: Uint8Array;
  readonly recovery: Uint8Array | undefined;
}

/** Makes new records from those that were read. */
type Make = (read: ReadRecords) => Promise<NextRecords>;

/** Replaces the records of a key: its own, and that of its recovery. */
export class KeyRecords {
  constructor(
    private readonly store: KeyStore,
    private readonly opener: KeyOpener,
    private readonly metering: Metering,
  ) {}

  /**
   * Replaces both records of a key, which keeps its passphrase, and returns the new ones. Rejects with `key_changed` if
   * another change came first.
   */
  async replace(ctx: AccountContext, key: KeyHandle, make: Make): Promise<NextRecords> {
    const { next } = await this.withSameKey(key, (target) => this.replaceOnce(ctx, target, undefined, make));
    return next;
  }

  /**
   * Puts a key under a new passphrase and its next generation, and stops all that used the old one. Rejects with
   * `key_changed` if another change came first.
   */
  async renew(ctx: AccountContext, key: KeyHandle, make: Make): Promise<void> {
    const gen = key.gen + 1;
    const { target } = await this.withSameKey(key, (same) => this.replaceOnce(ctx, same, gen, make));
    this.opener.forget(target);
    const { aid, kid } = target;
    // The caller gets the passphrase from here on, even if Redis fails: the sweep or the first unlock does the rest.
    await withRetries(() => this.opener.finishChange({ aid, kid, gen })).catch(() => undefined);
  }

  /**
   * Runs `attempt` with a key, and repeats it while it returns undefined because the records have changed but the key has
   * not. Rejects with `key_changed` otherwise.
   */
  async withSameKey<T>(key: KeyHandle, attempt: (key: KeyHandle) => Promise<T | undefined>): Promise<T> {
    let target: KeyHandle | undefined = key;
    for (let tries = 1; target && tries <= RESEALED_TRIES_MAX; tries++) {
      const result = await attempt(target);
      if (result !== undefined) {
        return result;
      }
      target = await this.findSame(target);
    }
    throw new VaultError('key_changed');
  }

  /** Returns the key if it still has the same passphrase: only its records were encrypted again. */
  private async findSame(key: KeyHandle): Promise<KeyHandle | undefined> {
    const found = await recover(this.opener.find(key, key.user), 'key_not_found', undefined);
    return found?.kid === key.kid && found.gen === key.gen ? found : undefined;
  }

  private async replaceOnce(
    ctx: AccountContext,
    target: KeyHandle,
    gen: number | undefined,
    make: Make,
  ): Promise<{ readonly target: KeyHandle; readonly next: NextRecords } | undefined> {
    const { aid, user, kid } = target;
    const { record, recovery } = await this.store.readPair(aid, user);
    if (!record?.equals(target.record)) {
      return undefined;
    }
    const next = await make({ key: target, record, recovery });
    // Counted first: nothing may fail after a new passphrase is stored, which may exist nowhere else.
    await this.metering.request(ctx);
    const isReplaced = await replaceOrConfirm(
      next.record,
      () => this.store.change({ aid, user, kid, gen, read: { record, recovery }, next }),
      () => this.store.read(aid, user),
    );
    return isReplaced ? { target, next } : undefined;
  }
}
