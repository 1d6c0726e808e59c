/** Random values for keys and for the keypad, from the browser's cryptographic source (Web Crypto), never from Math.random. */

/** Fills the array with random bytes, as `crypto.getRandomValues` does. */
export type FillRandom = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

/** The cryptographic source of the browser. */
export const fillFromBrowser: FillRandom = (bytes) => crypto.getRandomValues(bytes);

const BYTE_VALUES = 256;
/** 128 bits: collisions are negligible. */
const KEY_BYTES = 16;

/** A uniform number below `limit` (at most 256): bytes that would bias it are rejected. */
function below(limit: number, fill: FillRandom): number {
  const fair = BYTE_VALUES - (BYTE_VALUES % limit);
  const bytes = new Uint8Array(1);
  for (;;) {
    const [value = 0] = fill(bytes);
    if (value < fair) {
      return value % limit;
    }
  }
}

/** The items in a uniformly random order (Fisher and Yates). */
export function shuffle<Item>(items: readonly Item[], fill: FillRandom = fillFromBrowser): Item[] {
  const left = [...items];
  const mixed: Item[] = [];
  while (left.length > 0) {
    mixed.push(...left.splice(below(left.length, fill), 1));
  }
  return mixed;
}

/** 128 random bits in hex: an idempotency key, or an unguessable name. */
export function newKey(fill: FillRandom = fillFromBrowser): string {
  return Array.from(fill(new Uint8Array(KEY_BYTES)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
