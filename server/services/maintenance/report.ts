import { createKeyTally, type KeyTally } from './tally.ts';

/** One thing that is not as it should be. `unfinished` is what an interruption leaves and the sweep, or time, mends. */
export interface Fault {
  readonly kind: string;
  /** Name of the account; empty where none is known. */
  readonly account: string;
  /** What names the record among its kind: `user/token`, an id, or a key's name. */
  readonly place: string;
  readonly what: string;
  readonly state: 'bad' | 'unfinished';
}

/** What all records have come to. */
export interface Verification {
  readonly checked: Readonly<Record<string, number>>;
  readonly bad: Readonly<Record<string, number>>;
  readonly unfinished: Readonly<Record<string, number>>;
  /** The first of them. */
  readonly faults: readonly Fault[];
  /** Records by kind and by the master key that they are under. */
  readonly keys: KeyTally['counts'];
  /** False where Redis forbids SCAN: what no directory names was not looked for. */
  readonly scanned: boolean;
}

const FAULTS_MAX = 1_000;
const PAUSES_MS = [20, 200, 600] as const;

/** Gathers what a verification finds. */
export interface Report {
  readonly tally: KeyTally;
  readonly count: (kind: string, records: number) => void;
  readonly add: (faults: readonly Fault[]) => void;
  readonly result: (scanned: boolean) => Verification;
}

const bump = (counts: Record<string, number>, kind: string, by: number): void => {
  counts[kind] = (counts[kind] ?? 0) + by;
};

export function createReport(seen: (records: number) => void): Report {
  const checked: Record<string, number> = {};
  const bad: Record<string, number> = {};
  const unfinished: Record<string, number> = {};
  const faults: Fault[] = [];
  const tally = createKeyTally();
  return {
    tally,
    count(kind, records) {
      bump(checked, kind, records);
      seen(records);
    },
    add(found) {
      for (const fault of found) {
        bump(fault.state === 'bad' ? bad : unfinished, fault.kind, 1);
        if (faults.length < FAULTS_MAX) {
          faults.push(fault);
        }
      }
    },
    result: (scanned) => ({ checked, bad, unfinished, faults, keys: tally.counts, scanned }),
  };
}

/** Looks again, and once more, before it believes that anything is bad: what is being changed is soon right. */
export async function settled(
  first: readonly Fault[],
  look: () => Promise<readonly Fault[]>,
  pause: (ms: number) => Promise<void>,
): Promise<readonly Fault[]> {
  let found = first;
  for (const ms of PAUSES_MS) {
    if (found.every(({ state }) => state !== 'bad')) {
      return found;
    }
    await pause(ms);
    found = await look();
  }
  return found;
}
