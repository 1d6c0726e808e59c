import type { KeyFacts, WarmMiss } from '../../workers/jobs/key/jobs.ts';
import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { createSharedRuns, pause, recover } from '../core/concurrency.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto, WarmBlob } from '../crypto/client.ts';
import { sourceOf } from '../domain/text/network.ts';
import type { Attempts, Guess } from '../limits/attempts.ts';
import type { Fenced } from '../redis/records/fence.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { Observer } from '../telemetry/observer.ts';
import type { KeyStore } from './store.ts';

const CACHED_MS = 60_000;
const CACHED_MAX = 10_000;
const WARM_MAX = 1_000;
const WARM_PASSPHRASE_BYTES_MIN = 20;
const WARM_SWEEP_MS = 5_000;
const TRIES_MAX = 40;
/** Keys that are found at once. */
const KEYS_STEP = 64;
/** The pause before a request tries a closed fence again. */
export const CLOSED_PAUSE_MS = 50;

/** Data of another noun that belongs to a key: it stops when the passphrase changes, and ends with the key. */
export interface KeyDependent {
  removeOfKey(aid: string, kid: string): Promise<void>;
  /** Prepares a new key, before its record is stored and, with `isCreated`, after. */
  prepare?(aid: string, user: string, kid: string, isCreated: boolean): Promise<void>;
  /** Stops what was created under an older generation of the key. */
  stopBefore?(aid: string, kid: string, gen: number): Promise<void>;
}

/** An account, and the credential that acts for it, which may be limited to some keys. */
type KeyOwner = Pick<Account, 'aid' | 'credential'>;

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

/** A reason to repeat an attempt under a key. */
export type Retry = WarmMiss | Fenced;

/** The result of an attempt under a key. */
export interface Done<T> {
  readonly kind: 'done';
  readonly value: T;
}

type Attempt<T> = (key: KeyHandle, blob: WarmBlob) => Promise<Done<T> | Retry>;

export function done<T>(value: T): Done<T> {
  return { kind: 'done', value };
}

/** Ends an attempt without an item, if the passphrase is right; otherwise the warm miss leads to the full unlock. */
export async function provenMissing(
  crypto: Crypto,
  key: KeyRef,
  blob: WarmBlob,
  passphrase: SecretBytes,
): Promise<Done<undefined> | WarmMiss> {
  const warm = await crypto.checkWarm({ key, blob, passphrase });
  return warm.kind === 'open' ? done(undefined) : warm;
}

/** Moves the error for an unknown key to the body, for requests that name the key there and not in the query. */
export async function namedInBody<T>(work: Promise<T>, field = 'body.user'): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isMissing = error instanceof VaultError && error.code === 'key_not_found';
    throw isMissing ? new VaultError('key_not_found', { field }) : error;
  }
}

/** Finds vault keys and opens them, and is the only place that caches either. */
export class KeyOpener {
  private readonly known: Memory<KeyHandle>;
  private readonly warm: Memory<{ readonly gen: number; readonly blob: WarmBlob }>;
  /** The newest generation of keys whose fences are known to be at it. */
  private readonly fenced: Memory<number>;
  /** Shares a derivation between callers with the same passphrase. */
  private readonly deriving = createSharedRuns<WarmBlob>();
  /** Shares an unlock between those callers that have the same source: together they are one guess. */
  private readonly unlocking = createSharedRuns<WarmBlob>();
  private readonly sweeper: NodeJS.Timeout;

  constructor(
    private readonly store: KeyStore,
    private readonly crypto: Crypto,
    private readonly dependents: readonly KeyDependent[],
    private readonly attempts: Attempts,
    private readonly observer: Observer,
    private readonly settings: ServiceSettings,
    now: Clock,
  ) {
    this.known = new Memory(CACHED_MAX, CACHED_MS, now);
    this.warm = new Memory(WARM_MAX, settings.warmUnlockSeconds * 1_000, now);
    this.fenced = new Memory(CACHED_MAX, CACHED_MS, now);
    this.sweeper = setInterval(() => this.warm.sweep(), WARM_SWEEP_MS);
    this.sweeper.unref();
  }

  /** Returns the key as it is stored now. Rejects with `key_not_found`. */
  async find({ aid }: { readonly aid: string }, user: string): Promise<KeyHandle> {
    const record = await this.store.read(aid, user);
    if (!record) {
      throw new VaultError('key_not_found', { field: 'query.user' });
    }
    const name = nameOf(aid, user);
    const seen = this.known.get(name);
    if (seen?.record.equals(record)) {
      this.known.set(name, seen);
      return seen;
    }
    const facts = await this.crypto.describeKey({ place: { aid, user }, record });
    // The record is copied: it is a view of a larger reply, which the cache would keep in memory.
    const handle = { aid, user, ...facts, record: Buffer.from(record) };
    this.known.set(name, handle);
    return handle;
  }

