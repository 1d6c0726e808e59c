import type { AccountStore } from '../../account/store.ts';
import type { KeyStore } from '../../key/store.ts';
import type { RecordKind } from '../../redis/records/kind.ts';
import { addChecked, addFaults, type Fault, type Report } from '../report.ts';
import type { CensusStore, CountedKey } from '../store/census.ts';
import type { RecordStore } from '../store/records.ts';
import type { LiveAccount, Walk } from '../walk.ts';

/** The possible owners of keys: accounts and vault keys, including those whose deletion is not finished. */
interface Owners {
  readonly aids: Set<string>;
  readonly kids: Set<string>;
  /** Ids in directories, by kind of key: for names that contain an id and no account. */
  readonly listed: Map<RecordKind, Set<string>>;
}

/** Verifies the names of all keys in Redis: each is of a kind of the registry, and has an owner. */
export class NameVerifier {
  constructor(
    private readonly recordStore: RecordStore,
    private readonly censusStore: CensusStore,
    private readonly keyStore: KeyStore,
    private readonly accountStore: AccountStore,
    private readonly walk: Walk,
  ) {}

  /** Verifies all names. Throws if Redis forbids SCAN. */
  async verify(report: Report): Promise<void> {
    const owners = await this.findOwners();
    for await (const page of this.censusStore.keys()) {
      addChecked(report, 'key name', page.length);
      const first = await this.faultsOf(owners, page);
      const places = new Set(first.map(({ place }) => place));
      const suspects = page.filter(({ key }) => places.has(key));
      const check = async (): Promise<Fault[]> => {
        const ownersNow = await this.findOwners();
        const isThere = await Promise.all(suspects.map(({ name }) => this.censusStore.exists(name)));
        return this.faultsOf(
          ownersNow,
          suspects.filter((_, i) => isThere[i]),
        );
      };
      await addFaults(report, check, first);
    }
  }

  private async findOwners(): Promise<Owners> {
    const kinds: readonly RecordKind[] = Object.values(this.recordStore.kinds);
    const listed = kinds.filter((kind) => kind.name.scope === 'id' && kind.listed !== undefined);
    const owners: Owners = {
      aids: new Set(),
      kids: new Set(),
      listed: new Map(listed.map((kind) => [kind, new Set()])),
    };
    for await (const account of this.walk.accounts()) {
      await this.addAccount(owners, account);
    }
    for (const aid of await this.accountStore.listGone()) {
      await this.addAccount(owners, { aid, name: '' });
    }
    return owners;
  }

  private async addAccount(owners: Owners, account: LiveAccount): Promise<void> {
    owners.aids.add(account.aid);
    for await (const { kid } of this.walk.keys(account)) {
      owners.kids.add(kid);
    }
    for (const kid of await this.keyStore.purgesLeft(account.aid)) {
      owners.kids.add(kid);
    }
    for (const [kind, ids] of owners.listed) {
      for await (const entries of this.recordStore.entries(kind, account.aid)) {
        for (const { id } of entries) {
          ids.add(id);
        }
      }
    }
  }

  private async faultsOf(owners: Owners, page: readonly CountedKey[]): Promise<Fault[]> {
    const found = await Promise.all(page.map((key) => this.flawOf(owners, key)));
    return page.flatMap(({ key: place }, i): Fault[] => {
      const what = found[i];
      return what === undefined ? [] : [{ kind: 'key name', account: '', place, what, state: 'bad' }];
    });
  }

  /** Describes the flaw of a key; undefined for none. */
  private async flawOf(
    { aids, kids, listed }: Owners,
    { known, name }: CountedKey,
  ): Promise<string | undefined> {
    if (known === undefined) {
      return 'no part of the vault gives such a name';
    }
    const { kind, owner } = known;
    const { aid, id, bucket } = owner;
    const { item, sad } = this.recordStore.kinds;
    if (kind.name.scope === 'account' && !kind.outlives && !aids.has(aid)) {
      return 'its account is not there';
    }
    if (listed.get(kind)?.has(id) === false) {
      return this.unlessExpiring(name, 'no account’s directory names it');
    }
    if (kind.name.scope === 'bucket' && !kids.has(bucket.kid)) {
      return this.unlessExpiring(name, 'its vault key is not there');
    }
    if (kind === item) {
      const [isNamed] = await this.censusStore.hasTimes(bucket, [id]);
      return isNamed ? undefined : 'the time index does not name this item';
    }
    const [hasItem] = kind === sad ? await this.censusStore.hasItems(bucket, [id]) : [true];
    return hasItem ? undefined : 'its item is not there';
  }

  /** Returns a flaw of a key without an owner; undefined if the key expires, or is gone. */
  private async unlessExpiring(name: Buffer, what: string): Promise<string | undefined> {
    return (await this.censusStore.isExpiring(name)) ? undefined : what;
  }
}
