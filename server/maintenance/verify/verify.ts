import type { KeyStore } from '../../key/store.ts';
import type { Flaw, RecordKind } from '../../redis/records/kind.ts';
import { addChecked, addFaults, countKey, type Fault, type Report, type Verification } from '../report.ts';
import type { FoundRecord, RecordStore } from '../store/records.ts';
import { type LiveAccount, NO_ACCOUNT, type Visitor, type Walk } from '../walk.ts';
import type { HeadsVerifier } from './heads.ts';
import type { BucketVerifier } from './items.ts';
import type { NameVerifier } from './names.ts';
import type { Rollbacks } from './rollback.ts';

/** Stands for a record that does not open, which is reported as such. */
const DAMAGED = 'damaged';

/** A flaw of the entry or the field of this id. */
interface PlacedFlaw extends Flaw {
  readonly id: string;
}

export class Verifier {
  constructor(
    private readonly recordStore: RecordStore,
    private readonly keyStore: KeyStore,
    private readonly walk: Walk,
    private readonly buckets: BucketVerifier,
    private readonly heads: HeadsVerifier,
    private readonly rollbacks: Rollbacks,
    private readonly names: NameVerifier,
  ) {}

  /**
   * Verifies every record and every index of the vault, or of one account, while it is in use; undefined if no account has
   * this name. No passphrase is needed: data that only a passphrase opens is compared with the hash that the service has
   * sealed.
   */
  async verify(only: string | undefined, seen: (records: number) => void): Promise<Verification | undefined> {
    const found = { checked: {}, bad: {}, unfinished: {}, faults: [], keys: {} };
    const report: Report = { ...found, seen };
    const visitor: Visitor = {
      records: (account, page) => this.verifyPage(report, account, page),
      account: async (account) => {
        await addFaults(report, () => this.listFaults(account));
        await addFaults(report, () => this.recoveryFaults(account));
        await this.heads.verifyAccount(report, account);
        await addFaults(report, () => this.rollbacks.recordFaults(account));
      },
      bucket: async (key, number) => {
        await this.buckets.verify(report, key, number);
        await this.heads.verifyBucket(report, key, number);
      },
    };
    const { aids, isFound } = await this.walk.visitAccounts(visitor, only);
    if (only !== undefined) {
      return isFound ? { ...found, scanned: false } : undefined;
    }
    await this.walk.visitLast(visitor);
    await addFaults(report, () => this.rollbacks.recordFaults(NO_ACCOUNT));
    const scanned = await this.walk.visitRest(visitor, aids);
    if (scanned) {
      await this.names.verify(report);
    }
    return { ...found, scanned };
  }

  /** Opens a page of records, and reports those that do not open in their place. */
  private async verifyPage(report: Report, account: string, page: readonly FoundRecord[]): Promise<void> {
    const opened = await this.walk.open(page);
    await Promise.all(
      opened.map(async (found) => {
        const { label: kind, id: place } = found;
        addChecked(report, kind, 1);
        countKey(report.keys, kind, found.keyId);
        if (found.facts !== undefined) {
          await (kind === 'account'
            ? addFaults(report, () => this.rollbacks.accountFaults(found))
            : undefined);
          return;
        }
        const owner = kind === 'account' ? place : account;
        const what = 'it does not open in its place';
        const bad: Fault = { kind, account: owner, place, what, state: 'bad' };
        const check = async (): Promise<Fault[]> => {
          const again = await this.walk.openAgain(found);
          return again !== undefined && again.facts === undefined ? [bad] : [];
        };
        await addFaults(report, check, [bad]);
      }),
    );
  }

  /** Finds defects of directories and their keys, of hashes that come in pairs, and unfinished deletions of keys. */
  private async listFaults({ aid, name }: LiveAccount): Promise<readonly Fault[]> {
    const kinds: readonly RecordKind[] = Object.values(this.recordStore.kinds);
    const found = await Promise.all(
      kinds.flatMap((kind) => [this.listedFlaws(kind, aid), this.pairFlaws(kind, aid)]),
    );
    const purges = (await this.keyStore.purgesLeft(aid)).map(
      (id): PlacedFlaw => ({ id, label: 'key', what: 'a deletion is not finished', state: 'unfinished' }),
    );
    const flaws = [...found.flat(), ...purges];
    return flaws.map(({ id: place, label: kind, ...flaw }) => ({ kind, account: name, place, ...flaw }));
  }

  private async listedFlaws(kind: RecordKind, aid: string): Promise<readonly PlacedFlaw[]> {
    const flaws: PlacedFlaw[] = [];
    if (kind.listed === undefined) {
      return flaws;
    }
    const { missing, foreign = missing } = kind.listed;
    for await (const page of this.recordStore.keys(kind, aid)) {
      for (const { id, found, stored } of page) {
        const flaw = found === 'own' ? kind.check?.(stored) : found === 'foreign' ? foreign : missing;
        flaws.push(...(flaw ? [{ ...flaw, id }] : []));
      }
    }
    return flaws;
  }

  private async pairFlaws({ name, pair }: RecordKind, aid: string): Promise<readonly PlacedFlaw[]> {
    if (pair === undefined || name.scope !== 'account') {
      return [];
    }
    const own = await this.recordStore.fields(name.make(aid, ''));
    const others = await this.recordStore.fields(pair.name.make(aid, ''));
    return [...own.difference(others)].map((id) => ({ ...pair.flaw, id }));
  }

  /** Finds keys of an account whose recovery is missing, another one, or of another generation. */
  private async recoveryFaults({ aid, name }: LiveAccount): Promise<readonly Fault[]> {
    const { keyRecord, recovery } = this.recordStore.kinds;
    const known = await this.recoveryStates(keyRecord, aid);
    const stored = await this.recoveryStates(recovery, aid);
    const users = [...new Set([...known.keys(), ...stored.keys()])];
    const mixed = users.filter((user) => {
      const states = [known.get(user), stored.get(user)];
      return states[0] !== states[1] && !states.includes(DAMAGED);
    });
    return mixed.map((place): Fault => {
      const what = 'it does not belong to what the key says';
      return { kind: 'recovery', account: name, place, what, state: 'bad' };
    });
  }

  /** Reads the recovery that each record of a kind names, by the name of the key; omits records without one. */
  private async recoveryStates(kind: RecordKind, aid: string): Promise<ReadonlyMap<string, string>> {
    const states = new Map<string, string>();
    for await (const page of this.recordStore.pages(kind, aid)) {
      for (const { id, facts } of await this.walk.open(page)) {
        if (facts === undefined) {
          states.set(id, DAMAGED);
        } else if (facts.recovery !== undefined) {
          states.set(id, `${facts.kid} ${facts.gen} ${facts.recovery}`);
        }
      }
    }
    return states;
  }
}
