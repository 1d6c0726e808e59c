/** An expiry date that is typed, pasted or filled in by the browser; always shown as MM/YY. */
import { asciiDigits } from '../../server/domain/card/digits.ts';
import { digitsOf, type Edit, isKey } from './digits.ts';

/** A calendar month: `month` from 1 to 12, `year` with four digits. */
export interface Expiry {
  readonly month: number;
  readonly year: number;
}

/** Two digits of a year are always of this century. */
const CENTURY = 2000;
/** Later dates are typing mistakes. */
const YEARS_AHEAD_MAX = 50;

/** Languages of the names of months, in addition to that of the browser. */
const LANGUAGES = ['en', 'de', 'fr', 'es', 'ar'];
/** The least letters of a name of a month. */
const NAME = /\p{L}{3,}/gu;
/** A time after a date. */
const TIME = /(?<=\d)[T ]\s*\d\d?:\d\d.*$/;
/** Up to three numbers, with any label before them, and no Latin letters between and after them. */
const NUMBERS =
  /^(?:\D*[^\p{Script=Latin}\d])?(\d+)(?:[^\p{Script=Latin}\d]{1,6}(\d+))?(?:[^\p{Script=Latin}\d]{1,6}(\d+))?[^\p{Script=Latin}\d]*$/u;
/**
 * Accepted orders of the numbers. A day, which some programs add, must not be taken for the month: it is over 12, or
 * equal to the month.
 */
const ORDERS = [
  /^(?<month>\d{1,2})\/(?<year>(?:20)?\d\d)$/,
  /^(?<month>\d\d)(?<year>(?:20)?\d\d)$/,
  /^(?<year>20\d\d)\/(?<month>\d{1,2})(?:\/\d{1,2})?$/,
  /^(?<year>20\d\d)(?<month>\d\d)(?:\d\d)?$/,
  /^(?<month>\d{1,2})\/(?:1[3-9]|2\d|3[01]|\k<month>)\/(?<year>20\d\d)$/,
  /^(?:1[3-9]|2\d|3[01])\/(?<month>\d{1,2})\/(?<year>20\d\d)$/,
];

/** Longer texts hold more than a date. */
const TEXT_MAX = 64;
/** The beginning of a date that is still typed. */
const START = /^[\d\s/.-]{0,3}$/;

/** A text for comparisons, without accents and capitals. */
function folded(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

/** The month with this name or abbreviation in any of the languages, from 1; 0 for other words. */
function monthNamed(word: string): number {
  for (const language of [...LANGUAGES, undefined]) {
    const { format } = new Intl.DateTimeFormat(language, { month: 'long' });
    for (let month = 0; month < 12; month++) {
      if (folded(format(new Date(CENTURY, month))).startsWith(folded(word))) {
        return month + 1;
      }
    }
  }
  return 0;
}

/** The text with names of months as numbers. */
function numbered(text: string): string {
  return text.replace(NAME, (word) => ` ${monthNamed(word) || word} `).replace(' de ', ' ');
}

/**
 * Parses a date in the notations of people and of programs that fill fields: 01/30, 1/30, 0130, 01/2030, 012030,
 * 2030-01, 203001, 2030-01-31, 31.01.2030, January 2030, and others with a label before them. Undefined for other
 * texts, invalid months, and years of other centuries.
 */
export function parseExpiry(text: string): Expiry | undefined {
  const plain = asciiDigits(text.slice(0, TEXT_MAX + 1)).replace(TIME, '');
  if (plain.length > TEXT_MAX) {
    return undefined;
  }
  const [, ...numbers] = NUMBERS.exec(numbered(plain)) ?? [];
  const written = numbers.filter(Boolean).join('/');
  for (const order of ORDERS) {
    const { month, year } = order.exec(written)?.groups ?? {};
    if (month !== undefined && year !== undefined && Number(month) >= 1 && Number(month) <= 12) {
      return { month: Number(month), year: year.length === 2 ? CENTURY + Number(year) : Number(year) };
    }
  }
  return undefined;
}

/** The last two digits of a number. */
function two(value: number): string {
  return String(value % 100).padStart(2, '0');
}

/** A date as MM/YY. */
export function showExpiry({ month, year }: Expiry): string {
  return `${two(month)}/${two(year)}`;
}

/** The members that a date is posted as; none if the text is not a date. */
export function expiryParts(text: string): Readonly<Record<string, string>> {
  const date = parseExpiry(text);
  return date === undefined
    ? {}
    : {
        expiry: showExpiry(date),
        expiry_month: two(date.month),
        expiry_year: String(date.year),
        expiry_year_short: two(date.year),
      };
}

/** The validity of a card in the month of `now`: cards are valid until the end of their month. */
export function expiryState({ month, year }: Expiry, now: Date): 'good' | 'past' | 'far' {
  const months = (year - now.getFullYear()) * 12 + month - (now.getMonth() + 1);
  if (months < 0) {
    return 'past';
  }
  return months > YEARS_AHEAD_MAX * 12 ? 'far' : 'good';
}

/** A year while it is typed; the first two of four digits are removed when it is complete. */
function yearOf(digits: string): string {
  const year = digits.slice(0, digits.startsWith('20') ? 4 : 2);
  return year.length === 4 ? year.slice(2) : year;
}

/** Splits the typed text into month and year, at the separator or after a complete month. */
function partsOf(text: string, inserting: boolean): [string, string] {
  const [head = '', ...rest] = text.split(/\D+/);
  const digits = head + rest.join('');
  if (rest.length > 0 && head.length <= 2) {
    return [inserting && /^[1-9]$/.test(head) ? `0${head}` : head, rest.join('')];
  }
  if (inserting && (/^[2-9]/.test(digits) || Number(digits.slice(0, 2)) > 12)) {
    return [`0${digits.charAt(0)}`, digits.slice(1)];
  }
  return [digits.slice(0, 2), digits.slice(2)];
}

/** The date in a pasted text as MM/YY. */
export function pickExpiry(text: string): string | undefined {
  const date = parseExpiry(text);
  return date && showExpiry(date);
}

/**
 * Formats the expiry field: adds the slash, and a leading zero to the month. A text that came at once is understood
 * whole, or stays as it is, so that the check rejects it.
 */
export const editExpiry: Edit = (typed) => {
  const { before, value, caret, kind } = typed;
  if (!isKey(typed)) {
    const date = pickExpiry(value);
    if (date !== undefined) {
      return { value: date, caret: date.length };
    }
    if (!START.test(asciiDigits(value))) {
      return { value, caret };
    }
  }
  const inserting = !kind.startsWith('delete');
  // Deleting the slash deletes the digit before it.
  const lostSlash = !inserting && value === before.replace('/', '') && caret === value.length;
  const text = asciiDigits(lostSlash ? value.slice(0, -1) : value);
  const [month, year] = partsOf(text.replace(/^\D+/, ''), inserting);
  const slash = month.length === 2 && (inserting || year !== '' || text.includes('/')) ? '/' : '';
  const split = slash === '' && year !== '' ? '/' : slash;
  const shown = digitsOf(text) === '' ? '' : `${month}${split}${yearOf(year)}`;
  return { value: shown, caret: caret >= value.length ? shown.length : Math.min(caret, shown.length) };
};
