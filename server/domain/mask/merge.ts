import { NUMBER_NAMES } from '../card/number.ts';
import type { JsonObject } from '../json/json.ts';

/** Members that the token was derived from. */
const UNCHANGEABLE: ReadonlySet<string> = new Set(NUMBER_NAMES);

/**
 * The object after an update: each first-level member of `changes` replaces the stored one completely, in its
 * position, or is added at the end. The four number names in `changes` are ignored. Neither argument is changed;
 * nested values are shared, not copied.
 */
export function mergeFirstLevel(stored: JsonObject, changes: JsonObject): JsonObject {
  const merged: JsonObject = new Map(stored);
  for (const [name, value] of changes) {
    if (!UNCHANGEABLE.has(name)) {
      merged.set(name, value);
    }
  }
  return merged;
}

/**
 * Restores the four number members of `before` in `after`, and removes those that `before` does not have: nothing may
 * change the number that the token was derived from. Changes and returns `after`.
 */
export function keepNumbers(before: JsonObject, after: JsonObject): JsonObject {
  for (const name of NUMBER_NAMES) {
    const number = before.get(name);
    if (number === undefined) {
      after.delete(name);
    } else {
      after.set(name, number);
    }
  }
  return after;
}
