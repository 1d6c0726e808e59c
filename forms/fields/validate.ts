/** Checks of fields. Each check returns the name of an error text, or undefined for a valid value. */

import type { Texts } from '../messages/en.ts';
import { brandOf, codeLengthsOf, lengthsOf } from './brand.ts';
import { compact, digitsOf } from './digits.ts';
import { expiryState, parseExpiry } from './expiry-input.ts';
import { isCardNumber } from './number-input.ts';

/** The name of an error text. */
export type Problem = keyof Texts;

/** More digits than names have. */
const NAME_DIGITS_MAX = 8;
const ROUTING = /^(?:0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)\d{7}$/;
/** The weights of the ABA checksum. */
const ROUTING_WEIGHTS = [3, 7, 1];

/** A number that is shorter than all lengths of its network is incomplete; other ones are invalid. */
export function checkCardNumber(value: string): Problem | undefined {
  const digits = compact(value);
  if (isCardNumber(digits)) {
    return undefined;
  }
  const isShort = digits.length < Math.min(...lengthsOf(brandOf(digits)));
  return isShort && /^\d+$/.test(digits) ? 'number_short' : 'number_bad';
}

/** A name is any text that is not a number: people type the number into it by mistake. */
export function checkName(value: string): Problem | undefined {
  return digitsOf(value).length > NAME_DIGITS_MAX ? 'name_bad' : undefined;
}

/** A date that exists, has not passed, and is at most 50 years ahead. */
export function checkExpiry(value: string, now: Date): Problem | undefined {
  const date = parseExpiry(value);
  if (date === undefined) {
    return 'expiry_bad';
  }
  const state = expiryState(date, now);
  return state === 'good' ? undefined : state === 'past' ? 'expiry_past' : 'expiry_far';
}

/** Three digits, or four for American Express. `number` is the value of the number field. */
export function checkCode(value: string, number: string): Problem | undefined {
  const code = compact(value);
  const fits = codeLengthsOf(brandOf(digitsOf(number))).includes(code.length);
  return fits && /^\d+$/.test(code) ? undefined : 'cvv_bad';
}

/**
 * Nine digits with the checksum of the American Bankers Association, and a prefix in use: 00 of the government, 01 to 12
 * and 21 to 32 of the Federal Reserve's districts, 61 to 72 of electronic transactions, 80 of traveller's cheques.
 */
export function checkRouting(value: string): Problem | undefined {
  const digits = compact(value);
  const sum = [...digits].reduce((all, digit, at) => all + Number(digit) * (ROUTING_WEIGHTS[at % 3] ?? 0), 0);
  return ROUTING.test(digits) && sum > 0 && sum % 10 === 0 ? undefined : 'routing_bad';
}

/** 4 to 17 digits, as in ACH files. */
export function checkAccount(value: string): Problem | undefined {
  return /^\d{4,17}$/.test(compact(value)) ? undefined : 'account_bad';
}
