import type { Audit } from '../audit/audit.ts';
import type { AuditStore } from '../audit/store.ts';
import { Memory } from '../core/cache.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { createKeyedMutex, createTickJoin, replaceOrConfirm } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import { type Crypto, openJson, sealJson } from '../crypto/client.ts';
import { type FormerPassword, type PasswordHash, REVISION_GONE } from '../domain/account.ts';
import { parseRate } from '../domain/rate.ts';
import type { Account, AccountContext } from '../request/context.ts';
import { type OwnPreference, readPreferences } from './preference-values.ts';
import type { AccountStore } from './store.ts';

/** Attempts to change a record while other servers change it. */
const CHANGE_TRIES_MAX = 10;
const CACHED_MS = 60_000;
const CACHED_MAX = 10_000;

interface Rights {
  readonly unmasked: boolean;
  readonly paying: boolean;
  /** Hosts that the account may send data to; empty = any. */
  readonly hosts: readonly string[];
  /** Its requests in a period, such as `600/m`; undefined: no limit of its own. */
  readonly rate?: string | undefined;
  /** True while its requests are refused and its jobs wait. Absent in records of accounts that never were. */
  readonly suspended?: boolean | undefined;
}

/** Rights to set; omitted ones stay as they are. `null` removes the rate. */
export type AccountSettings = {
  readonly [Name in Exclude<keyof Rights, 'rate'>]?: Rights[Name] | undefined;
} & {
  readonly rate?: string | null | undefined;
};

/** The plain text of the sealed record of an account. */
export interface AccountRecord extends Rights, PasswordHash {
  readonly aid: string;
  readonly former?: FormerPassword | undefined;
  readonly created_at: string;
  /** The number of its changes; records of versions that did not count them have none. */
  readonly revision?: number;
  /** Preferences that the account has set; records older than preferences have none. */
  readonly preferences?: readonly OwnPreference[];
}

export interface AccountInfo extends Rights {
  readonly name: string;
  readonly aid: string;
  readonly suspended: boolean;
  readonly created_at: string;
  /** The number of changes of its record. */
  readonly revision: number;
}

/** An account with the bytes of its record. */
export interface KnownAccount extends PasswordHash {
  readonly record: Buffer;
  readonly former: FormerPassword | undefined;
  readonly revision: number;
  readonly account: Account;
}

/**
 * Opens and changes the records of accounts, and detects a record that was replaced by an older copy. Each change numbers the
 * record, and its entry in the account's security log names the number; the sealed head of the log has the newest. The record
 * is written first: one that is ahead of the log belongs to a process that died before its entry, or that has yet to write it.
 */
export class AccountRecords {
  /** Opened records by the name of their account, used only while the stored record is the same. */
  private readonly opened: Memory<KnownAccount>;
  private readonly finding = createTickJoin<KnownAccount | undefined>();
  private readonly mutex = createKeyedMutex();

  constructor(
    private readonly store: AccountStore,
    private readonly auditStore: AuditStore,
    private readonly crypto: Crypto,
    private readonly audit: Audit,
    now: Clock,
    private readonly randomId: RandomId,
  ) {
    this.opened = new Memory(CACHED_MAX, CACHED_MS, now);
  }

  read(name: string): Promise<Buffer | undefined> {
    return this.store.read(name);
  }

  /** Finds the account of this name as it is stored now; requests of one tick share the read. Rejects with `record_rolled_back`. */
  find(name: string): Promise<KnownAccount | undefined> {
    return this.finding(name, () => this.findNow(name));
  }

  /** Returns the account of this name as it was opened last, if that is in memory. */
  lastKnown(name: string): KnownAccount | undefined {
    return this.opened.get(name);
  }

  /** Opens a record that was read. One older than its newest change is read again; rejects with `record_rolled_back`. */
  async openKnown(name: string, record: Buffer): Promise<KnownAccount | undefined> {
    const opened = await this.open(name, record);
    const { phc, stretched, former, aid, revision = 0 } = opened;
    if ((await this.readNewestRevision(aid)) > revision) {
      const now = await this.store.read(name);
      if (now?.equals(record) === true) {
        await this.recordRollback(name, aid);
        throw new VaultError('record_rolled_back');
      }
      return now && this.openKnown(name, now);
    }
    // The record is opened even if it is in memory: otherwise a guess at its password would be faster than one at an unknown name.
    const remembered = this.opened.get(name);
    if (remembered?.record.equals(record) === true) {
      return remembered;
    }
    const account = accountOf(name, opened);
    // A copy: a reply is a view of a larger one, which the cache would keep in memory.
    const fresh = { record: Buffer.from(record), phc, stretched, former, revision, account };
    this.opened.set(name, fresh);
    return fresh;
  }

  /** Opens a record as `openAccount` does. */
  open(name: string, record: Uint8Array): Promise<AccountRecord> {
    return openAccount(this.crypto, name, record);
  }

  /** Seals the record of an account, bound to its name. */
  seal(name: string, record: AccountRecord): Promise<Uint8Array> {
    return sealJson(this.crypto, '', 'account', name, record);
  }

