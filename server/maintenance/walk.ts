import type { AccountStore } from '../account/store.ts';
import type { AuditStore } from '../audit/store.ts';
import type { Clock } from '../core/clock.ts';
import { eachOf } from '../core/each.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyStore } from '../key/store.ts';
import type { HeadsStore } from '../log-heads/store.ts';
import type { RecordKind } from '../redis/records/kind.ts';
import type { ItemStore } from '../vault/store/items.ts';
import type { CensusStore } from './store/census.ts';
import type { FoundRecord, RecordStore } from './store/records.ts';
import type { SurveyStore } from './store/survey.ts';

/** What record maintenance works on. */
export interface MaintenanceDependencies {
  readonly crypto: Crypto;
  readonly recordStore: RecordStore;
  readonly censusStore: CensusStore;
  readonly surveyStore: SurveyStore;
  readonly headsStore: HeadsStore;
  readonly itemStore: Pick<ItemStore, 'buckets' | 'bucketOf' | 'readLogUp'>;
  readonly keyStore: Pick<KeyStore, 'changesLeft' | 'purgesLeft'>;
  readonly accountStore: Pick<AccountStore, 'listGone'>;
  readonly auditStore: Pick<AuditStore, 'chains' | 'read' | 'readMarks'>;
  readonly masterKeys: { readonly writeId: string };
  /** Whether entries of the reference index may be under another root than the newest. */
  readonly isRootMoving?: () => boolean;
  readonly now: Clock;
}

/** An account whose record opens. */
export interface LiveAccount {
  readonly aid: string;
  readonly name: string;
}

/** A vault key whose record opens, and the newest generation that it had then. */
export interface VaultKey {
  readonly account: LiveAccount;
  readonly user: string;
  readonly kid: string;
  readonly gen: number;
  readonly found: FoundRecord;
}

/** What is done with what a walk finds. */
export interface Visitor {
  /** Sealed records; those of accounts and keys after all that belongs to them. `account` is a name, '' for no account's. */
  readonly records: (account: string, page: readonly FoundRecord[]) => Promise<void>;
  /** One bucket of a key. */
  readonly bucket: (key: VaultKey, number: number) => Promise<void>;
  /** An account, before its keys. */
  readonly account?: (account: LiveAccount) => Promise<void>;
}

/** Opens records in their places: for each its master key, and what it says, or undefined where it does not open. */
export async function openRecords(
  { crypto }: Pick<MaintenanceDependencies, 'crypto'>,
  page: readonly FoundRecord[],
) {
  return page.length === 0 ? [] : crypto.verifyRecords({ records: page });
}

/** Opens what lies in the place of a record now; undefined where nothing does. */
export async function openAgain(
  parts: Pick<MaintenanceDependencies, 'crypto' | 'recordStore'>,
  found: FoundRecord,
) {
  const record = await parts.recordStore.read(found);
  const [opened] = record ? await openRecords(parts, [{ ...found, record }]) : [];
  return opened;
}

/** Account records, a few at a time, and the accounts of those that open. */
export async function* accountPages(
  parts: Pick<MaintenanceDependencies, 'crypto' | 'recordStore'>,
  only?: string,
) {
  const { recordStore } = parts;
  for await (const all of recordStore.pages(recordStore.kinds.accounts, '')) {
    const page = all.filter(({ id }) => only === undefined || id === only);
    const opened = await openRecords(parts, page);
    const accounts = page.flatMap(({ id: name }, i): LiveAccount[] => {
      const aid = opened[i]?.facts?.aid;
      return aid === undefined ? [] : [{ aid, name }];
    });
    yield { page, accounts };
  }
}

/** Key records of an account, a few at a time, and the keys of those that open. */
export async function* keyPages(
  parts: Pick<MaintenanceDependencies, 'crypto' | 'recordStore'>,
  account: LiveAccount,
) {
  const { recordStore } = parts;
  for await (const page of recordStore.pages(recordStore.kinds.keyRecord, account.aid)) {
    const opened = await openRecords(parts, page);
    const keys = page.flatMap((found, i): VaultKey[] => {
      const { kid, gen = 1 } = opened[i]?.facts ?? {};
      return kid === undefined ? [] : [{ account, user: found.id, kid, gen, found }];
    });
    yield { page, keys };
  }
}

