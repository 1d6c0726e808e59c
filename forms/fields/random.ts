/** Randomness for keys and for the keypad: of the browser's cryptographic source, never of Math.random. */

/** Fills the array with random bytes, as `crypto.getRandomValues` does. */
export type FillRandom = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

export const fillRandom: FillRandom = (bytes) => crypto.getRandomValues(bytes);

const BYTE_VALUES = 256;
const KEY_BYTES = 16;

/** A number below `limit` (at most 256), each equally likely: bytes that would favour some are thrown away. */
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

/** The items in an order of which every one is equally likely (Fisher and Yates). */
export function shuffle<Item>(items: readonly Item[], fill: FillRandom = fillRandom): Item[] {
  const left = [...items];
  const mixed: Item[] = [];
  while (left.length > 0) {
    mixed.push(...left.splice(below(left.length, fill), 1));
  }
  return mixed;
}

/** A fresh text for the header Idempotency-Key: 128 random bits in hex. */
export function newKey(fill: FillRandom = fillRandom): string {
  return Array.from(fill(new Uint8Array(KEY_BYTES)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
