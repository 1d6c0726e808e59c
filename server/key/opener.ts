import type { KeyFacts, WarmMiss } from '../../workers/jobs/key/jobs.ts';
import type { AccountStore } from '../account/store.ts';
import { bindParts } from '../core/bind.ts';
import { createMemory, type Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { createSharedRuns, pause } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto, WarmBlob } from '../crypto/client.ts';
import { sourceOf } from '../domain/text/source.ts';
import type { EndpointStore } from '../endpoint/store.ts';
import { type Attempts, type Guess, guessSourceOf } from '../limits/attempts.ts';
import type { Fenced } from '../redis/records/fence.ts';
import { type Account, type AccountContext, confirmAccount } from '../request/context.ts';
import type { Observer } from '../telemetry/observer.ts';
import type { KeyStore } from './store.ts';

const KNOWN_MS = 60_000;
const KNOWN_MAX = 10_000;
const WARM_MAX = 1_000;
const WARM_PASSPHRASE_BYTES_MIN = 20;
const WARM_SWEEP_MS = 5_000;
const TRIES_MAX = 40;
/** How long a request waits before it asks again for a fence that is closed. */
export const CLOSED_PAUSE_MS = 50;

/** A vault key under one of its generations. The fences of its buckets tell whether that is still the newest. */
export interface KeyRef extends KeyFacts {
  readonly aid: string;
  readonly user: string;
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

/** The result of an attempt under a key. */
export interface Done<T> {
  readonly kind: 'done';
  readonly value: T;
}

/** Ends an attempt with its result. */
export function done<T>(value: T): Done<T> {
  return { kind: 'done', value };
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

/**
 * The end of an attempt that has found no item: undefined, for the holder of the passphrase alone; a warm blob that does
 * not open under it leads to the full unlock.
 */
export async function provenMissing(
  crypto: Pick<Crypto, 'checkWarm'>,
  key: KeyRef,
  blob: WarmBlob,
  passphrase: SecretBytes,
): Promise<Done<undefined> | WarmMiss> {
  const warm = await crypto.checkWarm({ key, blob, passphrase });
  return warm.kind === 'open' ? done(undefined) : warm;
}

interface KeyOpenerDependencies {
  readonly crypto: Pick<Crypto, 'checkWarm' | 'describeKey' | 'digestSecret' | 'lengthOf' | 'unlockKey'>;
  readonly keyStore: Pick<KeyStore, 'read' | 'replace' | 'moveFences' | 'finishChange'>;
  readonly endpointStore: Pick<EndpointStore, 'stopBefore'>;
  readonly accountStore: Pick<AccountStore, 'passphraseCounters'>;
  readonly attempts: Attempts;
  readonly now: Clock;
  readonly settings: Pick<ServiceSettings, 'warmUnlockSeconds'>;
  readonly observer: Pick<Observer, 'count' | 'step'>;
}

/** What one server remembers of keys, beside what it works with. */
interface Opener extends KeyOpenerDependencies {
  /** Keys by account and name. */
  readonly known: Memory<KeyHandle>;
  /** Warm blobs by key id. */
  readonly warm: Memory<Warm>;
  /** The newest generation of keys whose fences are known to stand at it. */
  readonly fenced: Memory<number>;
  /** Shares the derivation of callers with the same passphrase. */
  readonly deriving: (passphrase: string, work: () => Promise<WarmBlob>) => Promise<WarmBlob>;
  /** Shares the unlock of those among them that are of one source: together they are one guess. */
  readonly unlocking: (guess: string, work: () => Promise<WarmBlob>) => Promise<WarmBlob>;
}

function nameOf(aid: string, user: string): string {
  return `${aid} ${user}`;
}

/** The key as stored now; rejects with `key_not_found`. */
async function find(
  { keyStore, crypto, known }: Opener,
  { aid }: Pick<Account, 'aid'>,
  user: string,
): Promise<KeyHandle> {
  const record = await keyStore.read(aid, user);
  if (!record) {
    throw new VaultError('key_not_found', { field: 'query.user' });
  }
  const name = nameOf(aid, user);
  const seen = known.get(name);
  if (seen?.record.equals(record)) {
    known.set(name, seen);
    return seen;
  }
  const facts = await crypto.describeKey({ place: { aid, user }, record });
  // A copy: a reply is a view, and would keep all that arrived with it.
  const handle = { aid, user, ...facts, record: Buffer.from(record) };
  known.set(name, handle);
  return handle;
}

/** Forgets what was remembered of a key that has changed. */
function forget({ known, warm }: Opener, { aid, user, kid }: KeyHandle): void {
  known.delete(nameOf(aid, user));
  warm.delete(kid);
}

/** Whose key is unlocked: what an unlock counts and writes is an effect, which only a confirmed account may have. */
type Caller = Pick<AccountContext, 'account' | 'accountCheck' | 'ip'>;

/** Names the guesses at a key's passphrase from one source. */
function guessIdOf({ kid }: Pick<KeyRef, 'kid'>, { ip }: Pick<Caller, 'ip'>): string {
  return `${kid} ${sourceOf(ip)}`;
}

function digestOf({ crypto }: Opener, { kid }: KeyRef, passphrase: SecretBytes): string {
  return crypto.digestSecret(kid, passphrase);
}

function guessOf(opener: Opener, key: KeyHandle, caller: Pick<Caller, 'ip'>, passphrase: SecretBytes): Guess {
  return {
    id: guessIdOf(key, caller),
    ip: caller.ip,
    digest: () => digestOf(opener, key, passphrase),
    counters: () => opener.accountStore.passphraseCounters(key.kid, guessSourceOf(caller.ip)),
  };
}

/**
 * Makes every request that began under an older generation fail from now on, on every server. A passphrase change that
 * was interrupted behind its record is finished by the first unlock after it.
 */
async function finishChange(
  { keyStore, endpointStore, fenced }: Opener,
  { aid, kid, gen }: Pick<KeyRef, 'aid' | 'kid' | 'gen'>,
): Promise<void> {
  if (gen === 1 || fenced.get(kid) === gen) {
    return;
  }
  await keyStore.moveFences(kid, gen);
  await endpointStore.stopBefore(aid, kid, gen);
  await keyStore.finishChange(aid, kid, gen);
  fenced.set(kid, gen);
}

async function unlockCold(opener: Opener, key: KeyHandle, passphrase: SecretBytes): Promise<WarmBlob> {
  const { crypto, keyStore, settings, known, warm } = opener;
  const { record } = key;
  const { blob, upgraded } = await crypto.unlockKey({ key, record, passphrase });
  await finishChange(opener, key);
  if (upgraded) {
    // Somebody else may have been faster, or Redis slow; then the next unlock tries again.
    await keyStore.replace(key.aid, key.user, record, upgraded).catch(() => false);
    known.delete(nameOf(key.aid, key.user));
  }
  if (settings.warmUnlockSeconds > 0 && crypto.lengthOf(passphrase) >= WARM_PASSPHRASE_BYTES_MIN) {
    warm.set(key.kid, { gen: key.gen, blob });
  }
  return blob;
}

/** The full unlock, which callers with the same passphrase share. */
function derive(opener: Opener, key: KeyHandle, passphrase: SecretBytes): Promise<WarmBlob> {
  const { observer, deriving } = opener;
  return deriving(`${key.gen} ${key.kid} ${digestOf(opener, key, passphrase)}`, async () => {
    const blob = await observer.step('unlock', () => unlockCold(opener, key, passphrase));
    observer.count('unlock', 'cold');
    return blob;
  });
}

/**
 * Unlocks a key for a source that may be guessing: with the warm blob if there is one and it opens, otherwise in full.
 * Each different guess of a source counts; the count of a right one is for the caller to clear.
 */
function unlock(
  opener: Opener,
  caller: Caller,
  key: KeyHandle,
  passphrase: SecretBytes,
  kept: WarmBlob | undefined,
): Promise<WarmBlob> {
  const { attempts, crypto, observer, unlocking } = opener;
  const guess = guessOf(opener, key, caller, passphrase);
  return unlocking(`${key.gen} ${guess.id} ${guess.digest()}`, async () => {
    try {
      return await attempts.run(guess, 'passphrase_wrong', async () => {
        const isOpen = kept && (await crypto.checkWarm({ key, blob: kept, passphrase })).kind === 'open';
        return kept && isOpen ? kept : derive(opener, key, passphrase);
      });
    } catch (error) {
      observer.count('unlock', failureOf(error));
      throw error;
    }
  });
}

function keptBlob({ warm }: Opener, { kid, gen }: KeyRef): WarmBlob | undefined {
  const entry = warm.get(kid);
  return entry?.gen === gen ? entry.blob : undefined;
}

/** The key with its warm blob, for a source that need not be counted; undefined for any other, and without a blob. */
function recallWarm(
  opener: Opener,
  { account, ip }: Caller,
  user: string,
  passphrase: SecretBytes,
): Unlocked | undefined {
  const key = opener.known.get(nameOf(account.aid, user));
  const blob = key && keptBlob(opener, key);
  return key &&
    blob &&
    opener.attempts.trusts(guessIdOf(key, { ip }), () => digestOf(opener, key, passphrase))
    ? { key, blob }
    : undefined;
}

/** The id of a key that this server knows and keeps unlocked, whether or not a caller may open it. */
function recallId(opener: Opener, { aid }: Pick<Account, 'aid'>, user: string): string | undefined {
  const key = opener.known.get(nameOf(aid, user));
  return key && keptBlob(opener, key) && key.kid;
}

async function attemptCold<T>(
  opener: Opener,
  caller: Caller,
  user: string,
  passphrase: SecretBytes,
  usesWarm: boolean,
  attempt: (key: KeyHandle, blob: WarmBlob) => Promise<T>,
): Promise<{ readonly key: KeyHandle; readonly result: T }> {
  // Only a key as it is stored now may say that a passphrase is wrong.
  const key = await find(opener, caller.account, user);
  await confirmAccount(caller);
  const kept = usesWarm ? keptBlob(opener, key) : undefined;
  const blob = await unlock(opener, caller, key, passphrase, kept);
  const result = await attempt(key, blob).finally(() => opener.attempts.succeed(guessIdOf(key, caller)));
  return { key, result };
}

/**
 * Runs `attempt` with the unlocked key. When the key was changed meanwhile, on any server, it is looked up and unlocked
 * again and the attempt repeated; a wrong passphrase always pays the full derivation, and a source that is locked is
 * rejected before it, warm or not.
 */
async function withUnlocked<T>(
  opener: Opener,
  caller: Caller,
  user: string,
  passphrase: SecretBytes,
  attempt: (key: KeyHandle, blob: WarmBlob) => Promise<Done<T> | Retry>,
): Promise<T> {
  const { attempts, observer } = opener;
  let cold = false;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const warm: Unlocked | undefined = cold ? undefined : recallWarm(opener, caller, user, passphrase);
    const { key, result }: { readonly key: KeyHandle; readonly result: Done<T> | Retry } = warm
      ? { key: warm.key, result: await attempt(warm.key, warm.blob) }
      : await attemptCold(opener, caller, user, passphrase, !cold, attempt);
    if (result.kind === 'done') {
      if (warm) {
        observer.count('unlock', 'warm');
        attempts.succeed(guessIdOf(key, caller));
      }
      return result.value;
    }
    cold = result.kind === 'warm_miss';
    if (cold) {
      observer.count('unlock', 'warm_miss');
      continue;
    }
    forget(opener, key);
    if (result.kind === 'closed') {
      await pause(CLOSED_PAUSE_MS);
    }
  }
  throw new VaultError('overloaded');
}

/**
 * The key opened by this passphrase as it is stored now, for an account that is confirmed; rejects with
 * `passphrase_wrong`.
 */
function prove(
  opener: Opener,
  { account, ip }: Pick<Caller, 'account' | 'ip'>,
  user: string,
  passphrase: SecretBytes,
): Promise<Unlocked> {
  const caller = { account, ip, accountCheck: undefined };
  return withUnlocked<Unlocked>(opener, caller, user, passphrase, async (key, blob) => {
    const warm = await opener.crypto.checkWarm({ key, blob, passphrase });
    if (warm.kind === 'warm_miss') {
      return warm;
    }
    const stored = await opener.keyStore.read(key.aid, key.user);
    return stored?.equals(key.record) ? done({ key, blob }) : { kind: 'stale' };
  });
}

/** Finds keys and opens them: the one opener of a server, and the only place that remembers either. */
export function createKeyOpener(dependencies: KeyOpenerDependencies) {
  const { now, settings } = dependencies;
  const opener: Opener = {
    ...dependencies,
    known: createMemory(KNOWN_MAX, KNOWN_MS, now),
    warm: createMemory(WARM_MAX, settings.warmUnlockSeconds * 1_000, now),
    fenced: createMemory(KNOWN_MAX, KNOWN_MS, now),
    deriving: createSharedRuns(),
    unlocking: createSharedRuns(),
  };
  const sweeper = setInterval(opener.warm.sweep, WARM_SWEEP_MS);
  sweeper.unref();
  return {
    ...bindParts(opener, { find, forget, prove, recallId, finishChange }),
    /** Runs what may show a passphrase to be wrong; rejects with `too_many_failures` what has often been. */
    guarded: async <T>(
      caller: Pick<Caller, 'ip'>,
      key: KeyHandle,
      passphrase: SecretBytes,
      work: () => Promise<T>,
    ): Promise<T> => {
      const guess = guessOf(opener, key, caller, passphrase);
      const result = await opener.attempts.run(guess, 'passphrase_wrong', work);
      opener.attempts.succeed(guess.id);
      return result;
    },
    withUnlocked: <T>(
      caller: Caller,
      user: string,
      passphrase: SecretBytes,
      attempt: (key: KeyHandle, blob: WarmBlob) => Promise<Done<T> | Retry>,
    ) => withUnlocked(opener, caller, user, passphrase, attempt),
    close: () => clearInterval(sweeper),
  };
}

export type KeyOpener = ReturnType<typeof createKeyOpener>;
