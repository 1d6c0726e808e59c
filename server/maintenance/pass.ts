import type { Report } from './report.ts';

/** A record that no key of the ring opens in its place. */
export interface LostRecord {
  readonly kind: string;
  readonly account: string;
  readonly place: string;
}

const LOST_MAX = 100;

/** One pass over all records. */
export interface Pass {
  reencrypted: number;
  /** Changed by another writer in between: the next pass finds them. */
  missed: number;
  lostTotal: number;
  readonly keys: Report['keys'];
  readonly lost: LostRecord[];
  readonly seen: (records: number) => void;
}

/** A pass that has found nothing yet. */
export function newPass(seen: Pass['seen']): Pass {
  return { reencrypted: 0, missed: 0, lostTotal: 0, keys: {}, lost: [], seen };
}

/** Reports a record that does not open. */
export function lose(pass: Pass, record: LostRecord): void {
  pass.lostTotal += 1;
  if (pass.lost.length < LOST_MAX) {
    pass.lost.push(record);
  }
}
