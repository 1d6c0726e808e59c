import type { Clock, RandomId } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { decodeSecret, encodeSecret, type Secret, type SecretBytes } from '../core/secret.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { GENERATED_CHARACTERS } from '../domain/account.ts';
import type { LimitStore } from '../limits/store.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { PasswordOrigin, Passwords } from './passwords.ts';
import {
  type AccountInfo,
  type AccountRecord,
  type AccountRecords,
  type AccountSettings,
  toAccountInfo,
} from './records.ts';
import type { WhoAmI } from './schema.ts';
import type { AccountStore } from './store.ts';

const CHANGES_MAX = 5;
const WINDOW_MS = 60_000;
/** Attempts to remove an account while other requests change it. */
const REMOVE_TRIES_MAX = 10;

/** Manages accounts: who may sign in, and with which rights. */
export class Accounts {
  constructor(
    private readonly store: AccountStore,
    private readonly limitStore: LimitStore,
    private readonly crypto: Crypto,
    private readonly records: AccountRecords,
    private readonly passwords: Passwords,
    private readonly metering: Metering,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
    private readonly randomId: RandomId,
  ) {}

  async whoami({ account }: AccountContext): Promise<WhoAmI> {
    const { environment, version } = this.settings;
    const { name: user, credential, unmasked } = account;
    const shown = { user, environment, api_version: version, backwards_compatibility: 'v1' } as const;
    if (credential === undefined) {
      return shown;
    }
    const { id, name, scopes, keys, person } = credential;
    const rights = { scopes: [...scopes], ...(keys && { keys: [...keys] }), unmasked };
    return person === undefined
      ? { ...shown, credential: { id, ...rights } }
      : { ...shown, person: { id: person.id, name, role: person.role, ...rights } };
  }

  /** Replaces the caller's password, generated if omitted. Rejects with `password_changed` or `too_many_changes`. */
  async changePassword(
    ctx: AccountContext,
    chosen: SecretBytes | undefined,
    overlapMs: number | undefined,
  ): Promise<{ readonly user: string; readonly password: Secret<string> }> {
    const { aid, name } = ctx.account;
    const waitMs = await this.limitStore.countPasswordChange(aid, CHANGES_MAX, WINDOW_MS);
    if (waitMs > 0) {
      throw new VaultError('too_many_changes', { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
    }
    const password = chosen ?? encodeSecret(await this.makePassword());
    const hashed = await this.passwords.hash(password, chosen === undefined ? 'generated' : 'chosen');
    await this.records.changeOwn(ctx, (record) => {
      if (record.phc !== ctx.signInProof) {
        throw new VaultError('password_changed');
      }
      const { phc, stretched } = record;
      const former =
        overlapMs === undefined ? undefined : { phc, stretched, untilMs: this.now() + overlapMs };
      return { ...record, ...hashed, former };
    });
    // Nothing may fail from here on: a generated password exists nowhere else.
    await this.metering.request(ctx)?.catch(() => undefined);
    return { user: name, password: decodeSecret(password) };
  }

  async lookUp(name: string): Promise<Account | undefined> {
    return (await this.records.find(name))?.account;
  }

  /**
   * Adds an account; undefined, with nothing changed, when the name is in use. The name of a removed account can be used again
   * unless `mayReuse` is false.
   */
  async create(
    name: string,
    password: SecretBytes,
    { unmasked = false, paying = false, hosts = [], rate }: AccountSettings,
    origin: PasswordOrigin = 'chosen',
    mayReuse = true,
  ): Promise<AccountInfo | undefined> {
    const hashed = await this.passwords.hash(password, origin);
    const created_at = new Date(this.now()).toISOString();
    const record = {
      ...{ aid: this.randomId(), ...hashed, unmasked, paying, hosts },
      ...{ rate: rate ?? undefined, created_at, revision: 1 },
    };
    const isAdded = await this.store.create(name, await this.records.seal(name, record), mayReuse);
    return isAdded ? toAccountInfo(name, record) : undefined;
  }

  async list(): Promise<readonly AccountInfo[]> {
    const found = await this.store.list();
    return Promise.all(
      found.map(async ({ name, record }) => toAccountInfo(name, await this.records.open(name, record))),
    );
  }

  /** Returns the account of this name; its record may be an older copy. */
  async read(name: string): Promise<AccountInfo | undefined> {
    const read = await this.store.read(name);
    return read && toAccountInfo(name, await this.records.open(name, read));
  }

  /** Changes the given rights on every server; undefined for an unknown name. `acceptsOlder`: see `AccountRecords.change`. */
  async set(
    name: string,
    { unmasked, paying, hosts, rate, suspended }: AccountSettings,
    acceptsOlder = false,
  ): Promise<AccountInfo | undefined> {
    const edit = (record: AccountRecord): AccountRecord => ({
      ...record,
      unmasked: unmasked ?? record.unmasked,
      paying: paying ?? record.paying,
      hosts: hosts ?? record.hosts,
      rate: rate === undefined ? record.rate : (rate ?? undefined),
      suspended: suspended ?? record.suspended,
    });
    const changed = await this.records.change(name, edit, acceptsOlder);
    return changed && toAccountInfo(name, changed);
  }

  /** Replaces the password, on every server at once; undefined for an unknown name. */
  async setPassword(
    name: string,
    password: SecretBytes,
    origin: PasswordOrigin = 'chosen',
  ): Promise<AccountInfo | undefined> {
    const changed = await this.records.change(name, async (record) => ({
      ...record,
      ...(await this.passwords.hash(password, origin)),
      former: undefined,
    }));
    return changed && toAccountInfo(name, changed);
  }

  /**
   * Removes an account, so that it can no longer sign in; its data stays. Undefined for an unknown name, and with `aid` if
   * another account has it.
   */
  async remove(name: string, aid?: string): Promise<AccountInfo | undefined> {
    for (let tries = 0; tries < REMOVE_TRIES_MAX; tries++) {
      const read = await this.store.read(name);
      if (read === undefined) {
        return undefined;
      }
      const info = toAccountInfo(name, await this.records.open(name, read));
      if (aid !== undefined && aid !== info.aid) {
        return undefined;
      }
      if (await this.store.remove(name, read, info.aid, this.now())) {
        return info;
      }
    }
    throw new VaultError('overloaded');
  }

  makePassword(): Promise<Secret<string>> {
    return this.crypto.makePassphrase({ length: GENERATED_CHARACTERS });
  }
}
