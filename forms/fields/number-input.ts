/** A card number while it is typed or pasted: groups as on the card, and no more digits than it can have. */
import { passesLuhn } from '../../server/domain/card/luhn.ts';
import { brandOf, gapsOf, lengthsOf } from './brand.ts';
import { asciiDigits, type Edit, editDigits, onlyDigits } from './digits.ts';

/** A month and a year, or a year and a month, as they follow a number that was copied together with its date. */
const DATE = /(?<!\d)(?:\d{1,2}\s*[/.-]\s*(?:\d{4}|\d{2})|\d{4}-\d{2})(?!\d|[ -]\d{4}).*$/s;

/** How many runs of digits of a text are looked at. */
const RUNS_MAX = 50;

/** Networks whose numbers need not pass the check: UnionPay issued some without. */
const UNCHECKED = 'unionpay';

/** The digits in the groups that their network prints them in: 4-4-4-4, or 4-6-5. */
export function groupNumber(digits: string): string {
  const gaps = gapsOf(brandOf(digits));
  return [...digits].map((digit, at) => (gaps.includes(at) ? ` ${digit}` : digit)).join('');
}

/** Whether the digits are a whole card number: a length that its network has, and the check digit. */
export function isCardNumber(digits: string): boolean {
  const brand = brandOf(digits);
  return lengthsOf(brand).includes(digits.length) && (brand === UNCHECKED || passesLuhn(digits));
}

/** Edits the number field: any separators, digits of any script, the groups of the network. */
export const editNumber: Edit = (typed) =>
  editDigits(typed, groupNumber, (digits) => Math.max(...lengthsOf(brandOf(digits))));

/**
 * The card number in a text that was pasted, when there is a whole one: "4111-1111…", a number with the date and the
 * code behind it, or with something before it. Undefined otherwise; then the text counts as typed.
 */
export function pickNumber(pasted: string): string | undefined {
  const text = asciiDigits(pasted);
  const whole = onlyDigits(text.replace(DATE, ''));
  const runs = (text.match(/\d+/g) ?? []).slice(0, RUNS_MAX);
  const joined = runs.flatMap((_, start) =>
    runs.slice(start).map((__, end, after) => after.slice(0, end + 1).join('')),
  );
  // What only by chance passes the check is mostly of no network.
  return (
    [whole, ...joined].find((digits) => brandOf(digits) !== '' && isCardNumber(digits)) ??
    (isCardNumber(whole) ? whole : undefined)
  );
}
