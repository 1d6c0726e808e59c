import { createHash } from 'node:crypto';
import type { Account, KeyService, Parts, Passphrase, Refused, WarmBlob, WarmMiss } from '../deps.ts';
import { VaultError } from '../errors.ts';
import type { Secret } from '../secret.ts';
import { FAILURE_WINDOW_MS } from './account.ts';
import { createInFlight } from './coalesce.ts';
import { createCursors } from './cursor.ts';
import type { IdempotencyService } from './idempotency.ts';
import type { MeteringService } from './metering.ts';

const KNOWN_MS = 60_000;
const KNOWN_MAX = 10_000;
const WARM_MAX = 1_000;
const WARM_PASSPHRASE_BYTES_MIN = 20;
const WARM_SWEEP_MS = 5_000;
const GENERATED_LENGTH = 64;
const TRIES_MAX = 40;
const CLOSED_PAUSE_MS = 50;

const encoder = new TextEncoder();

/** A vault key as this process knows it. The fences of its buckets tell whether that is still true. */
export interface KeyHandle {
  readonly aid: string;
  readonly user: string;
  readonly kid: string;
  readonly gen: number;
  readonly record: Buffer;
}

/** A key whose private halves open with the passphrase at hand. */
export interface Unlocked {
  readonly key: KeyHandle;
  readonly blob: WarmBlob;
}

/** What an attempt under a key may end with instead of a result. */
export type Retry = WarmMiss | Refused;

export interface Keys extends KeyService {
  /** The key as stored now; refuses with `key_not_found`. */
  readonly find: (account: Account, user: string) => Promise<KeyHandle>;
  /** Identifiers in order, beginning behind `after`. */
  readonly users: (account: Account, after: string | undefined, limit: number) => Promise<readonly string[]>;
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
  /** Finishes deletions that were interrupted, and deletes the keys of an account that is gone. */
  readonly sweep: (aid: string) => Promise<void>;
  readonly removeAll: (aid: string) => Promise<void>;
  readonly close: () => void;
}

interface Warm {
  readonly gen: number;
  readonly blob: WarmBlob;
  readonly until: number;
}

