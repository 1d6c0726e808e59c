import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { cardBrand } from './brand.ts';
import { cardDigits, hasDigit } from './digits.ts';
import { passesLuhn } from './luhn.ts';

/** The members that may contain an item's number, in the order in which they are searched. */
export const NUMBER_NAMES = ['card_number', 'account_number', 'n', 'number'] as const;

/** The lengths of card numbers (ISO/IEC 7812-1); the lower bound is the shortest that is issued. */
const CARD_DIGITS_MIN = 12;
const CARD_DIGITS_MAX = 19;

/** The text of a string or integer that can be used as a number; for an integer its literal. */
export function numberText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') {
    return hasDigit(value) ? value : undefined;
  }
  if (!(value instanceof JsonNumber)) {
    return undefined;
  }
  const { text } = value;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x2e || (unit | 0x20) === 0x65) {
      return undefined;
    }
  }
  return text;
}

/**
 * The number that an item's token is derived from: the first of {@link NUMBER_NAMES} in the body that is a string or
 * an integer with at least one digit, otherwise `query`, the value from the query, under the same condition. The text
 * is returned unchanged, including spaces. Undefined if the request has no number.
 */
export function findNumber(body: JsonObject, query?: string): string | undefined {
  for (const name of NUMBER_NAMES) {
    const text = numberText(body.get(name));
    if (text !== undefined) {
      return text;
    }
  }
  return numberText(query);
}

/** The result of a check of a card number. */
export interface NumberCheck {
  readonly valid: boolean;
  readonly brand?: string;
}

/**
 * Checks a card number as people write it; spaces and dashes are ignored. `valid` is the Luhn result and says nothing
 * about length or brand. A text with other characters, or with fewer than two digits, is invalid. `brand` is set if
 * the leading digits are known, also for an invalid number, so that the brand of a mistyped card can be shown.
 */
export function checkNumber(number: string): NumberCheck {
  const digits = cardDigits(number);
  if (digits === undefined) {
    return { valid: false };
  }
  const valid = digits.length >= 2 && passesLuhn(digits);
  const brand = cardBrand(digits);
  return brand === undefined ? { valid } : { valid, brand };
}

/**
 * The bank identification number that may be shown of a card: the first eight digits of 16 or more, otherwise the
 * first six (truncation that PCI DSS 3.4.1 allows together with the last four). Spaces and dashes are ignored.
 * Undefined if the text cannot be a card number: other characters, or not 12 to 19 digits.
 */
export function binOf(number: string): string | undefined {
  const digits = cardDigits(number);
  if (digits === undefined || digits.length < CARD_DIGITS_MIN || digits.length > CARD_DIGITS_MAX) {
    return undefined;
  }
  return digits.slice(0, digits.length >= 16 ? 8 : 6);
}

/**
 * Whether a text looks like a card number that was sent in the wrong place. Numbers that start with 9 do not count:
 * tokens of the algorithm `luhn` start with it, and almost no cards.
 */
export function looksLikeCardNumber(text: string): boolean {
  return !text.startsWith('9') && binOf(text) !== undefined && checkNumber(text).valid;
}
