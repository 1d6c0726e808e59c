/** A card number that is typed or pasted: groups as on the card, and no more digits than its network allows. */
import { passesLuhn } from '../../server/domain/card/luhn.ts';
import { brandOf, gapsOf, lengthsOf } from './brand.ts';
import { asciiDigits, digitsOf, type Edit, editDigits } from './digits.ts';

/** An expiry date after a number that was copied together with it, with everything after it. */
const DATE = /(?<!\d)(?:\d{1,2}\s*[/.-]\s*(?:\d{4}|\d{2})|\d{4}-\d{2})(?!\d|[ -]\d{4}).*$/s;

/** The most runs of digits of a text that are searched. */
const RUNS_MAX = 50;

/** A network whose numbers need not pass Luhn: UnionPay issued some that do not. */
const UNCHECKED = 'unionpay';

/** The digits in the groups of their network: 4-4-4-4, or 4-6-5. */
export function groupNumber(digits: string): string {
  const gaps = gapsOf(brandOf(digits));
  return [...digits].map((digit, at) => (gaps.includes(at) ? ` ${digit}` : digit)).join('');
}

/** True for a complete card number: a valid length of its network, and a valid check digit. */
export function isCardNumber(digits: string): boolean {
  const brand = brandOf(digits);
  return lengthsOf(brand).includes(digits.length) && (brand === UNCHECKED || passesLuhn(digits));
}

/** Formats the number field: any separators, digits of any script, the groups of the network. */
export const editNumber: Edit = (typed) =>
  editDigits(typed, groupNumber, (digits) => Math.max(...lengthsOf(brandOf(digits))));

/**
 * The card number in a pasted text, if it contains a complete one: "4111-1111…", a number followed by date and
 * verification code, or with other text before it. Undefined otherwise; the text then counts as typed.
 */
export function pickNumber(pasted: string): string | undefined {
  const text = asciiDigits(pasted);
  const whole = digitsOf(text.replace(DATE, ''));
  const runs = (text.match(/\d+/g) ?? []).slice(0, RUNS_MAX);
  const joined = runs.flatMap((_, start) =>
    runs.slice(start).map((__, end, after) => after.slice(0, end + 1).join('')),
  );
  // Digits that pass the check accidentally mostly belong to no network.
  return (
    [whole, ...joined].find((digits) => brandOf(digits) !== '' && isCardNumber(digits)) ??
    (isCardNumber(whole) ? whole : undefined)
  );
}