/** All accounts whose record opens, with the ids of their keys whose record opens, and their names in the same order. */
export async function* ownedKeys(
  parts: Pick<MaintenanceDependencies, 'crypto' | 'recordStore'>,
): AsyncGenerator<
  LiveAccount & { readonly kids: readonly string[]; readonly users: readonly string[] },
  void,
  void
> {
  for await (const { accounts } of accountPages(parts)) {
    for (const account of accounts) {
      const [kids, users]: [string[], string[]] = [[], []];
      for await (const { keys } of keyPages(parts, account)) {
        kids.push(...keys.map(({ kid }) => kid));
        users.push(...keys.map(({ user }) => user));
      }
      yield { ...account, kids, users };
    }
  }
}

async function visitKind(
  { recordStore }: MaintenanceDependencies,
  visitor: Visitor,
  kind: RecordKind,
  { aid, name }: LiveAccount,
): Promise<void> {
  for await (const page of recordStore.pages(kind, aid)) {
    await visitor.records(name, page);
  }
}

const NO_ACCOUNT: LiveAccount = { aid: '', name: '' };

async function visitAccount(
  parts: MaintenanceDependencies,
  visitor: Visitor,
  account: LiveAccount,
): Promise<void> {
  const { kinds } = parts.recordStore;
  for (const kind of Object.values(kinds)) {
    const isOwned = kind.name.scope === 'account' || kind.listed !== undefined;
    if (isOwned && kind !== kinds.keyRecord) {
      await visitKind(parts, visitor, kind, account);
    }
  }
  await visitor.account?.(account);
  // The record of a key says where its items are, so it comes behind them.
  for await (const { page, keys } of keyPages(parts, account)) {
    for (const key of keys) {
      const buckets = Array.from({ length: parts.itemStore.buckets }, (_, number) => number);
      await eachOf(buckets, (number) => visitor.bucket(key, number));
    }
    await visitor.records(account.name, page);
  }
}

/** Visits all that accounts have, or one of them; returns the ids of those whose record opens, and whether there was any record. */
export async function visitAccounts(
  parts: MaintenanceDependencies,
  visitor: Visitor,
  only?: string,
): Promise<{ readonly aids: ReadonlySet<string>; readonly isFound: boolean }> {
  const aids = new Set<string>();
  let isFound = false;
  for await (const { page, accounts } of accountPages(parts, only)) {
    isFound ||= page.length > 0;
    await eachOf(accounts, (account) => {
      aids.add(account.aid);
      return visitAccount(parts, visitor, account);
    });
    await visitor.records('', page);
  }
  return { aids, isFound };
}

/**
 * Visits what belongs to no account that is there: the vault's own, what outlives accounts, and what is found by its name
 * alone; false where Redis forbids to search for that. What has to come last is omitted.
 */
export async function visitRest(
  parts: MaintenanceDependencies,
  visitor: Visitor,
  aids: ReadonlySet<string>,
): Promise<boolean> {
  const { kinds, canScan } = parts.recordStore;
  const all: readonly RecordKind[] = Object.values(kinds);
  for (const kind of all.filter(({ name, last }) => name.scope === 'vault' && last === undefined)) {
    await (kind === kinds.accounts ? undefined : visitKind(parts, visitor, kind, NO_ACCOUNT));
  }
  const gone = new Set(['', ...(await parts.auditStore.chains())]).difference(aids);
  for (const kind of all.filter(({ outlives }) => outlives)) {
    for (const aid of gone) {
      await visitKind(parts, visitor, kind, { aid, name: '' });
    }
  }
  const isSearched = await canScan();
  for (const kind of all.filter(({ name, listed }) => name.scope === 'id' && listed === undefined)) {
    await (isSearched ? visitKind(parts, visitor, kind, NO_ACCOUNT) : undefined);
  }
  return isSearched;
}

/** Visits what has to come last. */
export async function visitLast(parts: MaintenanceDependencies, visitor: Visitor): Promise<void> {
  for (const kind of Object.values(parts.recordStore.kinds).filter(({ last }) => last)) {
    await visitKind(parts, visitor, kind, NO_ACCOUNT);
  }
}
