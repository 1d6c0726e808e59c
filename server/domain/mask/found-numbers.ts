/** Card numbers in texts that are not named as one. */
import { isDigit } from '../card/digits.ts';
import { maskText } from './mask-text.ts';

/** The lengths of card numbers that are looked for. */
const DIGITS_MIN = 13;
const DIGITS_MAX = 19;

/** Groups of digits with at most two spaces or dashes between them. */
const CHAIN = /\d+(?:[\s\p{Pd}]{1,2}\d+)*/gu;
/** What every text with a number in it contains: most texts are done with this. */
const ENOUGH_DIGITS = /\d(?:[\s\p{Pd}]{0,2}\d){12}/u;

/** The digits of a chain, with sums from which the Luhn sum of any part of it follows. */
interface Digits {
  /** The place of each digit in the chain. */
  readonly places: readonly number[];
  /** Sums up to each digit, where those at an even place are doubled, and where those at an odd one are. */
  readonly sums: readonly [even: readonly number[], odd: readonly number[]];
}

function digitsOf(chain: string): Digits {
  const places: number[] = [];
  const [even, odd] = [[0], [0]];
  for (let at = 0; at < chain.length; at++) {
    const unit = chain.charCodeAt(at);
    if (isDigit(unit)) {
      const digit = unit - 0x30;
      const doubled = digit > 4 ? 2 * digit - 9 : 2 * digit;
      const isEven = places.length % 2 === 0;
      even.push((even.at(-1) ?? 0) + (isEven ? doubled : digit));
      odd.push((odd.at(-1) ?? 0) + (isEven ? digit : doubled));
      places.push(at);
    }
  }
  return { places, sums: [even, odd] };
}

/** Whether the digits from `from` to before `to` pass Luhn: every second one from the right is doubled. */
function passes({ sums }: Digits, from: number, to: number): boolean {
  const sum = sums[to % 2 === 0 ? 0 : 1];
  return ((sum[to] ?? 0) - (sum[from] ?? 0)) % 10 === 0;
}

/** The end, in digits, of the longest number that begins with the digit `from` and consists of whole groups. */
function numberEnd(digits: Digits, from: number): number | undefined {
  const { places } = digits;
  const last = Math.min(from + DIGITS_MAX, places.length);
  for (let to = last; to >= from + DIGITS_MIN; to--) {
    const endsGroup = to === places.length || places[to] !== (places[to - 1] ?? 0) + 1;
    if (endsGroup && passes(digits, from, to)) {
      return to;
    }
  }
  return undefined;
}

/** Masks the numbers of a chain; those that overlap as one. */
function maskChain(chain: string): string {
  const digits = digitsOf(chain);
  const { places } = digits;
  const found: [start: number, end: number][] = [];
  for (let from = 0; from + DIGITS_MIN <= places.length; from++) {
    const beginsGroup = from === 0 || places[from] !== (places[from - 1] ?? 0) + 1;
    const to = beginsGroup ? numberEnd(digits, from) : undefined;
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
 * A text in which every card number is masked except for its last four digits: 13 to 19 digits that pass Luhn, alone or
 * within the text, with spaces and dashes between groups of them. A number inside of a longer group of digits is none.
 * A text without one is returned as it is.
 */
export function maskNumbersIn(text: string): string {
  return ENOUGH_DIGITS.test(text) ? text.replaceAll(CHAIN, maskChain) : text;
}

/** The digits of a whole number in any notation; undefined for a fraction, and for a number that is too long. */
export function wholeDigits(literal: string): string | undefined {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(literal) ?? [];
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  return point < DIGITS_MIN || point > 2 * DIGITS_MAX || /[1-9]/.test(digits.slice(point))
    ? undefined
    : digits.slice(0, point).padEnd(point, '0').replace(/^0+/, '');
}

/** The literal of a JSON number, masked if it is a card number, in whatever notation. */
export function maskNumberLiteral(literal: string): string {
  const masked = maskNumbersIn(literal);
  const digits = masked === literal ? wholeDigits(literal) : undefined;
  return digits === undefined || maskNumbersIn(digits) === digits ? masked : maskText(literal);
}
