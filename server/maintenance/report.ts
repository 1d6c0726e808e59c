import { pause } from '../core/concurrency.ts';

type Counts = Record<string, number>;

/** Records by label and, of each label, by the master key that they are sealed under. */
export type KeyCounts = Readonly<Record<string, Readonly<Counts>>>;

/** One deviation. `unfinished` is the result of an interruption, which the sweep or time completes. */
export interface Fault {
  readonly kind: string;
  /** Name of the account; empty where none is known. */
  readonly account: string;
  /** The name of the record among its kind: `user/token`, an id, or a key's name. */
  readonly place: string;
  readonly what: string;
  readonly state: 'bad' | 'unfinished';
}

/** The findings of a verification: numbers of records, of faults, and of records under each master key. */
interface Findings {
  readonly checked: Counts;
  readonly bad: Counts;
  readonly unfinished: Counts;
  /** The first of them. */
  readonly faults: Fault[];
  readonly keys: Record<string, Counts>;
}

export interface Report extends Findings {
  /** Called with each number of records that were verified. */
  readonly seen: (records: number) => void;
}

/** A complete report. `scanned` is false if Redis forbids SCAN, so that keys of no directory were not searched for. */
export interface Verification extends Findings {
  readonly scanned: boolean;
}

/** The name of every key that is not in the ring. */
const UNKNOWN_KEY = '?';
const FAULTS_MAX = 1_000;
const PAUSES_MS = [20, 200, 600] as const;

function add(counts: Counts, name: string, more: number): void {
  counts[name] = (counts[name] ?? 0) + more;
}

/** Counts records under a master key; `keyId` undefined: under none of the ring. */
export function countKey(counts: Report['keys'], kind: string, keyId = UNKNOWN_KEY, records = 1): void {
  const ofKind = counts[kind] ?? {};
  counts[kind] = ofKind;
  add(ofKind, keyId, records);
}

export function addKeys(counts: Report['keys'], more: KeyCounts): void {
  for (const [kind, ofKind] of Object.entries(more)) {
    for (const [keyId, records] of Object.entries(ofKind)) {
      countKey(counts, kind, keyId, records);
    }
  }
}

export function addChecked(report: Report, kind: string, records: number): void {
  add(report.checked, kind, records);
  report.seen(records);
}

/** Reports faults. Bad ones are checked up to three more times within a second, since records may be changing. */
export async function addFaults(
  report: Report,
  check: () => Promise<readonly Fault[]>,
  first?: readonly Fault[],
): Promise<void> {
  let found = first ?? (await check());
  for (const ms of PAUSES_MS) {
    if (found.every(({ state }) => state !== 'bad')) {
      break;
    }
    await pause(ms);
    found = await check();
  }
  for (const fault of found) {
    add(report[fault.state], fault.kind, 1);
    if (report.faults.length < FAULTS_MAX) {
      report.faults.push(fault);
    }
  }
}
