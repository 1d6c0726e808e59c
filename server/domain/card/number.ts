import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { cardBrand } from './brand.ts';
import { cardDigits, hasDigit } from './digits.ts';
import { passesLuhn } from './luhn.ts';

/** The members that may contain an item's number, in the order in which they are looked at. */
export const NUMBER_NAMES = ['card_number', 'account_number', 'n', 'number'] as const;

/** The digit counts that card numbers can have (ISO/IEC 7812-1), the lower bound as issued in practice. */
const CARD_DIGITS_MIN = 12;
const CARD_DIGITS_MAX = 19;

/** The text of a string or integer member that can serve as a number; an integer is its literal. */
function numberText(value: JsonValue | undefined): string | undefined {
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
 * The number that an item's token is made from: the first of {@link NUMBER_NAMES} in the body that contains a string
 * or an integer with at least one digit, else `query`, the one value given in the query, under the same
 * condition. The text is exactly as given, spaces included. Undefined: the request has no number.
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
 * Checks a card number as people write it; spaces and dashes are ignored. `valid` is the Luhn result and says
 * nothing of length or brand; a text with other characters, or of fewer than two digits, is not valid. `brand`
 * comes with every number whose leading digits are known, valid or not, so that a mistyped card is still named.
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
 * The bank identification number that may be shown of a card: the first eight digits when there are 16 or more,
 * else the first six (the truncation that PCI DSS 3.4 allows together with the last four). Spaces and dashes are
 * ignored. Undefined for what cannot be a card number: other characters, under 12 or over 19 digits.
 */
export function binOf(number: string): string | undefined {
  const digits = cardDigits(number);
  if (digits === undefined || digits.length < CARD_DIGITS_MIN || digits.length > CARD_DIGITS_MAX) {
    return undefined;
  }
  return digits.slice(0, digits.length >= 16 ? 8 : 6);
}

/**
 * Whether a text looks like a card number that was sent in the wrong place. Numbers that begin
 * with 9 are omitted: tokens of the algorithm `luhn` do, and almost no cards.
 */
export function looksLikeCardNumber(text: string): boolean {
  return !text.startsWith('9') && binOf(text) !== undefined && checkNumber(text).valid;
}
