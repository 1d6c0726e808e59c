import { randomBytes } from 'node:crypto';

/** Milliseconds since 1970. Services take their clock as a parameter, so that a test can set it. */
export type Clock = () => number;

export const DAY_MS = 86_400_000;

/** At least 128 random bits in URL-safe characters. */
export type RandomId = () => string;

const ID_CHARACTERS = 22;
const IDS_AT_ONCE = 512;

/** Makes random ids from one call of the system's generator for 512 of them. */
export function createRandomId(): RandomId {
  let drawn = '';
  let at = 0;
  return () => {
    if (at === drawn.length) {
      drawn = randomBytes((IDS_AT_ONCE * ID_CHARACTERS * 3) / 4).toString('base64url');
      at = 0;
    }
    at += ID_CHARACTERS;
    return drawn.slice(at - ID_CHARACTERS, at);
  };
}

/** A random number from 0 up to, not including, 1: it spreads events in time. */
export type RandomFraction = () => number;
