import type { Flaw, RecordKind } from '../../redis/records/kind.ts';
import type { Fault } from '../report.ts';
import type { LiveAccount, MaintenanceDependencies } from '../walk.ts';

/** What is wrong with the entry or the field of this id. */
interface PlacedFlaw extends Flaw {
  readonly id: string;
}

async function listedFlaws(
  { recordStore }: MaintenanceDependencies,
  kind: RecordKind,
  aid: string,
): Promise<readonly PlacedFlaw[]> {
  const flaws: PlacedFlaw[] = [];
  if (kind.listed === undefined) {
    return flaws;
  }
  const { missing, foreign = missing } = kind.listed;
  for await (const page of recordStore.keys(kind, aid)) {
    for (const { id, found, stored } of page) {
      const flaw = found === 'own' ? kind.check?.(stored) : found === 'foreign' ? foreign : missing;
      flaws.push(...(flaw ? [{ ...flaw, id }] : []));
    }
  }
  return flaws;
}

async function pairFlaws(
  { recordStore }: MaintenanceDependencies,
  { name, pair }: RecordKind,
  aid: string,
): Promise<readonly PlacedFlaw[]> {
  if (pair === undefined || name.scope !== 'account') {
    return [];
  }
  const own = await recordStore.fields(name.make(aid, ''));
  const others = await recordStore.fields(pair.name.make(aid, ''));
  return [...own.difference(others)].map((id) => ({ ...pair.flaw, id }));
}

/**
 * What does not belong together in an account: directories and what they name, hashes that come in pairs, and deletions
 * of keys that are not finished.
 */
export async function listFaults(
  parts: MaintenanceDependencies,
  { aid, name }: LiveAccount,
): Promise<readonly Fault[]> {
  const kinds: readonly RecordKind[] = Object.values(parts.recordStore.kinds);
  const found = await Promise.all(
    kinds.flatMap((kind) => [listedFlaws(parts, kind, aid), pairFlaws(parts, kind, aid)]),
  );
  const purges = (await parts.keyStore.purgesLeft(aid)).map(
    (id): PlacedFlaw => ({ id, label: 'key', what: 'a deletion is not finished', state: 'unfinished' }),
  );
  const flaws = [...found.flat(), ...purges];
  return flaws.map(({ id: place, label: kind, ...flaw }) => ({ kind, account: name, place, ...flaw }));
}
