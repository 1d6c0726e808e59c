import type { Audit } from '../audit/audit.ts';
import type { AuditAction } from '../audit/schema.ts';
import { VaultError } from '../core/errors.ts';
import { encodeSecret, type Secret } from '../core/secret.ts';
import { REVISION_GONE } from '../domain/account.ts';
import { type AccountContext, actorNameOf } from '../request/context.ts';
import type { Accounts } from './accounts.ts';
import { normalHosts } from './credential/credentials.ts';
import type { Account, ChangeAccount, CreateAccount } from './platform-schema.ts';
import type { AccountInfo, AccountSettings } from './records.ts';
import type { AccountStore } from './store.ts';

/** A new account with its password, shown once. */
export interface CreatedAccount {
  readonly account: Account;
  readonly password: Secret<string>;
}

/**
 * Manages accounts for an operator credential. Each change is recorded in the security log of its account, too, which has the
 * newest revision of the record; the entry in the operator's log is that of the request.
 */
export class Platform {
  constructor(
    private readonly store: AccountStore,
    private readonly accounts: Accounts,
    private readonly audit: Audit,
    /** Deletes an account with its data; undefined if it does not exist. */
    private readonly removeAccount: (name: string, aid: string) => Promise<AccountInfo | undefined>,
    /** Lets the jobs of an account go on. */
    private readonly resumeJobs: (aid: string) => Promise<void>,
  ) {}

  /** Creates an account with a generated password. Rejects with `account_exists`, or at an invalid field. */
  async create(ctx: AccountContext, { name, hosts, ...rest }: CreateAccount): Promise<CreatedAccount> {
    const settings = { ...rest, hosts: normalHosts(hosts) };
    const password = await this.accounts.makePassword();
    const bytes = encodeSecret(password);
    const made = await this.accounts.create(name, bytes, settings, 'generated', false);
    if (made === undefined) {
      throw new VaultError('account_exists', { field: 'body.name' });
    }
    await this.record(ctx, 'account.create', made);
    return { account: shownOf(made), password };
  }

  /** Returns all accounts, in ascending order of name. */
  async list(): Promise<readonly Account[]> {
    return (await this.accounts.list()).map(shownOf);
  }

  /** Returns an account. Rejects with `account_not_found`. */
  async read(name: string): Promise<Account> {
    return shownOf(known(await this.accounts.read(name)));
  }

  /** Changes the given rights, on every server at once. Rejects with `account_not_found`, or at an invalid field. */
  async change(ctx: AccountContext, name: string, { hosts, ...rest }: ChangeAccount): Promise<Account> {
    const settings = { ...rest, hosts: hosts === null ? [] : normalHosts(hosts) };
    return shownOf(await this.set(ctx, 'account.change', name, settings));
  }

  /** Deletes an account that has no vault key, for good. Rejects with `account_not_found` or `account_not_empty`. */
  async remove(ctx: AccountContext, name: string): Promise<void> {
    const { aid } = known(await this.accounts.read(name));
    // From here on a request that has signed in before creates no key any more.
    if (!(await this.store.close(aid))) {
      throw new VaultError('account_not_empty');
    }
    const removed = known(await this.removeAccount(name, aid));
    await this.record(ctx, 'account.delete', { ...removed, revision: REVISION_GONE });
  }

  /** Replaces the password by a generated one, which it returns; the old one ends at once. Rejects with `account_not_found`. */
  async replacePassword(ctx: AccountContext, name: string): Promise<Secret<string>> {
    const password = await this.accounts.makePassword();
    const changed = await this.accounts.setPassword(name, encodeSecret(password), 'generated');
    await this.record(ctx, 'password.change', known(changed));
    return password;
  }

  /** Refuses all requests of an account from now on; its jobs wait. Rejects with `account_not_found`. */
  async suspend(ctx: AccountContext, name: string): Promise<Account> {
    return shownOf(await this.set(ctx, 'account.suspend', name, { suspended: true }));
  }

  /** Lets an account and its jobs go on. Rejects with `account_not_found`. */
  async resume(ctx: AccountContext, name: string): Promise<Account> {
    const account = await this.set(ctx, 'account.resume', name, { suspended: false });
    // Nobody waits for it, however many jobs there are. If it fails, the next sweep does the same.
    this.resumeJobs(account.aid).catch(() => undefined);
    return shownOf(account);
  }

  private async set(
    ctx: AccountContext,
    action: AuditAction,
    name: string,
    settings: AccountSettings,
  ): Promise<AccountInfo> {
    const changed = known(await this.accounts.set(name, settings));
    await this.record(ctx, action, changed);
    return changed;
  }

  /** Records a change in the security log of the account. */
  private record(
    { account, ip, userAgent, requestId }: AccountContext,
    action: AuditAction,
    { name, aid, revision }: AccountInfo,
  ): Promise<void> {
    return this.audit.record({
      ...{ aid, action, outcome: 'success', ip, userAgent, requestId, object: `account/${name}` },
      ...{ actor: actorNameOf(account), actorName: account.credential?.name },
      change: { kind: 'account', revision },
    });
  }
}

/** Returns the account that was found. Throws `account_not_found` for undefined. */
function known(account: AccountInfo | undefined): AccountInfo {
  if (account === undefined) {
    throw new VaultError('account_not_found');
  }
  return account;
}

function shownOf({ name, unmasked, paying, hosts, rate, suspended, created_at }: AccountInfo): Account {
  return {
    ...{ name, unmasked, paying },
    ...(hosts.length > 0 && { hosts: [...hosts] }),
    ...(rate !== undefined && { rate }),
    ...{ suspended, created_at },
  };
}
