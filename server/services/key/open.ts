import { VaultError } from '../../core/errors.ts';
import type { Crypto, Passphrase, WarmBlob, WarmMiss } from '../../crypto/client.ts';
import type { AccountStore } from '../../store/account.ts';
import type { EndpointStore } from '../../store/endpoint.ts';
import type { Fenced } from '../../store/item.ts';
import type { KeyStore } from '../../store/key.ts';
import type { Observer } from '../../telemetry/observer.ts';
import type { Clock } from '../common/clock.ts';
import { createInFlight, pause } from '../common/coalesce.ts';
import { createMemory } from '../common/memory.ts';
import type { Account } from '../common/request-context.ts';
import type { ServiceSettings } from '../common/settings.ts';
import type { Attempts } from '../request/attempts.ts';

const KNOWN_MS = 60_000;
const KNOWN_MAX = 10_000;
const WARM_MAX = 1_000;
const WARM_PASSPHRASE_BYTES_MIN = 20;
const WARM_SWEEP_MS = 5_000;
const TRIES_MAX = 40;
const CLOSED_PAUSE_MS = 50;

/** A vault key under one of its generations. The fences of its buckets tell whether that is still the newest. */
export interface KeyRef {
  readonly aid: string;
  readonly user: string;
  readonly kid: string;
  readonly gen: number;
}

/** A vault key as this process knows it. */
export interface KeyHandle extends KeyRef {
  readonly record: Buffer;
}

/** A key whose private halves open with the passphrase at hand. */
export interface Unlocked {
  readonly key: KeyHandle;
  readonly blob: WarmBlob;
}

/** What an attempt under a key may end with instead of a result. */
export type Retry = WarmMiss | Fenced;

/** Finds keys and opens them; the only place that remembers either. */
export interface KeyOpener {
  /** The key as stored now; refuses with `key_not_found`. */
  readonly find: (account: Pick<Account, 'aid'>, user: string) => Promise<KeyHandle>;
  /**
   * Runs `attempt` with the unlocked key. When the key was changed meanwhile, on any server, it is looked
   * up and unlocked again and the attempt repeated; a wrong passphrase always pays the full derivation.
   */
  readonly withUnlocked: <T>(
    account: Account,
    user: string,
    passphrase: Passphrase,
    attempt: (key: KeyHandle, blob: WarmBlob) => Promise<T | Retry>,
  ) => Promise<T>;
  /** The key opened by this passphrase as it is stored now; refuses with `passphrase_wrong`. */
  readonly prove: (account: Account, user: string, passphrase: Passphrase) => Promise<Unlocked>;
  /** Forgets what was remembered of a key that has changed. */
  readonly forget: (key: KeyHandle) => void;
  /** Makes every request that began under an older generation fail from now on, on every server. */
  readonly finishChange: (key: Pick<KeyRef, 'aid' | 'kid' | 'gen'>) => Promise<void>;
  /** Runs what may show a passphrase to be wrong; refuses with `too_many_failures` what has often been. */
  readonly guarded: <T>(key: KeyHandle, work: () => Promise<T>) => Promise<T>;
  readonly close: () => void;
}

interface Warm {
  readonly gen: number;
  readonly blob: WarmBlob;
}

function failureOf(error: unknown) {
  return error instanceof VaultError &&
    (error.code === 'passphrase_wrong' || error.code === 'too_many_failures')
    ? error.code
    : 'failed';
}

/** Whether an attempt ended without a result. */
export function isRetry(result: unknown): result is Retry {
  const kind = typeof result === 'object' && result !== null && 'kind' in result ? result.kind : undefined;
  return kind === 'closed' || kind === 'stale' || kind === 'warm_miss';
}

/**
 * What an attempt ends with that has found no item: `missing`, for the holder of the passphrase alone; a warm blob that
 * does not open under it leads to the full unlock.
 */
export async function provenMissing(
  crypto: Pick<Crypto, 'checkWarm'>,
  key: KeyRef,
  blob: WarmBlob,
  passphrase: Passphrase,
): Promise<'missing' | WarmMiss> {
  const warm = await crypto.checkWarm({ key, blob, passphrase });
  return warm.kind === 'open' ? 'missing' : warm;
}

interface KeyOpenerDependencies {
  readonly crypto: Pick<Crypto, 'checkWarm' | 'describeKey' | 'digestSecret' | 'lengthOf' | 'unlockKey'>;
  readonly keyStore: Pick<KeyStore, 'read' | 'replace' | 'moveFences' | 'finishChange'>;
  readonly endpointStore: Pick<EndpointStore, 'stopBefore'>;
  readonly accountStore: Pick<AccountStore, 'passphraseCounter'>;
  readonly attempts: Attempts;
  readonly now: Clock;
  readonly settings: Pick<ServiceSettings, 'warmUnlockSeconds'>;
  readonly observer: Pick<Observer, 'count' | 'step'>;
}