  /**
   * Returns a key as it is stored now, after its fences have rejected it as stale. If it has not changed, they are those of an
   * interrupted or overtaken change of its summaries, and are set again. Rejects with `key_not_found`.
   */
  async findAgain(stale: KeyRef): Promise<KeyHandle> {
    const key = await this.find(stale, stale.user);
    if (key.kid === stale.kid && key.gen === stale.gen && key.summary === stale.summary) {
      await this.store.setSummaries(key.kid, key.summary);
    }
    return key;
  }

  /** Returns the names of keys that the caller may use, in order and after `after`; a negative `limit` is none. */
  async users(
    { aid, credential }: KeyOwner,
    after: string | undefined,
    limit: number,
  ): Promise<readonly string[]> {
    if (credential?.keys === undefined) {
      return this.store.users(aid, after, limit);
    }
    const named = [...credential.keys].filter((user) => after === undefined || user > after).sort();
    const found = await this.findAll(aid, named);
    return found.map(({ user }) => user).slice(0, limit < 0 ? undefined : limit);
  }

  /**
   * Yields the key `user`, or without it all keys that the caller may use, in the order of their names and from the key `first`
   * on. A key that is deleted meanwhile is left out. Rejects with `key_not_found` for `user`.
   */
  async *each(account: KeyOwner, user?: string, first?: string): AsyncGenerator<KeyHandle, void, void> {
    if (user !== undefined) {
      yield await this.find(account, user);
      return;
    }
    for await (const keys of this.chunks(account, first)) {
      yield* keys;
    }
  }

  /** Yields all of them in chunks, without those that are rejected with `skipped`. */
  async *chunks(
    { aid, credential }: KeyOwner,
    first?: string,
    skipped?: ErrorCode,
  ): AsyncGenerator<readonly KeyHandle[], void, void> {
    if (credential?.keys !== undefined) {
      const named = [...credential.keys].filter((user) => first === undefined || user >= first).sort();
      yield await this.findAll(aid, named, skipped);
      return;
    }
    let users = first === undefined ? await this.store.users(aid, undefined, KEYS_STEP) : [first];
    while (users.length > 0) {
      yield await this.findAll(aid, users, skipped);
      users = await this.store.users(aid, users.at(-1), KEYS_STEP);
    }
  }

