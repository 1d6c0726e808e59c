import { NUMBER_NAMES } from '../card/number.ts';
import type { JsonObject } from '../json/json.ts';

const UNCHANGEABLE: ReadonlySet<string> = new Set(NUMBER_NAMES);

/**
 * The object that an update leaves: each first-level member of `changes` replaces the stored one whole, in its
 * place, or comes at the end when it is new. The four number names in `changes` are ignored. Neither argument is
 * changed; nested values are shared with them, not copied.
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
 * Restores the four number members of `before` in `after`, and removes those that `before` did not
 * have: an item's number, which its token stands for, is changed by nothing. Changes and returns `after`.
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
