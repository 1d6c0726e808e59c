import type { KeyName } from '../../store/maintenance/census.ts';
import { pause } from '../common/coalesce.ts';
import { type Fault, type Report, settled } from './report.ts';
import { createRecordWalk, type MaintenanceDependencies } from './walk.ts';

type Of<Kind extends KeyName['kind']> = Extract<KeyName, { readonly kind: Kind }>;

/** Looks at the names of all keys in Redis: whether each is one of ours, and somebody's. */
export function createNameCheck(parts: MaintenanceDependencies, report: Report) {
  const { crypto, keyStore, endpointStore, formStore, censusStore } = parts;
  const walk = createRecordWalk(parts);
  const aids = new Set<string>();
  const kids = new Set<string>();

  const factsOf = async (page: Parameters<typeof crypto.lookAtRecords>[0]) =>
    page.length === 0 ? [] : (await crypto.lookAtRecords(page)).map(({ facts }) => facts);

  const learnAccount = async (aid: string): Promise<void> => {
    aids.add(aid);
    for await (const page of walk.keys(aid)) {
      for (const facts of await factsOf(page)) {
        kids.add(facts?.kid ?? '');
      }
    }
    for (const kid of await keyStore.purgesLeft(aid)) {
      kids.add(kid);
    }
  };

  /** Accounts and keys that there are now, also those whose deletion is not finished. */
  const learn = async (): Promise<void> => {
    for await (const page of walk.accounts()) {
      for (const facts of await factsOf(page)) {
        await (facts?.aid === undefined ? undefined : learnAccount(facts.aid));
      }
    }
    for await (const gone of censusStore.goneAccounts()) {
      for (const aid of gone) {
        await learnAccount(aid);
      }
    }
  };

  const isEntered = async ({ kind, id }: Of<'endpoint' | 'form'>): Promise<boolean> => {
    const owner = await censusStore.owner(kind, id);
    if (owner?.aid === undefined || !aids.has(owner.aid)) {
      return owner === undefined;
    }
    const entries = await (kind === 'endpoint' ? endpointStore : formStore).entries(owner.aid);
    return entries.some((entry) => entry.id === id);
  };

  /** What is wrong with a key of a bucket; undefined for nothing. */
  const bucketFault = async (
    name: Buffer,
    { kind, bucket, token }: Of<'item' | 'sad' | 'bucket'>,
  ): Promise<string | undefined> => {
    if (!kids.has(bucket.kid)) {
      return (await censusStore.isPassing(name)) ? undefined : 'nobody owns its vault key';
    }
    if (kind === 'item') {
      const [isNamed] = await censusStore.hasTimes(bucket, [token]);
      return isNamed ? undefined : 'the time index does not name this item';
    }
    const [hasItem] = kind === 'sad' ? await censusStore.hasItems(bucket, [token]) : [true];
    return hasItem ? undefined : 'its item is not there';
  };

  const faultOf = async (name: Buffer, of: KeyName): Promise<string | undefined> => {
    switch (of.kind) {
      case 'known':
      case 'table':
        return undefined;
      case 'foreign':
        return 'no part of the vault gives such a name';
      case 'account':
        return of.aid === '' || aids.has(of.aid) ? undefined : 'its account is not there';
      case 'endpoint':
      case 'form':
        return (await isEntered(of)) || (await censusStore.isPassing(name))
          ? undefined
          : 'no account’s directory names it';
      default:
        return bucketFault(name, of);
    }
  };

  type Names = readonly { readonly name: Buffer; readonly of: KeyName }[];
  const look = async (names: Names): Promise<Fault[]> => {
    const found = await Promise.all(names.map(({ name, of }) => faultOf(name, of)));
    return names.flatMap(({ name }, i) => {
      const what = found[i];
      const place = name.toString('utf8');
      return what === undefined
        ? []
        : [{ kind: 'key name', account: '', place, what, state: 'bad' as const }];
    });
  };

  return async (): Promise<void> => {
    await learn();
    for await (const page of censusStore.names()) {
      report.count('key name', page.length);
      const first = await look(page);
      const strange = new Set(first.map(({ place }) => place));
      const suspects = page.filter(({ name }) => strange.has(name.toString('utf8')));
      const again = async (): Promise<Fault[]> => {
        await learn();
        const there = await Promise.all(suspects.map(({ name }) => censusStore.exists(name)));
        return look(suspects.filter((_, i) => there[i]));
      };
      report.add(await settled(first, again, pause));
    }
  };
}
