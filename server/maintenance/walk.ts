import type { RecordFindings } from '../../workers/jobs/maintenance/jobs.ts';
import type { AuditStore } from '../audit/store.ts';
import { eachOf } from '../core/concurrency.ts';
import type { Crypto } from '../crypto/client.ts';
import type { NamedAccounts } from '../log-heads/heads.ts';
import type { RecordKind } from '../redis/records/kind.ts';
import type { ItemStore } from '../vault/store/items.ts';
import type { FoundRecord, RecordStore } from './store/records.ts';

/** An account whose record opens. */
export interface LiveAccount {
  readonly aid: string;
  readonly name: string;
}

/** A vault key whose record opens, and its newest generation at that time. */
export interface VaultKey {
  readonly account: LiveAccount;
  readonly user: string;
  readonly kid: string;
  readonly gen: number;
  readonly found: FoundRecord;
}

/** A record with the id of its master key, and the facts in it if it opens. */
type OpenedRecord = FoundRecord & RecordFindings;

export interface Visitor {
  /** Sealed records; those of accounts and keys after all that belongs to them. `account` is a name, or '' for none. */
  readonly records: (account: string, page: readonly FoundRecord[]) => Promise<void>;
  readonly bucket: (key: VaultKey, number: number) => Promise<void>;
  /** An account, before its keys. */
  readonly account?: (account: LiveAccount) => Promise<void>;
}

/** The owner of the records of no account: those of the vault, and of the operator. */
export const NO_ACCOUNT: LiveAccount = { aid: '', name: '' };

/** Walks over all records of the vault in the order that maintenance needs. */
export class Walk {
  constructor(
    private readonly recordStore: RecordStore,
    private readonly itemStore: ItemStore,
    private readonly auditStore: AuditStore,
    private readonly crypto: Crypto,
  ) {}

  /** Opens records in their places. Returns each with its master key and its facts; no facts if it does not open. */
  async open(page: readonly FoundRecord[]): Promise<readonly OpenedRecord[]> {
    const findings = page.length === 0 ? [] : await this.crypto.verifyRecords({ records: page });
    return page.map((found, i) => ({ ...found, keyId: findings[i]?.keyId, facts: findings[i]?.facts }));
  }

  /** Opens the record that is now in the place of another; undefined if there is none. */
  async openAgain(found: FoundRecord) {
    const record = await this.recordStore.read(found);
    const [opened] = record ? await this.open([{ ...found, record }]) : [];
    return opened;
  }

  /** Returns account records in pages, and the accounts of those that open; with `only`, of one name. */
  private async *accountPages(only?: string) {
    for await (const all of this.recordStore.pages(this.recordStore.kinds.accounts, '')) {
      const page = all.filter(({ id }) => only === undefined || id === only);
      const opened = await this.open(page);
      const accounts = opened.flatMap(({ id: name, facts }): LiveAccount[] =>
        facts?.aid === undefined ? [] : [{ aid: facts.aid, name }],
      );
      yield { page, accounts };
    }
  }

  /** Returns key records of an account in pages, and the keys of those that open. */
  private async *keyPages(account: LiveAccount) {
    for await (const page of this.recordStore.pages(this.recordStore.kinds.keyRecord, account.aid)) {
      const opened = await this.open(page);
      const keys = opened.flatMap((found): VaultKey[] => {
        const { kid, gen = 1 } = found.facts ?? {};
        return kid === undefined ? [] : [{ account, user: found.id, kid, gen, found }];
      });
      yield { page, keys };
    }
  }

  /** Returns all accounts whose record opens. */
  async *accounts(): AsyncGenerator<LiveAccount, void, void> {
    for await (const { accounts } of this.accountPages()) {
      yield* accounts;
    }
  }

  /** Returns the keys of an account whose record opens. */
  async *keys(account: LiveAccount): AsyncGenerator<VaultKey, void, void> {
    for await (const { keys } of this.keyPages(account)) {
      yield* keys;
    }
  }

  /** Returns all accounts whose record opens, with ids and names of their keys whose record opens, in the same order. */
  async *ownedKeys(): ReturnType<NamedAccounts> {
    for await (const account of this.accounts()) {
      const [kids, users]: [string[], string[]] = [[], []];
      for await (const { kid, user } of this.keys(account)) {
        kids.push(kid);
        users.push(user);
      }
      yield { ...account, kids, users };
    }
  }

  /** Visits all data of accounts, or of one; returns the ids of those whose record opens, and whether there was any record. */
  async visitAccounts(
    visitor: Visitor,
    only?: string,
  ): Promise<{ readonly aids: ReadonlySet<string>; readonly isFound: boolean }> {
    const aids = new Set<string>();
    let isFound = false;
    for await (const { page, accounts } of this.accountPages(only)) {
      isFound ||= page.length > 0;
      await eachOf(accounts, (account) => {
        aids.add(account.aid);
        return this.visitAccount(visitor, account);
      });
      await visitor.records('', page);
    }
    return { aids, isFound };
  }

  /**
   * Visits the records of no existing account: the vault's own, those that outlive accounts, and those that are found by
   * name. Returns false if Redis forbids SCAN, so that the last ones were skipped. Records that come last are omitted.
   */
  async visitRest(visitor: Visitor, aids: ReadonlySet<string>): Promise<boolean> {
    const { kinds } = this.recordStore;
    const all: readonly RecordKind[] = Object.values(kinds);
    for (const kind of all.filter(({ name, last }) => name.scope === 'vault' && last === undefined)) {
      await (kind === kinds.accounts ? undefined : this.visitKind(visitor, kind, NO_ACCOUNT));
    }
    const gone = new Set(['', ...(await this.auditStore.chains())]).difference(aids);
    for (const kind of all.filter(({ outlives }) => outlives)) {
      for (const aid of gone) {
        await this.visitKind(visitor, kind, { aid, name: '' });
      }
    }
    const isSearched = await this.recordStore.canScan();
    for (const kind of all.filter(({ name, listed }) => name.scope === 'id' && listed === undefined)) {
      await (isSearched ? this.visitKind(visitor, kind, NO_ACCOUNT) : undefined);
    }
    return isSearched;
  }

  async visitLast(visitor: Visitor): Promise<void> {
    for (const kind of Object.values(this.recordStore.kinds).filter(({ last }) => last)) {
      await this.visitKind(visitor, kind, NO_ACCOUNT);
    }
  }

  buckets(): readonly number[] {
    return Array.from({ length: this.itemStore.buckets }, (_, number) => number);
  }

  private async visitAccount(visitor: Visitor, account: LiveAccount): Promise<void> {
    const { kinds } = this.recordStore;
    for (const kind of Object.values(kinds)) {
      const isOwned = kind.name.scope === 'account' || kind.listed !== undefined;
      if (isOwned && kind !== kinds.keyRecord) {
        await this.visitKind(visitor, kind, account);
      }
    }
    await visitor.account?.(account);
    // After the items: the record of a key is needed to find them.
    for await (const { page, keys } of this.keyPages(account)) {
      for (const key of keys) {
        await eachOf(this.buckets(), (number) => visitor.bucket(key, number));
      }
      await visitor.records(account.name, page);
    }
  }

  private async visitKind(visitor: Visitor, kind: RecordKind, { aid, name }: LiveAccount): Promise<void> {
    for await (const page of this.recordStore.pages(kind, aid)) {
      await visitor.records(name, page);
    }
  }
}
