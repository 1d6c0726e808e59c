import { VaultError } from '../../core/errors.ts';
import type { Secret, SecretBytes } from '../../core/secret.ts';
import type { Crypto } from '../../crypto/client.ts';
import { type OwnPreference, readPreferences } from '../../domain/account/preference.ts';
import { looksLikeCardNumber } from '../../domain/card/number.ts';
import { isIdentifier } from '../../domain/text/identifiers.ts';
import { sourceOf } from '../../domain/text/source.ts';
import type { WhoAmI } from '../../http/schema/admin.ts';
import type { AccountStore } from '../../store/account.ts';
import type { Observer } from '../../telemetry/observer.ts';
import type { Audit } from '../audit/audit.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import { createInFlight, createTurns, insist, joinTick } from '../common/coalesce.ts';
import { createMemory } from '../common/memory.ts';
import { type Account, type AccountContext, actFor, type RequestContext } from '../common/request-context.ts';
import type { ServiceSettings } from '../common/settings.ts';
import type { Attempts } from '../request/attempts.ts';
import { type AccountInfo, type AccountRecord, accountPlace, toAccountInfo } from './record.ts';

/** What an account signs in with. */
export interface AccountCredentials {
  readonly name: string;
  readonly password: SecretBytes;
}

export interface AccountService {
  /**
   * Lets the request act for the account of these credentials. Rejects with `unauthenticated` or `too_many_failures`.
   * Each check of a password that is really made, and each rejection, is an entry of the security log.
   */
  readonly signIn: (ctx: RequestContext, credentials: AccountCredentials) => Promise<AccountContext>;
  readonly whoami: (ctx: AccountContext) => Promise<WhoAmI>;
}

const REMEMBER_MS = 60_000;
const REMEMBERED_MAX = 10_000;
const CHANGE_TRIES_MAX = 10;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface AccountSettings {
  readonly unmasked?: boolean | undefined;
  readonly paying?: boolean | undefined;
  readonly hosts?: readonly string[] | undefined;
}

export interface Accounts extends AccountService {
  /** The account of this name with its rights as they are now; undefined when there is none. */
  readonly lookUp: (name: string) => Promise<Account | undefined>;
  /** Adds an account. Refuses a name that is taken with `undefined`. */
  readonly create: (
    name: string,
    password: SecretBytes,
    settings: AccountSettings,
  ) => Promise<AccountInfo | undefined>;
  readonly list: () => Promise<readonly AccountInfo[]>;
  readonly set: (name: string, settings: AccountSettings) => Promise<AccountInfo | undefined>;
  /** Puts another password in the place of the old one, on every server at once; false for an unknown name. */
  readonly setPassword: (name: string, password: SecretBytes) => Promise<boolean>;
  /** Changes the password that this request signed in with; rejects with `password_changed` when it is another now. */
  readonly changePassword: (ctx: AccountContext, password: SecretBytes) => Promise<void>;
  readonly preferencesOf: (account: Account) => Promise<readonly OwnPreference[]>;
  /** Changes preferences, on every server at once; what `edit` throws is thrown, and nothing changes. */
  readonly changePreferences: (
    account: Account,
    edit: (own: readonly OwnPreference[]) => readonly OwnPreference[],
  ) => Promise<void>;
  readonly remove: (name: string) => Promise<AccountInfo | undefined>;
  /** A fresh password with 256 bits of randomness. */
  readonly makePassword: () => Promise<Secret<string>>;
}

interface Remembered {
  readonly record: Buffer;
  readonly phc: string;
  readonly account: Account;
}

/** Waits for the note of how a check ended before anybody hears of it; what the check could not do is not noted. */
async function recorded<T>(check: Promise<T>, record: (outcome: string) => Promise<void>): Promise<T> {
  try {
    const result = await check;
    await record('success');
    return result;
  } catch (error) {
    if (error instanceof VaultError && error.status < 500) {
      await record(error.code);
    }
    throw error;
  }
}

interface AccountDependencies {
  readonly crypto: Pick<
    Crypto,
    'digestSecret' | 'hashPassword' | 'makePassphrase' | 'openRecord' | 'sealRecord' | 'verifyPassword'
  >;
  readonly accountStore: AccountStore;
  readonly attempts: Attempts;
  readonly audit: Pick<Audit, 'record'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'environment' | 'version'>;
  readonly observer: Pick<Observer, 'count' | 'step'>;
}

