import { cardDigits } from '../card/digits.ts';
import { luhnCheckDigit } from '../card/luhn.ts';
import { findNumber } from '../card/number.ts';
import { encodeJson } from '../json/bytes.ts';
import type { JsonObject } from '../json/json.ts';
import { replyJson } from '../reply/json.ts';
import { expiryOf, fourDigits, MONTH, memberAs, textOf, twoDigits, YEAR } from '../reply/stored-card.ts';

/** The reply of a requester, with the names of the wire. */
export interface TokenReply {
  readonly token: string;
  readonly expiry_month: string;
  readonly expiry_year: string;
  readonly status: string;
  readonly cryptogram?: string;
  readonly eci?: string;
}

/** The built-in requester, which is there in staging only. */
export const SIMULATED_REQUESTER = 'sim';

const TOKEN = /^\d{12,19}$/;
/** Text that a report and a stored item may contain: printable, of a bounded length. */
const WORD = /^[\x20-\x7e]{1,256}$/;

/**
 * The request to a requester: `{ number, expiry_month, expiry_year, card_holder?, cvv? }` of a stored card, its
 * number in digits, its month in two and its year in four, wherever its expiry stands. What the card has not is left
 * out. Undefined when it has no number.
 */
export function tokenRequest(card: JsonObject): JsonObject | undefined {
  const number = findNumber(card);
  if (number === undefined) {
    return undefined;
  }
  const [month, year] = expiryOf(card) ?? [];
  const members: readonly (readonly [string, string | undefined])[] = [
    ['number', cardDigits(number) ?? number],
    ['expiry_month', month],
    ['expiry_year', year],
    ['card_holder', memberAs(card, 'holder')],
    ['cvv', memberAs(card, 'cvv')],
  ];
  return new Map(members.filter((member): member is readonly [string, string] => member[1] !== undefined));
}

/**
 * Reads a requester's reply, a JSON object: a token of 12 to 19 digits, its expiry and its status, and a cryptogram
 * and an ECI where they come along. Undefined for any other text.
 */
export function readTokenReply(body: string): TokenReply | undefined {
  const reply = replyJson(body);
  if (!(reply instanceof Map)) {
    return undefined;
  }
  const [token, month, year, status] = ['token', 'expiry_month', 'expiry_year', 'status'].map((name) =>
    textOf(reply.get(name)),
  );
  if (token === undefined || month === undefined || year === undefined || status === undefined) {
    return undefined;
  }
  if (!TOKEN.test(token) || !MONTH.test(month) || !YEAR.test(year) || !WORD.test(status)) {
    return undefined;
  }
  const others = ['cryptogram', 'eci'].flatMap((name) => {
    const text = textOf(reply.get(name));
    return text !== undefined && WORD.test(text) ? [[name, text] as const] : [];
  });
  return {
    token,
    expiry_month: twoDigits(month),
    expiry_year: fourDigits(year),
    status,
    ...Object.fromEntries(others),
  };
}

/** The beginning of tokens that are simulated: a range that payment services use in their tests. */
const SIMULATED_BIN = '400000';
const SIMULATED_YEARS = 3;

/**
 * The reply of the built-in requester: a token that passes the Luhn check, valid for three years. It reveals nothing
 * of the card. `random` has nine digits; `now` is in ms since 1970.
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
