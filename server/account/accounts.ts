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
    const { id, scopes, keys } = credential;
    return {
      ...shown,
      credential: { id, scopes: [...scopes], ...(keys && { keys: [...keys] }), unmasked },
    };
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

  /** Adds an account; undefined, with nothing changed, when the name is in use. */
  async create(
    name: string,
    password: SecretBytes,
    { unmasked = false, paying = false, hosts = [] }: AccountSettings,
    origin: PasswordOrigin = 'chosen',
  ): Promise<AccountInfo | undefined> {
    const hashed = await this.passwords.hash(password, origin);
    const created_at = new Date(this.now()).toISOString();
    const record = { aid: this.randomId(), ...hashed, unmasked, paying, hosts, created_at, revision: 1 };
    const isAdded = await this.store.create(name, await this.records.seal(name, record));
    return isAdded ? toAccountInfo(name, record) : undefined;
  }

  async list(): Promise<readonly AccountInfo[]> {
    const found = await this.store.list();
    return Promise.all(
      found.map(async ({ name, record }) => toAccountInfo(name, await this.records.open(name, record))),
    );
  }

  /** Returns the id of the account of this name, and the revision of its record, which may be an older copy. */
  async identify(name: string): Promise<{ readonly aid: string; readonly revision: number } | undefined> {
    const read = await this.store.read(name);
    const { aid, revision = 0 } = read ? await this.records.open(name, read) : {};
    return aid === undefined ? undefined : { aid, revision };
  }

  /** Changes the given rights on every server; undefined for an unknown name. `acceptsOlder`: see `AccountRecords.change`. */
  async set(
    name: string,
    { unmasked, paying, hosts }: AccountSettings,
    acceptsOlder = false,
  ): Promise<AccountInfo | undefined> {
    const edit = (record: AccountRecord): AccountRecord => ({
      ...record,
      unmasked: unmasked ?? record.unmasked,
      paying: paying ?? record.paying,
      hosts: hosts ?? record.hosts,
    });
    const changed = await this.records.change(name, edit, acceptsOlder);
    return changed && toAccountInfo(name, changed);
  }

  /** Replaces the password, on every server at once; false for an unknown name. */
  async setPassword(
    name: string,
    password: SecretBytes,
    origin: PasswordOrigin = 'chosen',
  ): Promise<boolean> {
    const changed = await this.records.change(name, async (record) => ({
      ...record,
      ...(await this.passwords.hash(password, origin)),
      former: undefined,
    }));
    return changed !== undefined;
  }

  /** Removes an account, so that it can no longer sign in; its data stays. Undefined for an unknown name. */
  async remove(name: string): Promise<AccountInfo | undefined> {
    const read = await this.store.read(name);
    if (!read) {
      return undefined;
    }
    const info = toAccountInfo(name, await this.records.open(name, read));
    await this.store.remove(name, info.aid);
    return info;
  }

  makePassword(): Promise<Secret<string>> {
    return this.crypto.makePassphrase({ length: GENERATED_CHARACTERS });
  }
}
