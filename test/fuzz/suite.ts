import type { Chance } from './chance.ts';

/** One kind of cases. A case that finds a fault throws; its message says what was wrong, for a person. */
export interface Suite {
  readonly name: string;
  /** How many of a thousand cases are of this kind. */
  readonly share: number;
  /** How many cases may be under way at once. */
  readonly atOnce: number;
  readonly open: () => Promise<OpenSuite>;
}

export interface OpenSuite {
  readonly run: (chance: Chance, number: number) => Promise<void> | void;
  /** What cannot be told of one case alone; throws when it is not as it should be. */
  readonly finish: () => Promise<void>;
}

/** A fault that a case found. */
export class Fault extends Error {}

/** Throws a fault unless a condition holds. */
export function hold(condition: boolean, otherwise: () => string): asserts condition {
  if (!condition) {
    throw new Fault(otherwise());
  }
}
