/** Card numbers in unnamed texts. */
import { isDigit, onlyDigits } from '../card/digits.ts';
import { type LuhnSums, luhnSums, partPassesLuhn } from '../card/luhn.ts';
import { maskText } from './mask-text.ts';

/** Lengths of detected card numbers. */
const DIGITS_MIN = 13;
const DIGITS_MAX = 19;

/** Groups of digits with at most two spaces or dashes between them. */
const CHAIN = /\d+(?:[\s\p{Pd}]{1,2}\d+)*/gu;
/** A part of every text with a number: excludes most texts. */
const ENOUGH_DIGITS = /\d(?:[\s\p{Pd}]{0,2}\d){12}/u;

/** The end, in digits, of the longest number that begins with the digit `from` and consists of whole groups. */
function numberEnd(places: readonly number[], sums: LuhnSums, from: number): number | undefined {
  const last = Math.min(from + DIGITS_MAX, places.length);
  for (let to = last; to >= from + DIGITS_MIN; to--) {
    const endsGroup = to === places.length || places[to] !== (places[to - 1] ?? 0) + 1;
    if (endsGroup && partPassesLuhn(sums, from, to)) {
      return to;
    }
  }
  return undefined;
}

/** Masks the numbers of a chain; overlapping ones as one. */
function maskChain(chain: string): string {
  const places: number[] = [];
  for (let at = 0; at < chain.length; at++) {
    if (isDigit(chain.charCodeAt(at))) {
      places.push(at);
    }
  }
  const sums = luhnSums(onlyDigits(chain));
  const found: [start: number, end: number][] = [];
  for (let from = 0; from + DIGITS_MIN <= places.length; from++) {
    const beginsGroup = from === 0 || places[from] !== (places[from - 1] ?? 0) + 1;
    const to = beginsGroup ? numberEnd(places, sums, from) : undefined;
    if (to !== undefined) {
      const [start, end] = [places[from] ?? 0, (places[to - 1] ?? 0) + 1];
      const before = found.at(-1);
      if (before !== undefined && start < before[1]) {
        before[1] = Math.max(before[1], end);
      } else {
        found.push([start, end]);
      }
    }
  }
  let masked = '';
  let done = 0;
  for (const [start, end] of found) {
    masked += chain.slice(done, start) + maskText(chain.slice(start, end));
    done = end;
  }
  return masked + chain.slice(done);
}

/**
 * Masks every card number in a text except for its last four digits: 13 to 19 digits that pass Luhn, with spaces and
 * dashes between groups. A number inside of a longer group of digits is none.
 */
export function maskNumbersIn(text: string): string {
  return ENOUGH_DIGITS.test(text) ? text.replaceAll(CHAIN, maskChain) : text;
}

/** The digits of a whole number in any notation; undefined for a fraction, and outside of these lengths. */
export function wholeDigits(literal: string, digitsMin: number, digitsMax: number): string | undefined {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(literal) ?? [];
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  return point < digitsMin || point > digitsMax || /[1-9]/.test(digits.slice(point))
    ? undefined
    : digits.slice(0, point).padEnd(point, '0').replace(/^0+/, '');
}

/** Masks the literal of a JSON number if it is a card number in any notation. */
export function maskNumberLiteral(literal: string): string {
  const masked = maskNumbersIn(literal);
  const digits = masked === literal ? wholeDigits(literal, DIGITS_MIN, 2 * DIGITS_MAX) : undefined;
  return digits === undefined || maskNumbersIn(digits) === digits ? masked : maskText(literal);
}
