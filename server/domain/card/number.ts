import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { cardBrand } from './brand.ts';
import { cardDigits, hasDigit } from './digits.ts';
import { passesLuhn } from './luhn.ts';

/** The members that may contain an item's number, in order of precedence. */
export const NUMBER_NAMES = ['card_number', 'account_number', 'n', 'number'] as const;

/** Lengths of card numbers (ISO/IEC 7812-1); the lower bound is the shortest that is issued. */
const CARD_DIGITS_MIN = 12;
const CARD_DIGITS_MAX = 19;

/** A text with a digit, or an integer as its literal; undefined for any other value. */
export function numberText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') {
    return hasDigit(value) ? value : undefined;
  }
  return value instanceof JsonNumber && !/[.e]/i.test(value.text) ? value.text : undefined;
}

/**
 * The number that an item's token is derived from, unchanged: the first of {@link NUMBER_NAMES} with a string that has a
 * digit, or an integer; otherwise `query` under the same condition.
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

/** A decimal number with a point or comma, or an exponent: `4.11E+15`, `411111111111111e1`, `4111111111111111.0`. */
const FLOATING = /^\s*[+-]?(?:\d+[.,]\d*|[.,]\d+|\d+(?=e))(?:e[+-]?\d+)?\s*$/i;
/** The same with groups of thousands: `4,111,111,111,111,111.00`. */
const GROUPED = /^\s*[+-]?\d{1,3}([.,'’\s])\d{3}(?:\1\d{3})*(?!\1)[.,]\d*\s*$/;

/** True for a number in floating notation: the program that wrote it may have rounded it. */
export function isFloating(text: string): boolean {
  return FLOATING.test(text) || GROUPED.test(text);
}

/** All numbers among an object's own members, unchanged; see {@link findNumber}. */
export function findNumbers(body: JsonObject): string[] {
  return NUMBER_NAMES.flatMap((name) => numberText(body.get(name)) ?? []);
}

export interface NumberCheck {
  readonly valid: boolean;
  readonly brand?: string;
}

/**
 * Checks a card number; spaces and dashes are ignored. `valid` is the Luhn result, false for other characters and under
 * two digits. `brand` is also set for invalid numbers, so that the brand of a mistyped card can be shown.
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
 * The bank identification number that may be shown of a card: the first eight digits of 16 or more, otherwise the first
 * six (truncation that PCI DSS 3.4.1 allows together with the last four). Undefined for a text that is not 12 to 19
 * digits, with spaces and dashes.
 */
export function binOf(number: string): string | undefined {
  const digits = cardDigits(number);
  if (digits === undefined || digits.length < CARD_DIGITS_MIN || digits.length > CARD_DIGITS_MAX) {
    return undefined;
  }
  return digits.slice(0, digits.length >= 16 ? 8 : 6);
}

/**
 * Detects card numbers sent in the wrong place. Numbers that start with 9 do not count: tokens of the algorithm `luhn`
 * start with it, and almost no cards.
 */
export function looksLikeCardNumber(text: string): boolean {
  return !text.startsWith('9') && binOf(text) !== undefined && checkNumber(text).valid;
}

/**
 * The object after an update: each first-level member of `changes` except the number names replaces the stored one in
 * its position, or is added at the end. Nested values are shared, not copied.
 */
export function mergeFirstLevel(stored: JsonObject, changes: JsonObject): JsonObject {
  const merged: JsonObject = new Map(stored);
  for (const [name, value] of changes) {
    merged.set(name, value);
  }
  return keepNumbers(stored, merged);
}

/**
 * Restores the number members of `before` in `after`, and removes those that `before` does not have: the number that the
 * token was derived from never changes. Changes and returns `after`.
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
