import type { Account } from './common.ts';

/** Types only, a part of deps.ts: what bounds the requests that are let in. */

/** The rates that the operator allows; undefined, at once, where there is no limit. */
export interface RateService {
  /** Counts a request of an address, or refuses it with `rate_limited`. */
  readonly source: (ip: string) => Promise<void> | undefined;
  /** The same for an account that has shown who it is. */
  readonly account: (account: Pick<Account, 'aid'>) => Promise<void> | undefined;
  /** Requests that this process has refused so far. */
  readonly refused: () => number;
}

/**
 * What competes for the service, first things first: what is stored, what is read of single items (and everything else
 * that is short), listings without data, listings with it.
 */
export type WorkClass = 'write' | 'read' | 'list' | 'open';

/** Bounds the work in hand of this process, before it is begun. */
export interface Admission {
  /**
   * Takes a place for a piece of work of an account, or of a source where no account is known; refuses at once, with
   * `overloaded`, when there is none. What it gives must be called when the work is over; once more does nothing.
   */
  readonly begin: (work: WorkClass, account: string) => () => void;
  /** The same for reading a whole key, after a wait of a few seconds at the most where all places are taken. */
  readonly open: (account: string) => Promise<() => void>;
  /**
   * The same for short work, which then waits for its turn: accounts take turns, and classes of the same account.
   * What it gives must be called exactly once.
   */
  readonly enter: (work: 'write' | 'read', account: string) => (() => void) | Promise<() => void>;
  /** Runs what plans a listing and begins it, few at once, accounts in turn. */
  readonly plan: <T>(account: string, work: () => Promise<T>) => Promise<T>;
  readonly stats: () => AdmissionStats;
}

/** The work in hand, and what was refused so far. */
export interface AdmissionStats {
  /** Short works that have had their turn. */
  readonly running: number;
  readonly inHand: Readonly<Record<WorkClass, number>>;
  readonly refused: Readonly<Record<WorkClass, number>>;
}