/** Makes the one opener of a server: what it remembers is remembered once. */
export function createKeyOpener(dependencies: KeyOpenerDependencies): KeyOpener {
  const { crypto, keyStore, endpointStore, accountStore, attempts, now, settings, observer } = dependencies;
  const known = createMemory<KeyHandle>(KNOWN_MAX, KNOWN_MS, now);
  const warm = createMemory<Warm>(WARM_MAX, settings.warmUnlockSeconds * 1_000, now);
  const unlocking = createInFlight<WarmBlob>();
  // Keys whose fences are known to stand at their newest generation.
  const fenced = createMemory<number>(KNOWN_MAX, KNOWN_MS, now);

  const sweeper = setInterval(warm.sweep, WARM_SWEEP_MS);
  sweeper.unref();

  const nameOf = (aid: string, user: string): string => `${aid} ${user}`;

  const find = async ({ aid }: Pick<Account, 'aid'>, user: string): Promise<KeyHandle> => {
    const record = await keyStore.read(aid, user);
    if (!record) {
      throw new VaultError('key_not_found', { field: 'query.user' });
    }
    const seen = known.get(nameOf(aid, user));
    const facts = seen?.record.equals(record)
      ? seen
      : await crypto.describeKey({ place: { aid, user }, record });
    const handle = { aid, user, kid: facts.kid, gen: facts.gen, record };
    known.set(nameOf(aid, user), handle);
    return handle;
  };

  const findKnown = async (account: Account, user: string): Promise<KeyHandle> => {
    return known.get(nameOf(account.aid, user)) ?? find(account, user);
  };

  const forget = ({ aid, user, kid }: KeyHandle): void => {
    known.delete(nameOf(aid, user));
    warm.delete(kid);
  };

  const guessesOf = (key: KeyHandle): string => accountStore.passphraseCounter(key.aid, key.kid);
  const guarded: KeyOpener['guarded'] = (key, work) => attempts.run(guessesOf(key), 'passphrase_wrong', work);

  const remember = (key: KeyHandle, passphrase: Passphrase, blob: WarmBlob): void => {
    if (settings.warmUnlockSeconds === 0 || crypto.lengthOf(passphrase) < WARM_PASSPHRASE_BYTES_MIN) {
      return;
    }
    warm.set(key.kid, { gen: key.gen, blob });
  };

  /** A passphrase change that was interrupted behind its record is finished by the first unlock after it. */
  const finishChange: KeyOpener['finishChange'] = async ({ aid, kid, gen }) => {
    if (gen === 1 || fenced.get(kid) === gen) {
      return;
    }
    await keyStore.moveFences(kid, gen);
    await endpointStore.stopBefore(aid, kid, gen);
    await keyStore.finishChange(aid, kid, gen);
    fenced.set(kid, gen);
  };

  /** The full unlock. Callers with the same passphrase share one; each different guess counts. */
  const unlock = (key: KeyHandle, passphrase: Passphrase): Promise<WarmBlob> => {
    const guess = crypto.digestSecret([key.kid, String(key.gen)], passphrase);
    const derive = async (): Promise<WarmBlob> => {
      const { blob, upgraded } = await guarded(key, () =>
        crypto.unlockKey({ key, record: key.record, passphrase }),
      );
      await finishChange(key);
      if (upgraded) {
        // Somebody else may have been faster, or Redis slow; then the next unlock tries again.
        await keyStore.replace(key.aid, key.user, key.record, upgraded).catch(() => false);
        known.delete(nameOf(key.aid, key.user));
      }
      remember(key, passphrase, blob);
      observer.count('unlock', 'cold');
      return blob;
    };
    return unlocking(guess, () =>
      observer.step('unlock', derive).catch((error: unknown) => {
        observer.count('unlock', failureOf(error));
        throw error;
      }),
    );
  };

  const warmBlob = (key: KeyHandle): WarmBlob | undefined => {
    const entry = warm.get(key.kid);
    return entry?.gen === key.gen ? entry.blob : undefined;
  };

  const withUnlocked: KeyOpener['withUnlocked'] = async (account, user, passphrase, attempt) => {
    let cold = false;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const known = await findKnown(account, user);
      const kept = cold ? undefined : warmBlob(known);
      // Only a key as it is stored now may say that a passphrase is wrong.
      const key = kept ? known : await find(account, user);
      const result = await attempt(key, kept ?? (await unlock(key, passphrase)));
      if (!isRetry(result)) {
        if (kept) {
          observer.count('unlock', 'warm');
        }
        attempts.succeed(guessesOf(key));
        return result;
      }
      if (result.kind === 'warm_miss') {
        observer.count('unlock', 'warm_miss');
        cold = true;
        continue;
      }
      forget(key);
      cold = false;
      if (result.kind === 'closed') {
        await pause(CLOSED_PAUSE_MS);
      }
    }
    throw new VaultError('overloaded');
  };

  const prove: KeyOpener['prove'] = (account, user, passphrase) =>
    withUnlocked<Unlocked>(account, user, passphrase, async (key, blob) => {
      const warm = await crypto.checkWarm({ key, blob, passphrase });
      if (warm.kind === 'warm_miss') {
        return warm;
      }
      const stored = await keyStore.read(key.aid, key.user);
      return stored?.equals(key.record) ? { key, blob } : { kind: 'stale' };
    });

  return {
    find,
    forget,
    withUnlocked,
    prove,
    finishChange,
    guarded,
    close: () => clearInterval(sweeper),
  };
}
