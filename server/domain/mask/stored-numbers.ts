/** Which numbers of an item are looked for in a reply. */
import { onlyDigits } from '../card/digits.ts';
import { isMaskedNumberName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';

/** Shorter ones may be anything else in a reply. */
const DIGITS_MIN = 6;

/** The digits of all that stands under the name of a number, at any depth. Numbers of cards are found by their check digit besides. */
export function storedNumbers(object: JsonObject): readonly string[] {
  const found = new Set<string>();
  const visit = (value: JsonValue, isNumber: boolean): void => {
    if (value instanceof Map) {
      for (const [name, member] of value) {
        visit(member, isNumber || isMaskedNumberName(name));
      }
    } else if (Array.isArray(value)) {
      for (const member of value) {
        visit(member, isNumber);
      }
    } else if (isNumber && (typeof value === 'string' || value instanceof JsonNumber)) {
      const digits = onlyDigits(typeof value === 'string' ? value : value.text);
      if (digits.length >= DIGITS_MIN) {
        found.add(digits);
      }
    }
  };
  visit(object, false);
  return [...found];
}
