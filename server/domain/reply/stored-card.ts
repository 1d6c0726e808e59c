/** What a stored object says of a card, whatever its members are called. */
import { cardBrand } from '../card/brand.ts';
import { cardDigits } from '../card/digits.ts';
import { type CardRole, cardRole } from '../card/names.ts';
import { findNumber } from '../card/number.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { splitExpiry } from './expiry.ts';

/** What of a card may be shown without its passphrase, where its key says so; what it has not is left out. */
export interface CardSummary {
  readonly brand?: string;
  readonly last_four?: string;
  /** Two digits. */
  readonly expiry_month?: string;
  /** Four digits. */
  readonly expiry_year?: string;
}

/** A shorter number would be shown by half or more. */
const DIGITS_MIN = 8;
export const MONTH = /^(?:0?[1-9]|1[0-2])$/;
export const YEAR = /^(?:20)?\d\d$/;

/** A text, or an integer as it is written. */
export function textOf(value: JsonValue | undefined): string | undefined {
  if (value instanceof JsonNumber) {
    return /^\d+$/.test(value.text) ? value.text : undefined;
  }
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The first member of the object, nothing deeper, that is one of this role by its name; `code` is no security code. */
export function memberAs(object: JsonObject, role: CardRole): string | undefined {
  for (const [name, value] of object) {
    const named = cardRole(name, '');
    if (named?.role === role && (named.strong || role !== 'cvv')) {
      const text = textOf(value);
      if (text !== undefined) {
        return text;
      }
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

export function expiryOf(object: JsonObject): [month: string, year: string] | undefined {
  const month = memberAs(object, 'month');
  const year = memberAs(object, 'year');
  if (month !== undefined && year !== undefined && MONTH.test(month) && YEAR.test(year)) {
    return [twoDigits(month), fourDigits(year)];
  }
  const whole = memberAs(object, 'expiry');
  const split = whole === undefined ? undefined : splitExpiry(whole, 0);
  return split && [twoDigits(split.month.value), fourDigits(split.year.value)];
}

/** Month and year of an object that has an expiry. */
function expiryMembers(object: JsonObject): Pick<CardSummary, 'expiry_month' | 'expiry_year'> {
  const [expiry_month, expiry_year] = expiryOf(object) ?? [];
  return expiry_month === undefined || expiry_year === undefined ? {} : { expiry_month, expiry_year };
}

/** The summary of an item whose number may be in the object, or was sent beside it. */
export function cardSummary(object: JsonObject, beside?: string): CardSummary {
  const number = findNumber(object, beside) ?? '';
  const digits = cardDigits(number) ?? '';
  const brand = cardBrand(number);
  return {
    ...(brand === undefined ? {} : { brand }),
    ...(digits.length < DIGITS_MIN ? {} : { last_four: digits.slice(-4) }),
    ...expiryMembers(object),
  };
}

/** The summary of an item to which members are added that are not its number. */
export function patchedSummary(before: CardSummary, changes: JsonObject): CardSummary {
  return { ...before, ...expiryMembers(changes) };
}
