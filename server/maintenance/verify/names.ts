import type { RecordKind } from '../../redis/records/kind.ts';
import { addChecked, addFaults, type Fault, type Report } from '../report.ts';
import type { CountedKey } from '../store/census.ts';
import { accountPages, keyPages, type LiveAccount, type MaintenanceDependencies } from '../walk.ts';

/** Whose keys there may be: accounts and vault keys, also those whose deletion is not finished. */
interface Owners {
  readonly aids: Set<string>;
  readonly kids: Set<string>;
  /** What directories name, as `kind of key, id`: where an id alone does not say whose a key is. */
  readonly listed: Map<RecordKind, Set<string>>;
}

async function addAccount(
  parts: MaintenanceDependencies,
  owners: Owners,
  account: LiveAccount,
): Promise<void> {
  const { recordStore, keyStore } = parts;
  owners.aids.add(account.aid);
  for await (const { keys } of keyPages(parts, account)) {
    for (const { kid } of keys) {
      owners.kids.add(kid);
    }
  }
  for (const kid of await keyStore.purgesLeft(account.aid)) {
    owners.kids.add(kid);
  }
  for (const [kind, ids] of owners.listed) {
    for await (const entries of recordStore.entries(kind, account.aid)) {
      for (const { id } of entries) {
        ids.add(id);
      }
    }
  }
}

async function findOwners(parts: MaintenanceDependencies): Promise<Owners> {
  const kinds: readonly RecordKind[] = Object.values(parts.recordStore.kinds);
  const listed = kinds.filter((kind) => kind.name.scope === 'id' && kind.listed !== undefined);
  const owners: Owners = {
    aids: new Set(),
    kids: new Set(),
    listed: new Map(listed.map((kind) => [kind, new Set()])),
  };
  for await (const { accounts } of accountPages(parts)) {
    for (const account of accounts) {
      await addAccount(parts, owners, account);
    }
  }
  for (const aid of await parts.accountStore.listGone()) {
    await addAccount(parts, owners, { aid, name: '' });
  }
  return owners;
}

/** What is wrong with a key that no directory and no vault key owns; undefined when it expires, or is gone. */
async function strayFault(
  parts: MaintenanceDependencies,
  name: Buffer,
  what: string,
): Promise<string | undefined> {
  return (await parts.censusStore.isExpiring(name)) ? undefined : what;
}

/** What is wrong with a key that is there; undefined for nothing. */
async function faultOf(
  parts: MaintenanceDependencies,
  { aids, kids, listed }: Owners,
  { known, name }: CountedKey,
): Promise<string | undefined> {
  if (known === undefined) {
    return 'no part of the vault gives such a name';
  }
  const { kind, owner } = known;
  const { aid, id, bucket } = owner;
  const { item, sad } = parts.recordStore.kinds;
  if (kind.name.scope === 'account' && !kind.outlives && !aids.has(aid)) {
    return 'its account is not there';
  }
  if (listed.get(kind)?.has(id) === false) {
    return strayFault(parts, name, 'no account’s directory names it');
  }
  if (kind.name.scope === 'bucket' && !kids.has(bucket.kid)) {
    return strayFault(parts, name, 'its vault key is not there');
  }
  if (kind === item) {
    const [isNamed] = await parts.censusStore.hasTimes(bucket, [id]);
    return isNamed ? undefined : 'the time index does not name this item';
  }
  const [hasItem] = kind === sad ? await parts.censusStore.hasItems(bucket, [id]) : [true];
  return hasItem ? undefined : 'its item is not there';
}

async function faultsOf(
  parts: MaintenanceDependencies,
  owners: Owners,
  page: readonly CountedKey[],
): Promise<Fault[]> {
  const found = await Promise.all(page.map((key) => faultOf(parts, owners, key)));
  return page.flatMap(({ key: place }, i): Fault[] => {
    const what = found[i];
    return what === undefined ? [] : [{ kind: 'key name', account: '', place, what, state: 'bad' }];
  });
}

/** Verifies the names of all keys in Redis: each is of a kind of the registry, and has an owner. */
export async function verifyNames(parts: MaintenanceDependencies, report: Report): Promise<void> {
  const { censusStore } = parts;
  const owners = await findOwners(parts);
  for await (const page of censusStore.keys()) {
    addChecked(report, 'key name', page.length);
    const first = await faultsOf(parts, owners, page);
    const strange = new Set(first.map(({ place }) => place));
    const suspects = page.filter(({ key }) => strange.has(key));
    const check = async (): Promise<Fault[]> => {
      const ownersNow = await findOwners(parts);
      const isThere = await Promise.all(suspects.map(({ name }) => censusStore.exists(name)));
      const left = suspects.filter((_, i) => isThere[i]);
      return faultsOf(parts, ownersNow, left);
    };
    await addFaults(report, check, first);
  }
}
