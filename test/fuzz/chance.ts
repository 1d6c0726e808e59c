/** Chance that is the same again for the same seed and case, drawn as often as a case needs. */
import { chanceOf } from '../durability/chance.ts';

export interface Chance {
  /** A whole number from 0 up to, not including, `below`. */
  readonly int: (below: number) => number;
  /** True that often, from 0 to 1. */
  readonly hits: (share: number) => boolean;
  readonly pick: <T>(things: readonly [T, ...T[]]) => T;
  readonly bytes: (length: number) => Uint8Array<ArrayBuffer>;
}

/** The chance of one case: the same for the same seed, suite and number, whichever cases ran before. */
export function chanceOfCase(seed: number, suite: string, number: number): Chance {
  let drawn = 0;
  const next = (): number => {
    drawn += 1;
    return chanceOf(seed, `${suite} ${number} ${drawn}`);
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    int,
    hits: (share) => next() < share,
    pick: <T>(things: readonly [T, ...T[]]): T => things[int(things.length)] ?? things[0],
    bytes: (length) => Uint8Array.from({ length }, () => int(256)),
  };
}
