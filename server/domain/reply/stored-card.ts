/** The card in a stored object, under any names of its members. */
import { cardBrand } from '../card/brand.ts';
import { cardDigits } from '../card/digits.ts';
import { type CardRole, cardRole } from '../card/names.ts';
import { findNumber } from '../card/number.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { MONTH, readExpiry, YEAR } from './expiry.ts';

/** The part of a card that may be shown without its passphrase, if its key allows it; missing members are left out. */
export interface CardSummary {
  readonly brand?: string;
  readonly last_four?: string;
  /** Two digits. */
  readonly expiry_month?: string;
  /** Four digits. */
  readonly expiry_year?: string;
}

/** The last four digits of a shorter number would be half of it or more. */
const DIGITS_MIN = 8;

/** A text, or an integer as its literal. */
export function textOf(value: JsonValue | undefined): string | undefined {
  if (value instanceof JsonNumber) {
    return /^\d+$/.test(value.text) ? value.text : undefined;
  }
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The first member of the object itself whose name gives it this role; `code` alone is no verification code. */
export function memberAs(object: JsonObject, role: CardRole): string | undefined {
  for (const [name, value] of object) {
    const named = cardRole(name);
    const text = named?.role === role && (named.strong || role !== 'cvv') ? textOf(value) : undefined;
    if (text !== undefined) {
      return text;
    }
  }
  return undefined;
}

export function twoDigits(month: string): string {
  return month.padStart(2, '0');
}
export function fourDigits(year: string): string {
  return year.length === 2 ? `20${year}` : year;
}

/** The expiry of an object, from two members or from one. */
export function expiryOf(object: JsonObject): [month: string, year: string] | undefined {
  const month = memberAs(object, 'month');
  const year = memberAs(object, 'year');
  if (month !== undefined && year !== undefined && MONTH.test(month) && YEAR.test(year)) {
    return [twoDigits(month), fourDigits(year)];
  }
  const whole = memberAs(object, 'expiry') ?? '';
  const split = readExpiry(whole);
  return split && [twoDigits(split.month.value), fourDigits(split.year.value)];
}

/** The summary of an item whose number is in the object, or was sent in the query. */
export function cardSummary(object: JsonObject, query?: string): CardSummary {
  const number = findNumber(object, query) ?? '';
  const digits = cardDigits(number) ?? '';
  const brand = cardBrand(number);
  const summary: CardSummary = {
    ...(brand === undefined ? {} : { brand }),
    ...(digits.length < DIGITS_MIN ? {} : { last_four: digits.slice(-4) }),
  };
  return patchedSummary(summary, object);
}

/** The summary of an item after members other than its number are added. */
export function patchedSummary(before: CardSummary, changes: JsonObject): CardSummary {
  const expiry = expiryOf(changes);
  return expiry === undefined ? before : { ...before, expiry_month: expiry[0], expiry_year: expiry[1] };
}