  /**
   * Runs `attempt` with the unlocked key. If the key was changed meanwhile, on any server, it is found and unlocked again
   * and the attempt repeated. A wrong passphrase always costs the full derivation. A locked source is rejected before it,
   * warm or not.
   */
  async withUnlocked<T>(
    caller: AccountContext,
    user: string,
    passphrase: SecretBytes,
    attempt: Attempt<T>,
  ): Promise<T> {
    let isCold = false;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const warm = isCold ? undefined : this.recallWarm(caller, user, passphrase);
      const { key, blob } = warm ?? (await this.openNow(caller, user, passphrase, !isCold));
      let result: Done<T> | Retry | undefined;
      try {
        result = await attempt(key, blob);
      } finally {
        if (warm === undefined || result?.kind === 'done') {
          this.attempts.succeed(guessIdOf(key.kid, caller.ip));
        }
      }
      if (result.kind === 'done') {
        // Otherwise all callers of a busy key would wait for Argon2id each time the lifetime ends.
        this.warm.renew(key.kid);
        if (warm !== undefined) {
          this.observer.count('unlock', 'warm');
        }
        return result.value;
      }
      isCold = result.kind === 'warm_miss';
      if (isCold) {
        this.observer.count('unlock', 'warm_miss');
        continue;
      }
      this.forget(key);
      if (result.kind === 'stale') {
        await this.findAgain(key);
      }
      if (result.kind === 'closed') {
        await pause(CLOSED_PAUSE_MS);
      }
    }
    throw new VaultError('overloaded');
  }

  /** Returns the key opened by this passphrase as it is stored now. Rejects with `passphrase_wrong`. */
  prove(caller: AccountContext, user: string, passphrase: SecretBytes): Promise<Unlocked> {
    return this.withUnlocked<Unlocked>(caller, user, passphrase, async (key, blob) => {
      const warm = await this.crypto.checkWarm({ key, blob, passphrase });
      if (warm.kind === 'warm_miss') {
        return warm;
      }
      const stored = await this.store.read(key.aid, key.user);
      return stored?.equals(key.record) ? done({ key, blob }) : { kind: 'stale' };
    });
  }

  /** Runs work that may show a passphrase to be wrong; rejects with `too_many_failures` if it often was. */
  async guarded<T>(ip: string, key: KeyHandle, passphrase: SecretBytes, work: () => Promise<T>): Promise<T> {
    const guess = this.guessOf(key.kid, ip, passphrase);
    const result = await this.attempts.run(guess, 'passphrase_wrong', work);
    this.attempts.succeed(guess.id);
    return result;
  }

  /** Returns the id of a key that this server caches unlocked, whether or not the caller may open it. */
  recallId({ aid }: { readonly aid: string }, user: string): string | undefined {
    const key = this.known.get(nameOf(aid, user));
    return key && this.cachedBlob(key) && key.kid;
  }

  /** Makes requests of an older generation fail on every server. The first unlock completes an interrupted change. */
  async finishChange(aid: string, kid: string, gen: number): Promise<void> {
    if (gen === 1 || this.fenced.get(kid) === gen) {
      return;
    }
    await this.store.moveFences(kid, gen);
    for (const dependent of this.dependents) {
      await dependent.stopBefore?.(aid, kid, gen);
    }
    await this.store.finishChange(aid, kid, gen);
    this.fenced.set(kid, gen);
  }

  forget({ aid, user, kid }: KeyHandle): void {
    this.known.delete(nameOf(aid, user));
    this.warm.delete(kid);
  }

  close(): void {
    clearInterval(this.sweeper);
  }

  /** Finds the keys of these names that exist, in their order, without those that are rejected with `skipped`. */
  private async findAll(
    aid: string,
    users: readonly string[],
    skipped: ErrorCode = 'key_not_found',
  ): Promise<readonly KeyHandle[]> {
    const find = (user: string) => recover(this.find({ aid }, user), 'key_not_found', undefined);
    const found = await Promise.all(users.map((user) => recover(find(user), skipped, undefined)));
    return found.filter((key) => key !== undefined);
  }

  /** Returns the key with its warm blob, for a source that need not be counted; undefined otherwise. */
  private recallWarm({ account, ip }: AccountContext, user: string, passphrase: SecretBytes) {
    const key = this.known.get(nameOf(account.aid, user));
    const blob = key && this.cachedBlob(key);
    if (key === undefined || blob === undefined) {
      return undefined;
    }
    const digest = (): string => this.crypto.digestSecret(key.kid, passphrase);
    return this.attempts.trusts(guessIdOf(key.kid, ip), digest) ? { key, blob } : undefined;
  }

  /** Opens a key as it is stored now: no other may show that a passphrase is wrong. */
  private async openNow(caller: AccountContext, user: string, passphrase: SecretBytes, usesWarm: boolean) {
    const key = await this.find(caller.account, user);
    // An unlock counts and writes, which only a confirmed account may do.
    const blob = await this.unlock(caller, key, passphrase, usesWarm ? this.cachedBlob(key) : undefined);
    return { key, blob };
  }

  /**
   * Unlocks a key for a source that may be guessing: with the warm blob if there is one and it opens, otherwise in full.
   * Counts each different guess of a source; the caller clears the count of a right one.
   */
  private unlock(
    { ip }: AccountContext,
    key: KeyHandle,
    passphrase: SecretBytes,
    cached: WarmBlob | undefined,
  ): Promise<WarmBlob> {
    const guess = this.guessOf(key.kid, ip, passphrase);
    return this.unlocking(`${key.gen} ${guess.id} ${guess.digest()}`, async () => {
      try {
        return await this.attempts.run(guess, 'passphrase_wrong', async () => {
          const isOpen =
            cached && (await this.crypto.checkWarm({ key, blob: cached, passphrase })).kind === 'open';
          return cached && isOpen ? cached : this.derive(key, passphrase);
        });
      } catch (error) {
        this.observer.count('unlock', failureOf(error));
        throw error;
      }
    });
  }

  /** Unlocks a key in full, once for all callers with the same passphrase. */
  private derive(key: KeyHandle, passphrase: SecretBytes): Promise<WarmBlob> {
    const digest = this.crypto.digestSecret(key.kid, passphrase);
    return this.deriving(`${key.gen} ${key.kid} ${digest}`, async () => {
      const blob = await this.observer.step('unlock', () => this.unlockCold(key, passphrase));
      this.observer.count('unlock', 'cold');
      return blob;
    });
  }

  private async unlockCold(key: KeyHandle, passphrase: SecretBytes): Promise<WarmBlob> {
    const { aid, user, kid, gen, record } = key;
    const { blob, upgraded } = await this.crypto.unlockKey({ key, record, passphrase });
    await this.finishChange(aid, kid, gen);
    if (upgraded) {
      // The next unlock tries again if another server was faster, or Redis slow.
      await this.store.replace(aid, user, record, upgraded).catch(() => false);
      this.known.delete(nameOf(aid, user));
    }
    const { warmUnlockSeconds } = this.settings;
    if (warmUnlockSeconds > 0 && this.crypto.lengthOf(passphrase) >= WARM_PASSPHRASE_BYTES_MIN) {
      this.warm.set(kid, { gen, blob });
    }
    return blob;
  }

  private cachedBlob({ kid, gen }: KeyRef): WarmBlob | undefined {
    const entry = this.warm.get(kid);
    return entry?.gen === gen ? entry.blob : undefined;
  }

  private guessOf(kid: string, ip: string, passphrase: SecretBytes): Guess {
    return {
      ...{ id: guessIdOf(kid, ip), kind: 'key', of: kid, ip },
      digest: () => this.crypto.digestSecret(kid, passphrase),
    };
  }
}

function nameOf(aid: string, user: string): string {
  return `${aid} ${user}`;
}

/** Names the guesses at a key's passphrase from one source. */
function guessIdOf(kid: string, ip: string): string {
  return `${kid} ${sourceOf(ip)}`;
}

function failureOf(error: unknown) {
  return error instanceof VaultError &&
    (error.code === 'passphrase_wrong' || error.code === 'too_many_failures')
    ? error.code
    : 'failed';
}
