/** Card numbers in unnamed texts. */
import { isDigit, onlyDigits } from '../card/digits.ts';
import { type LuhnSums, luhnSums, partPassesLuhn } from '../card/luhn.ts';
import { Edits, endOfCharacter, readAs } from '../text/notations.ts';
import { literalsOf, quoted } from './json-literal.ts';
import { maskText } from './mask-text.ts';
import { plainNumbers, UNSEEN } from './plain-numbers.ts';

/** Lengths of detected card numbers. */
const DIGITS_MIN = 13;
const DIGITS_MAX = 19;

/** At most two spaces or dashes between groups of digits. */
const GAP = `(?:[\\s\\p{Pd}]${UNSEEN}*){1,2}`;
/** Groups of digits. */
const CHAIN = new RegExp(`\\d[\\d${UNSEEN}]*(?:${GAP}\\d[\\d${UNSEEN}]*)*`, 'gu');
const UNSEEN_UNIT = UNSEEN.charCodeAt(0);
const [SPACE, DASH] = [0x20, 0x2d];

/** Excludes most texts: tells whether so many digits follow each other with nothing but spaces and dashes between. */
function hasEnoughDigits(plain: string): boolean {
  let count = 0;
  for (let at = 0; at < plain.length; at++) {
    const unit = plain.charCodeAt(at);
    if (isDigit(unit)) {
      count++;
      if (count === DIGITS_MIN) {
        return true;
      }
    } else if (unit > SPACE && unit !== DASH && unit !== UNSEEN_UNIT) {
      count = 0;
    }
  }
  return false;
}

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

type Place = readonly [start: number, end: number];

/** The places of numbers in a chain; overlapping ones as one. */
function numbersIn(chain: string): Place[] {
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
  return found;
}

/**
 * Masks every card number in a text except for its last four digits: 13 to 19 digits of any script that pass Luhn, with
 * spaces and dashes between groups, or other separators between groups like those of cards. A number inside of a longer
 * group of digits is none. The number of a JSON text becomes a text.
 */
export function maskNumbersIn(text: string): string {
  const plain = text.length < DIGITS_MIN ? '' : plainNumbers(text);
  if (!hasEnoughDigits(plain)) {
    return text;
  }
  const view = readAs(text, []);
  const edits = new Edits(view);
  const literalAt = literalsOf(view);
  for (const { 0: chain, index } of plain.matchAll(CHAIN)) {
    for (const [start, end] of numbersIn(chain)) {
      const from = index + start;
      const to = endOfCharacter(text, index + end);
      const literal = literalAt(from, to);
      const masked = maskText(text.slice(from, to));
      edits.replace(literal?.from ?? from, literal?.to ?? to, quoted(view, from, to, masked, literal));
    }
  }
  return edits.result();
}

/** The digits of a whole number in any notation; undefined for a fraction, and outside of these lengths. */
export function wholeDigits(literal: string, digitsMin: number, digitsMax: number): string | undefined {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(literal) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const zeros = whole.length + fraction.length - digits.length;
  const point = whole.length + Number(exponent) - zeros;
  return digits === '' || point < digitsMin || point > digitsMax || /[1-9]/.test(digits.slice(point))
    ? undefined
    : digits.slice(0, point).padEnd(point, '0');
}

/** Masks the literal of a JSON number if it is a card number in any notation. */
export function maskNumberLiteral(literal: string): string {
  const masked = maskNumbersIn(literal);
  const digits = masked === literal ? wholeDigits(literal, DIGITS_MIN, 2 * DIGITS_MAX) : undefined;
  return digits === undefined || maskNumbersIn(digits) === digits ? masked : maskText(literal);
}
