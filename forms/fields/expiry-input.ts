/** An expiry date that is typed, pasted or filled in by the browser; always shown as MM/YY. */
import { asciiDigits, digitsOf, type Edit } from './digits.ts';

/** A calendar month: `month` from 1 to 12, `year` with four digits. */
export interface Expiry {
  readonly month: number;
  readonly year: number;
}

/** Two digits of a year are always of this century. */
const CENTURY = 2000;
/** Later dates are typing mistakes. */
const YEARS_AHEAD_MAX = 50;

/** Accepted notations. */
const FORMS = [
  /^(?<month>\d{1,2})\s*\D\s*(?<year>\d{4}|\d{2})$/,
  /^(?<year>\d{4})\s*\D\s*(?<month>\d{1,2})(?:\D\d{1,2})?$/,
  /^(?<month>\d{2})(?<year>\d{4}|\d{2})$/,
];

/** Parses 01/30, 1/30, 0130, 01/2030, 012030 and 2030-01. Undefined for other texts and invalid months. */
export function parseExpiry(text: string): Expiry | undefined {
  for (const form of FORMS) {
    const { month, year } = form.exec(asciiDigits(text).trim())?.groups ?? {};
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

/** Formats the expiry field: adds the slash, and a leading zero to the month. */
export const editExpiry: Edit = ({ before, value, caret, kind }) => {
  const inserting = !kind.startsWith('delete');
  // Several characters at once were filled in, dictated or pasted; browsers report that in different ways.
  const typing = !inserting || (kind === 'insertText' && value.length - before.length <= 1);
  const date = typing ? undefined : parseExpiry(value);
  if (date !== undefined) {
    return { value: showExpiry(date), caret: 5 };
  }
  // Deleting the slash deletes the digit before it.
  const lostSlash = !inserting && value === before.replace('/', '') && caret === value.length;
  const text = asciiDigits(lostSlash ? value.slice(0, -1) : value);
  const [month, year] = partsOf(text.replace(/^\D+/, ''), inserting);
  const slash = month.length === 2 && (inserting || year !== '' || text.includes('/')) ? '/' : '';
  const split = slash === '' && year !== '' ? '/' : slash;
  const shown = digitsOf(text) === '' ? '' : `${month}${split}${yearOf(year)}`;
  return { value: shown, caret: caret >= value.length ? shown.length : Math.min(caret, shown.length) };
};
