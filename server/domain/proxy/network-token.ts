import { cardDigits } from '../card/digits.ts';
import { luhnCheckDigit } from '../card/luhn.ts';
import { findNumber } from '../card/number.ts';
import { encodeJson } from '../json/bytes.ts';
import { definedMembers, type JsonObject } from '../json/json.ts';
import { MONTH, YEAR } from '../reply/expiry.ts';
import { replyJson } from '../reply/json.ts';
import { expiryOf, fourDigits, memberAs, textOf, twoDigits } from '../reply/stored-card.ts';

/** Reply of a requester, with the names of the wire. */
export interface TokenReply {
  readonly token: string;
  readonly expiry_month: string;
  readonly expiry_year: string;
  readonly status: string;
  readonly cryptogram?: string;
  readonly eci?: string;
}

/** Built-in requester, in staging only. */
export const SIMULATED_REQUESTER = 'sim';

const TOKEN = /^\d{12,19}$/;
/** Text that reports and stored items may contain. */
const WORD = /^[\x20-\x7e]{1,256}$/;

/**
 * The request to a requester: `{ number, expiry_month, expiry_year, card_holder?, cvv? }` of a stored card, with the
 * number in digits, a month of two and a year of four; missing values are left out. Undefined without a number.
 */
export function tokenRequest(card: JsonObject): JsonObject | undefined {
  const number = findNumber(card);
  if (number === undefined) {
    return undefined;
  }
  const [month, year] = expiryOf(card) ?? [];
  return definedMembers([
    ['number', cardDigits(number) ?? number],
    ['expiry_month', month],
    ['expiry_year', year],
    ['card_holder', memberAs(card, 'holder')],
    ['cvv', memberAs(card, 'cvv')],
  ]);
}

/**
 * Reads a requester's reply: a JSON object with a token of 12 to 19 digits, its expiry and its status, and optionally a
 * cryptogram and an ECI. Undefined for any other text.
 */
export function readTokenReply(body: string): TokenReply | undefined {
  const reply = replyJson(body);
  if (!(reply instanceof Map)) {
    return undefined;
  }
  const read = (name: string): string => textOf(reply.get(name)) ?? '';
  const [token, status] = [read('token'), read('status')];
  const [month, year] = [read('expiry_month'), read('expiry_year')];
  if (!TOKEN.test(token) || !MONTH.test(month) || !YEAR.test(year) || !WORD.test(status)) {
    return undefined;
  }
  const others = ['cryptogram', 'eci']
    .map((name) => [name, read(name)] as const)
    .filter(([, text]) => WORD.test(text));
  return {
    token,
    expiry_month: twoDigits(month),
    expiry_year: fourDigits(year),
    status,
    ...Object.fromEntries(others),
  };
}

/** A range that payment services use in their tests. */
const SIMULATED_BIN = '400000';
const SIMULATED_YEARS = 3;

/**
 * Reply of the built-in requester: a token that passes Luhn, valid for three years, independent of the card. `random`
 * has nine digits; `now` is in ms since 1970.
 */
export function simulateToken(random: string, now: number): Uint8Array {
  const digits = `${SIMULATED_BIN}${random}`;
  const date = new Date(now);
  return encodeJson(
    new Map([
      ['token', digits + luhnCheckDigit(digits)],
      ['expiry_month', twoDigits(String(date.getUTCMonth() + 1))],
      ['expiry_year', String(date.getUTCFullYear() + SIMULATED_YEARS)],
      ['status', 'active'],
    ]),
  );
}