function isRetry(result: unknown): result is Retry {
  const kind = typeof result === 'object' && result !== null && 'kind' in result ? result.kind : undefined;
  return kind === 'closed' || kind === 'stale' || kind === 'warm_miss';
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const kidFromSeed = (seed: string): string =>
  createHash('sha256').update(`key ${seed}`).digest('base64url').slice(0, 22);

export function createKeys(parts: Parts, metering: MeteringService, idempotency: IdempotencyService): Keys {
  const { crypto, keyStore, accountStore, now, randomId, settings } = parts;
  const cursors = createCursors(parts.cursorKey);
  const known = new Map<string, KeyHandle & { readonly until: number }>();
  const warm = new Map<string, Warm>();
  const unlocking = createInFlight<WarmBlob>();
  // Keys with counted wrong guesses that this process knows of; a success of any kind clears the count.
  const guessed = new Set<string>();
  // Keys whose fences are known to stand at their newest generation.
  const fenced = new Map<string, number>();

  const sweeper = setInterval(() => {
    for (const [kid, entry] of warm) {
      if (entry.until <= now()) {
        warm.delete(kid);
      }
    }
  }, WARM_SWEEP_MS);
  sweeper.unref();

  const nameOf = (aid: string, user: string): string => `${aid} ${user}`;

  const find = async ({ aid }: Pick<Account, 'aid'>, user: string): Promise<KeyHandle> => {
    const record = await keyStore.read(aid, user);
    if (!record) {
      throw new VaultError('key_not_found', { field: 'query.user' });
    }
    const seen = known.get(nameOf(aid, user));
    const facts = seen?.record.equals(record) ? seen : await crypto.describeKey({ aid, user }, record);
    const handle = { aid, user, kid: facts.kid, gen: facts.gen, record };
    if (known.size >= KNOWN_MAX) {
      known.clear();
    }
    known.set(nameOf(aid, user), { ...handle, until: now() + KNOWN_MS });
    return handle;
  };

  const findKnown = async (account: Account, user: string): Promise<KeyHandle> => {
    const found = known.get(nameOf(account.aid, user));
    return found && found.until > now() ? found : find(account, user);
  };

  const forget = ({ aid, user, kid }: KeyHandle): void => {
    known.delete(nameOf(aid, user));
    warm.delete(kid);
  };

  const admitGuess = async (key: KeyHandle): Promise<void> => {
    if (settings.authFailuresMax === 0) {
      return;
    }
    const counter = accountStore.passphraseCounter(key.aid, key.kid);
    const waitMs = await accountStore.countAttempt(counter, settings.authFailuresMax, FAILURE_WINDOW_MS);
    if (waitMs > 0) {
      throw new VaultError('too_many_failures', { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
    }
    guessed.add(key.kid);
  };
  const clearGuesses = async (key: KeyHandle): Promise<void> => {
    if (guessed.delete(key.kid)) {
      await accountStore.clearAttempts(accountStore.passphraseCounter(key.aid, key.kid));
    }
  };

  const remember = (key: KeyHandle, passphrase: Passphrase, blob: WarmBlob): void => {
    if (settings.warmUnlockSeconds === 0 || crypto.lengthOf(passphrase) < WARM_PASSPHRASE_BYTES_MIN) {
      return;
    }
    if (warm.size >= WARM_MAX) {
      const oldest = warm.keys().next().value;
      warm.delete(oldest ?? key.kid);
    }
    warm.set(key.kid, { gen: key.gen, blob, until: now() + settings.warmUnlockSeconds * 1_000 });
  };

  /** A passphrase change that was interrupted behind its record is finished by the first unlock after it. */
  const finishChange = async ({ kid, gen }: KeyHandle): Promise<void> => {
    if (gen === 1 || fenced.get(kid) === gen) {
      return;
    }
    await keyStore.moveFences(kid, gen);
    if (fenced.size >= KNOWN_MAX) {
      fenced.clear();
    }
    fenced.set(kid, gen);
  };

  /** The full unlock. Callers with the same passphrase share one; each different guess counts. */
  const unlock = (key: KeyHandle, passphrase: Passphrase): Promise<WarmBlob> => {
    const guess = crypto.digestSecret([key.kid, String(key.gen)], passphrase);
    return unlocking(guess, async () => {
      await admitGuess(key);
      const { blob, upgraded } = await crypto.unlockKey(key, key.record, passphrase);
      await clearGuesses(key);
      await finishChange(key);
      if (upgraded) {
        // Somebody else may have been faster; then the next unlock tries again.
        await keyStore.replace(key.aid, key.user, key.record, upgraded);
        known.delete(nameOf(key.aid, key.user));
      }
      remember(key, passphrase, blob);
      return blob;
    });
  };

  const warmBlob = (key: KeyHandle): WarmBlob | undefined => {
    const entry = warm.get(key.kid);
    return entry && entry.gen === key.gen && entry.until > now() ? entry.blob : undefined;
  };

  const withUnlocked: Keys['withUnlocked'] = async (account, user, passphrase, attempt) => {
    let cold = false;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const known = await findKnown(account, user);
      const kept = cold ? undefined : warmBlob(known);
      // Only a key as it is stored now may say that a passphrase is wrong.
      const key = kept ? known : await find(account, user);
      const result = await attempt(key, kept ?? (await unlock(key, passphrase)));
      if (!isRetry(result)) {
        await clearGuesses(key);
        return result;
      }
      if (result.kind === 'warm_miss') {
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

  const prove: Keys['prove'] = (account, user, passphrase) =>
    withUnlocked<Unlocked>(account, user, passphrase, async (key, blob) => {
      const missed = await crypto.checkWarm(key, blob, passphrase);
      if (missed) {
        return missed;
      }
      const stored = await keyStore.read(key.aid, key.user);
      return stored?.equals(key.record) ? { key, blob } : { kind: 'stale' };
    });

  const generate = (): Promise<Secret<string>> => crypto.makePassphrase(GENERATED_LENGTH);
  const asText = (passphrase: Passphrase): Secret<string> =>
    passphrase.map((bytes) => Buffer.from(bytes).toString('utf8'));
  const asBytes = (passphrase: Secret<string>): Passphrase => passphrase.map((text) => encoder.encode(text));

  /** Creates the key; one that the same request made before it was interrupted counts as made now. */
  const createOnce = async (
    account: Account,
    user: string,
    passphrase: Passphrase,
    kid: string,
  ): Promise<void> => {
    const record = await crypto.createKey({ aid: account.aid, user, kid }, passphrase);
    if (await keyStore.create(account.aid, user, record)) {
      return;
    }
    const there = await find(account, user);
    if (there.kid !== kid) {
      throw new VaultError('key_exists', { field: 'body.user' });
    }
    await prove(account, user, passphrase);
  };

  const create: KeyService['create'] = async ({ account }, { user, passphrase, idempotencyKey }) => {
    if (idempotencyKey === undefined) {
      const chosen = passphrase ?? asBytes(await generate());
      if (await keyStore.read(account.aid, user)) {
        throw new VaultError('key_exists', { field: 'body.user' });
      }
      await createOnce(account, user, chosen, randomId());
      metering.count(account, 'key');
      return { reply: { user, passphrase: asText(chosen) }, replayed: false };
    }
    if (!passphrase) {
      throw new VaultError('idempotency_passphrase_required', { field: 'body.passphrase' });
    }
    const request = { account, route: 'POST /v1/key', key: idempotencyKey, parts: [user] };
    const { replayed } = await idempotency.run(request, async (seed) => {
      await createOnce(account, user, passphrase, kidFromSeed(seed));
      metering.count(account, 'key');
      return { user };
    });
    if (replayed) {
      // The kept reply has no passphrase: the repeat shows that it knows it.
      await prove(account, user, passphrase);
    }
    return { reply: { user, passphrase: asText(passphrase) }, replayed };
  };

  const changePassphrase: KeyService['changePassphrase'] = async (
    { account },
    { user, passphrase, new_passphrase },
  ) => {
    const key = await find(account, user);
    const next = new_passphrase ?? asBytes(await generate());
    await admitGuess(key);
    const record = await crypto.changePassphrase(key, key.record, passphrase, next);
    await clearGuesses(key);
    if (!(await keyStore.replace(account.aid, user, key.record, record))) {
      throw new VaultError('key_changed');
    }
    forget(key);
    await finishChange({ ...key, gen: key.gen + 1 });
    metering.count(account, 'key');
    return { user, passphrase: asText(next) };
  };

  /** Closes the key's buckets, deletes the record, then the data. Nothing begun before lands afterwards. */
  const removeKey = async (key: KeyHandle, safe: boolean): Promise<void> => {
    const { aid, user, kid, record } = key;
    const deletion = randomId();
    const refuse = async (code: 'key_not_empty' | 'key_changed' | 'store_unavailable'): Promise<never> => {
      await keyStore.reopen(kid, deletion);
      throw new VaultError(code);
    };
    const closed = await keyStore.close(kid, deletion);
    if (closed === 'busy') {
      return refuse('key_changed');
    }
    if (safe && closed.items > 0) {
      return refuse('key_not_empty');
    }
    const removed = await keyStore.remove({ aid, user, kid, read: record, actBefore: closed.actBefore });
    if (removed !== 'ok') {
      return refuse(removed === 'changed' ? 'key_changed' : 'store_unavailable');
    }
    forget(key);
    await keyStore.purge(aid, kid);
  };

  const users: Keys['users'] = ({ aid }, after, limit) => keyStore.users(aid, after, limit);

  return {
    find,
    users,
    withUnlocked,
    prove,
    create,
    changePassphrase,
    async remove({ account }, { user, safe }) {
      await removeKey(await find(account, user), safe);
      metering.count(account, 'key');
    },
    async list({ account }, { limit, next_token }) {
      const scope = [account.aid, 'GET /v1/key'];
      const after = next_token === undefined ? undefined : String(cursors.open(scope, next_token));
      // One more than asked for tells whether there is a next page.
      const found = await keyStore.users(account.aid, after, limit < 0 ? -1 : limit + 1);
      const page = limit < 0 ? found : found.slice(0, limit);
      const last = page.at(-1);
      metering.count(account, 'key');
      return {
        keys: page.map((user) => ({ user })),
        ...(found.length > page.length && last !== undefined ? { nextToken: cursors.seal(scope, last) } : {}),
      };
    },
    async sweep(aid) {
      for (const kid of await keyStore.purgesLeft(aid)) {
        await keyStore.purge(aid, kid);
      }
    },
    async removeAll(aid) {
      for (const user of await keyStore.users(aid, undefined, -1)) {
        await removeKey(await find({ aid }, user), false);
      }
    },
    close: () => clearInterval(sweeper),
  };
}
