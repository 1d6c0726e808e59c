/** A card number that is typed or pasted: groups as on the card, and no more digits than its network allows. */
import { asciiDigits } from '../../server/domain/card/digits.ts';
import { passesLuhn } from '../../server/domain/card/luhn.ts';
import { brandOf, gapsOf, lengthsOf } from './brand.ts';
import { createEdit, type Edit, findValue } from './digits.ts';

/** An expiry date after a number that was copied together with it, with everything after it. */
const DATE = /(?<!\d)(?:\d{1,2}\s*[/.-]\s*(?:\d{4}|\d{2})|\d{4}-\d{2})(?!\d|[ -]\d{4}).*$/s;

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
  const isChecked = brand === UNCHECKED ? /^\d+$/.test(digits) : passesLuhn(digits);
  return isChecked && lengthsOf(brand).includes(digits.length);
}

/** The number if it is complete and its network is known: others pass the check accidentally. */
function knownNumber(digits: string): string | undefined {
  return brandOf(digits) !== '' && isCardNumber(digits) ? digits : undefined;
}

/**
 * The card number in a pasted text, if it contains a complete one: "4111-1111…", a number followed by date and
 * verification code, or with other text before it. Undefined otherwise; the text then counts as typed.
 */
export function pickNumber(pasted: string): string | undefined {
  const text = asciiDigits(pasted);
  const whole = text.replace(DATE, '').replace(/[^\p{L}\d]/gu, '');
  return knownNumber(whole) ?? findValue(text, knownNumber) ?? (isCardNumber(whole) ? whole : undefined);
}

/** Formats the number field: any separators, digits of any script, the groups of the network. */
export const editNumber: Edit = createEdit({
  foreign: /\D/g,
  format: groupNumber,
  lengthMax: (digits) => Math.max(...lengthsOf(brandOf(digits))),
  pick: pickNumber,
});