  /** Reads the newest revision that the account's security log names; 0 if it names none. */
  async readNewestRevision(aid: string): Promise<number> {
    const { head } = await this.auditStore.readMarks(aid);
    const { revision = 0 } = (await this.crypto.describeChain({ aid, head, start: undefined })).head;
    return revision;
  }

  /** Reads the record of the account that a request acts for. Rejects with `unauthenticated` if the account is gone. */
  async readOwn({ name, aid }: Account): Promise<AccountRecord> {
    const record = await this.store.read(name);
    const opened = record && (await this.open(name, record));
    if (opened?.aid !== aid) {
      throw new VaultError('unauthenticated');
    }
    return opened;
  }

  /** Changes the account that a request acts for. Rejects with `unauthenticated` if it is gone, or another has its name. */
  async changeOwn(ctx: AccountContext, edit: (record: AccountRecord) => AccountRecord): Promise<void> {
    const { name, aid } = ctx.account;
    const changed = await this.change(name, (record) => {
      if (record.aid !== aid) {
        throw new VaultError('unauthenticated');
      }
      return edit(record);
    });
    if (!changed) {
      throw new VaultError('unauthenticated');
    }
    ctx.change = { kind: 'account', revision: changed.revision ?? 0 };
  }

  /**
   * Changes the record of an account on every server, and returns the new one; undefined if no account has this name. `edit`
   * runs again if another server has changed the record in between; if it throws, nothing changes. A record that is older than
   * the security log says is rejected with `record_rolled_back`; with `acceptsOlder` it becomes the newest.
   */
  change(
    name: string,
    edit: (record: AccountRecord) => AccountRecord | Promise<AccountRecord>,
    acceptsOlder = false,
  ): Promise<AccountRecord | undefined> {
    return this.mutex(name, async () => {
      for (let tries = 0; tries < CHANGE_TRIES_MAX; tries++) {
        const read = await this.store.read(name);
        if (!read) {
          return undefined;
        }
        const opened = await this.open(name, read);
        const newest = await this.readNewestRevision(opened.aid);
        const revision = opened.revision ?? 0;
        if (newest > revision && !(acceptsOlder && newest < REVISION_GONE)) {
          // Another server may have changed it, and recorded that, since it was read.
          if ((await this.store.read(name))?.equals(read) === true) {
            throw new VaultError('record_rolled_back');
          }
          continue;
        }
        const changed = { ...(await edit(opened)), revision: Math.max(revision, newest) + 1 };
        const sealed = await this.seal(name, changed);
        const isReplaced = await replaceOrConfirm(
          sealed,
          () => this.store.replace(name, read, sealed),
          () => this.store.read(name),
        );
        if (isReplaced) {
          // Equal bytes confirm what is in memory: this process must not take an older copy for the newest.
          this.opened.delete(name);
          return changed;
        }
      }
      throw new VaultError('overloaded');
    });
  }

  /** Records a removal in the account's security log, if it is not recorded, so that a restored copy of its record is rejected. */
  async recordRemoval(aid: string): Promise<void> {
    if ((await this.readNewestRevision(aid)) < REVISION_GONE) {
      await this.audit.record({
        ...{ aid, action: 'account.delete', outcome: 'success', actor: 'vault', object: 'account' },
        ...{ ip: '', userAgent: '', requestId: this.randomId() },
        change: { kind: 'account', revision: REVISION_GONE },
      });
    }
  }

  private async findNow(name: string): Promise<KnownAccount | undefined> {
    const record = await this.store.read(name);
    const known = this.opened.get(name);
    return record === undefined || known?.record.equals(record) === true
      ? record && known
      : this.openKnown(name, record);
  }

  /** Reports an older record in the account's security log. Sign-ins to the account fail until it is repaired. */
  private recordRollback(name: string, aid: string): Promise<void> {
    return this.audit.record({
      ...{ aid, action: 'sign_in', outcome: 'record_rolled_back', actor: 'vault', object: `account/${name}` },
      ...{ ip: '', userAgent: '', requestId: this.randomId() },
    });
  }
}

/** Opens the sealed record of an account of this name. Rejects with `integrity_failed` for any other bytes. */
export function openAccount(crypto: Crypto, name: string, record: Uint8Array): Promise<AccountRecord> {
  return openJson(crypto, '', 'account', name, record);
}

/** Returns the account of a record, as requests see it. */
function accountOf(name: string, record: AccountRecord): Account {
  const { aid, unmasked, paying, hosts, rate, suspended = false, preferences = [] } = record;
  return {
    ...{ aid, name, unmasked, paying, hosts, preferences: readPreferences(preferences) },
    rate: rate === undefined ? undefined : parseRate(rate),
    isSuspended: suspended,
  };
}

/** Returns the members of a record that operators see: all but the password's hash and the preferences. */
export function toAccountInfo(name: string, record: AccountRecord): AccountInfo {
  const { aid, unmasked, paying, hosts, rate, suspended = false, created_at, revision = 0 } = record;
  return { name, aid, unmasked, paying, hosts, rate, suspended, created_at, revision };
}
