/** Compares keys with their recoveries: the record of a key says which it has, and neither is of use without the other. */
import type { RecordKind } from '../../redis/records/kind.ts';
import type { Fault } from '../report.ts';
import { type LiveAccount, type MaintenanceDependencies, openRecords } from '../walk.ts';

/** Stands for a record that does not open, which is reported as such. */
const DAMAGED = 'damaged';

/** What the records of a kind say of recoveries, by the name of the key; nothing of those that have none. */
async function statesOf(
  parts: MaintenanceDependencies,
  kind: RecordKind,
  aid: string,
): Promise<ReadonlyMap<string, string>> {
  const states = new Map<string, string>();
  for await (const page of parts.recordStore.pages(kind, aid)) {
    const opened = await openRecords(parts, page);
    for (const [i, { id }] of page.entries()) {
      const facts = opened[i]?.facts;
      if (facts === undefined) {
        states.set(id, DAMAGED);
      } else if (facts.recovery !== undefined) {
        states.set(id, `${facts.kid} ${facts.gen} ${facts.recovery}`);
      }
    }
  }
  return states;
}

/** Keys of an account whose recovery is missing, another one, or of another generation. */
export async function recoveryFaults(
  parts: MaintenanceDependencies,
  { aid, name }: LiveAccount,
): Promise<readonly Fault[]> {
  const { keyRecord, recovery } = parts.recordStore.kinds;
  const known = await statesOf(parts, keyRecord, aid);
  const stored = await statesOf(parts, recovery, aid);
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
