/** A card number while it is typed or pasted: groups as on the card, and no more digits than it can have. */
import { passesLuhn } from '../server/domain/luhn.ts';
import { brandOf, gapsOf, lengthsOf } from './brand.ts';
import { asciiDigits, type Edit, editDigits, onlyDigits } from './digits.ts';

/** A month and a year, or a year and a month, as they follow a number that was copied together with its date. */
const DATE = /(?<!\d)(?:\d{1,2}\s*[/.-]\s*(?:\d{4}|\d{2})|\d{4}-\d{2})(?!\d|[ -]\d{4}).*$/s;

/** Networks whose numbers need not pass the check: UnionPay issued some without. */
const UNCHECKED = 'unionpay';

/** The digits in the groups that their network prints them in: 4-4-4-4, or 4-6-5. */
export const groupNumber = (digits: string): string => {
  const gaps = gapsOf(brandOf(digits));
  return [...digits].map((digit, at) => (gaps.includes(at) ? ` ${digit}` : digit)).join('');
};

/** Whether the digits are a whole card number: a length that its network has, and the check digit. */
export const isCardNumber = (digits: string): boolean => {
  const brand = brandOf(digits);
  return lengthsOf(brand).includes(digits.length) && (brand === UNCHECKED || passesLuhn(digits));
};

/** Edits the number field: any separators, digits of any script, the groups of the network. */
export const editNumber: Edit = (typed) =>
  editDigits(typed, groupNumber, (digits) => Math.max(...lengthsOf(brandOf(digits))));

/**
 * The card number in a text that was pasted, when there is a whole one: "4111-1111…", or a number with the date and
 * the code behind it. Undefined otherwise; then the text counts as typed.
 */
export const pickNumber = (pasted: string): string | undefined => {
  const text = asciiDigits(pasted);
  const whole = onlyDigits(text.replace(DATE, ''));
  if (isCardNumber(whole)) {
    return whole;
  }
  let digits = '';
  for (const [part] of text.matchAll(/\d+/g)) {
    digits += part;
    if (isCardNumber(digits)) {
      return digits;
    }
  }
  return undefined;
};
