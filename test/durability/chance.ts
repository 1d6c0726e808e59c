/** Chance that is the same again for the same seed. */

/** Numbers from 0 up to 1, each drawn from a seed and a name alone, however many others are drawn and when. */
export function chanceOf(seed: number, name: string): number {
  let state = seed ^ 0x9e3779b9;
  for (const character of name) {
    state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  // The finish of MurmurHash3, so that neighbouring names have nothing in common.
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return ((state ^ (state >>> 16)) >>> 0) / 2 ** 32;
}

/** One of several things by their weights. */
export function pick<T>(chance: number, weighted: readonly (readonly [weight: number, thing: T])[]): T {
  let left = chance * weighted.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, thing] of weighted) {
    left -= weight;
    if (left < 0) {
      return thing;
    }
  }
  throw new RangeError('nothing to pick from');
}