/** Makes the accounts of a server: who may sign in, and how an account is created, changed and removed. */
export function createAccounts(dependencies: AccountDependencies): Accounts {
  const { crypto, accountStore, attempts, audit, now, randomId, settings, observer } = dependencies;
  // Sign-ins are remembered by a digest that only this process can compute, for a minute, and only while the
  // stored record has the password that was checked: a change on any server ends them at once.
  const memory = createMemory<Remembered>(REMEMBERED_MAX, REMEMBER_MS, now);
  const checking = createInFlight<Remembered>();
  const readers = createMemory<() => Promise<Buffer | undefined>>(REMEMBERED_MAX, REMEMBER_MS, now);
  let nobody: Promise<string> | undefined;

  const readFresh = (name: string): Promise<Buffer | undefined> => {
    const reader = readers.get(name) ?? joinTick(() => accountStore.read(name));
    readers.set(name, reader);
    return reader();
  };

  const openRecord = async (name: string, record: Uint8Array): Promise<AccountRecord> =>
    JSON.parse(
      decoder.decode(await crypto.openRecord({ place: accountPlace(name), record })),
    ) as AccountRecord;

  const sealRecord = (name: string, record: AccountRecord): Promise<Uint8Array> =>
    crypto.sealRecord({ place: accountPlace(name), plaintext: encoder.encode(JSON.stringify(record)) });

  // An unknown account costs what a known one costs, so that names cannot be told apart by time.
  const phcOfNobody = (): Promise<string> => {
    nobody ??= crypto
      .makePassphrase({ length: 64 })
      .then((made) => crypto.hashPassword({ password: made.map((text) => encoder.encode(text)) }))
      .catch((error: unknown) => {
        nobody = undefined;
        throw error;
      });
    return nobody;
  };

  const lookedUp = createMemory<Remembered>(REMEMBERED_MAX, REMEMBER_MS, now);
  const toAccount = (
    name: string,
    { aid, unmasked, paying, hosts, preferences = [] }: AccountRecord,
  ): Account => ({
    aid,
    name,
    unmasked,
    paying,
    hosts,
    preferences: readPreferences(preferences),
  });
  const signedIn = (ctx: RequestContext, { account, phc }: Remembered): AccountContext => {
    ctx.signInProof = phc;
    return actFor(ctx, account);
  };

  const remembered = (name: string, record: Buffer, opened: AccountRecord): Remembered => ({
    record,
    phc: opened.phc,
    account: toAccount(name, opened),
  });

  const lookUp: Accounts['lookUp'] = async (name) => {
    const record = await readFresh(name);
    const seen = lookedUp.get(name);
    if (!record || seen?.record.equals(record)) {
      return record && seen?.account;
    }
    const fresh = remembered(name, record, await openRecord(name, record));
    lookedUp.set(name, fresh);
    return fresh.account;
  };

  /** Notes how a sign-in ended; those under names that no account has are on the operator's own log. */
  const recordSignIn = async (ctx: RequestContext, name: string, outcome: string): Promise<void> => {
    const known = isIdentifier(name) ? await lookUp(name) : undefined;
    const { ip, userAgent, requestId } = ctx;
    await audit.record({
      ...{ ip, userAgent, requestId },
      aid: known?.aid ?? '',
      action: 'sign_in',
      outcome,
      actor: outcome === 'success' ? `account/${name}` : 'anonymous',
      object: isIdentifier(name) && !looksLikeCardNumber(name) ? `account/${name}` : 'account',
    });
  };

  const check = async (
    name: string,
    record: Buffer | undefined,
    password: SecretBytes,
    ip: string,
  ): Promise<Remembered> => {
    const opened = record && (await openRecord(name, record));
    const phc = opened?.phc ?? (await phcOfNobody());
    const right = await crypto.verifyPassword({ password, phc, share: sourceOf(ip) });
    if (!right || !record || !opened) {
      throw new VaultError('unauthenticated');
    }
    return remembered(name, record, opened);
  };

  /** A sign-in that was right, with the rights as they are now; undefined once the password is another one. */
  const renew = async (name: string, known: Remembered): Promise<Remembered | undefined> => {
    const record = await readFresh(name);
    if (!record || record.equals(known.record)) {
      return record && known;
    }
    const opened = await openRecord(name, record);
    return opened.phc === known.phc ? remembered(name, record, opened) : undefined;
  };

  /** Replaces a record; where Redis falters, finds out whether it has happened before it says anything. */
  const replace = async (name: string, read: Buffer, sealed: Uint8Array): Promise<boolean> => {
    try {
      return await accountStore.replace(name, read, sealed);
    } catch (error) {
      const stored = await insist(() => accountStore.read(name));
      if (stored?.equals(sealed)) {
        return true;
      }
      throw error;
    }
  };

  const turns = createTurns();

  /** Changes a record that nobody else has changed meanwhile; undefined when there is none. */
  const change = (
    name: string,
    edit: (record: AccountRecord) => Promise<AccountRecord>,
  ): Promise<AccountRecord | undefined> =>
    turns(name, async () => {
      for (let tries = 0; tries < CHANGE_TRIES_MAX; tries++) {
        const read = await accountStore.read(name);
        if (!read) {
          return undefined;
        }
        const changed = await edit(await openRecord(name, read));
        if (await replace(name, read, await sealRecord(name, changed))) {
          return changed;
        }
      }
      throw new VaultError('overloaded');
    });

  /** As `change`, of the account that a request acts for; one made anew under the same name is another one. */
  const changeOwn = async (
    { name, aid }: Account,
    edit: (record: AccountRecord) => AccountRecord,
  ): Promise<void> => {
    const changed = await change(name, async (record) => {
      if (record.aid !== aid) {
        throw new VaultError('unauthenticated');
      }
      return edit(record);
    });
    if (!changed) {
      throw new VaultError('unauthenticated');
    }
  };

  const signIn = async (
    ctx: RequestContext,
    { name, password }: AccountCredentials,
  ): Promise<AccountContext> => {
    const { ip } = ctx;
    const digest = crypto.digestSecret(['sign-in', name, ip], password);
    const counter = accountStore.signInCounter(name, sourceOf(ip));
    const known = memory.get(digest);
    const renewed = known && (await renew(name, known));
    if (renewed) {
      attempts.succeed(counter);
      if (renewed !== known) {
        memory.set(digest, renewed);
      }
      observer.count('sign_in', 'cached');
      return signedIn(ctx, renewed);
    }
    // Who joins a check of another shares the record that it began with: never one from before its own request.
    const record = isIdentifier(name) ? await accountStore.read(name) : undefined;
    const shared = `${digest} ${record?.toString('latin1') ?? ''}`;
    const checked = await checking(shared, () => {
      const attempt = attempts.run(counter, 'unauthenticated', () => check(name, record, password, ip));
      return recorded(attempt, (outcome) => recordSignIn(ctx, name, outcome));
    });
    memory.set(digest, checked);
    observer.count('sign_in', 'verified');
    return signedIn(ctx, checked);
  };

  const failureOf = (error: unknown) =>
    error instanceof VaultError && (error.code === 'unauthenticated' || error.code === 'too_many_failures')
      ? error.code
      : 'failed';

  return {
    lookUp,
    signIn: (ctx, credentials) =>
      observer
        .step('sign_in', () => signIn(ctx, credentials))
        .catch((error: unknown) => {
          observer.count('sign_in', failureOf(error));
          throw error;
        }),

    async whoami({ account }) {
      return {
        user: account.name,
        environment: settings.environment,
        api_version: settings.version,
        backwards_compatibility: 'v1',
      };
    },

    async create(name, password, wanted) {
      const record: AccountRecord = {
        aid: randomId(),
        phc: await crypto.hashPassword({ password }),
        unmasked: wanted.unmasked ?? false,
        paying: wanted.paying ?? false,
        hosts: wanted.hosts ?? [],
        created_at: new Date(now()).toISOString(),
      };
      const added = await accountStore.create(name, await sealRecord(name, record));
      return added ? toAccountInfo(name, record) : undefined;
    },

    async list() {
      const found = await accountStore.list();
      const infos = await Promise.all(
        found.map(async ({ name, record }) => toAccountInfo(name, await openRecord(name, record))),
      );
      return infos.sort((a, b) => (a.name < b.name ? -1 : 1));
    },

    async set(name, { unmasked, paying, hosts }) {
      const changed = await change(name, async (record) => ({
        ...record,
        unmasked: unmasked ?? record.unmasked,
        paying: paying ?? record.paying,
        hosts: hosts ?? record.hosts,
      }));
      return changed && toAccountInfo(name, changed);
    },

    async setPassword(name, password) {
      const changed = await change(name, async (record) => ({
        ...record,
        phc: await crypto.hashPassword({ password }),
      }));
      return changed !== undefined;
    },

    async changePassword(ctx, password) {
      const phc = await crypto.hashPassword({ password });
      await changeOwn(ctx.account, (record) => {
        if (record.phc !== ctx.signInProof) {
          throw new VaultError('password_changed');
        }
        return { ...record, phc };
      });
    },

    async preferencesOf({ name, aid }) {
      const record = await accountStore.read(name);
      const opened = record && (await openRecord(name, record));
      if (opened?.aid !== aid) {
        throw new VaultError('unauthenticated');
      }
      return opened.preferences ?? [];
    },

    changePreferences: (account, edit) =>
      changeOwn(account, (record) => ({ ...record, preferences: edit(record.preferences ?? []) })),

    async remove(name) {
      const read = await accountStore.read(name);
      if (!read) {
        return undefined;
      }
      const info = toAccountInfo(name, await openRecord(name, read));
      await accountStore.remove(name, info.aid);
      return info;
    },

    makePassword: () => crypto.makePassphrase({ length: 43 }),
  };
}
