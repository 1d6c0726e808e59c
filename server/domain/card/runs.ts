/** Card numbers within texts. */
import { isDigit, onlyDigits } from './digits.ts';
import { type LuhnSums, luhnSums, partPassesLuhn } from './luhn.ts';

/** A card number, from the place of its first digit to after that of its last. */
export interface Run {
  readonly start: number;
  readonly end: number;
  readonly digits: string;
  /** It is no part of a word, of a fraction, or of a much longer row of groups. */
  readonly isWhole: boolean;
}

const DIGITS_MIN = 12;
/** Lengths in the order in which a part of a longer row is tried: a code or a date may follow a number. */
const LENGTHS = [16, 15, 14, 13, 19, 18, 17, 12];

/** Spaces, dashes, and what is invisible. */
const BETWEEN = String.raw`[ \u00a0\u00ad\u2000-\u2015\u202f\u2060\u2212\u3000\ufeff.-]`;
const HTML_SPACE = '&nbsp;';
const ROW = rowWith(BETWEEN);
const HTML_ROW = rowWith(`(?:${BETWEEN}|${HTML_SPACE})`);

/** Groups of digits with at most two separators between them, enough for a number. */
function rowWith(between: string): RegExp {
  return new RegExp(String.raw`\d(?:${between}{0,2}\d){11,}`, 'g');
}

/** `+` begins a telephone number. */
const BEFORE = /[\w.,+]$/;
const AFTER = /^(?:\w|[.,]\d)/;
const FRACTION = /^\.\d/;
/** Fewer digits beside a number in its row are those of a date, an amount or a code. */
const REST_MAX = 9;

/** Tells whether a group of digits begins, or has ended, at a digit. */
function isEdge(places: readonly number[], at: number): boolean {
  return at === 0 || at === places.length || places[at] !== (places[at - 1] ?? 0) + 1;
}

function lengthAt(places: readonly number[], sums: LuhnSums, from: number): number | undefined {
  return LENGTHS.find(
    (length) =>
      from + length <= places.length &&
      isEdge(places, from + length) &&
      partPassesLuhn(sums, from, from + length),
  );
}

function addRuns(runs: Run[], row: string, index: number, text: string): void {
  const places: number[] = [];
  for (let at = 0; at < row.length; at++) {
    if (isDigit(row.charCodeAt(at))) {
      places.push(at);
    }
  }
  const digits = onlyDigits(row);
  const sums = luhnSums(digits);
  const isFree =
    !BEFORE.test(text.slice(Math.max(0, index - 1), index)) &&
    !AFTER.test(text.slice(index + row.length, index + row.length + 2));
  for (let from = 0; from + DIGITS_MIN <= places.length; ) {
    const length = isEdge(places, from) ? lengthAt(places, sums, from) : undefined;
    if (length === undefined) {
      from++;
      continue;
    }
    const to = from + length;
    const [start, end] = [places[from] ?? 0, (places[to - 1] ?? 0) + 1];
    const isWhole =
      isFree &&
      Math.max(from, places.length - to) < REST_MAX &&
      !row.slice(Math.max(0, start - 1), end).includes('.') &&
      !FRACTION.test(row.slice(end, end + 2));
    runs.push({ start: index + start, end: index + end, digits: digits.slice(from, to), isWhole });
    from = to;
  }
}

/** The card numbers of a text: 12 to 19 digits in whole groups that pass Luhn, in ascending order. */
export function cardRuns(text: string): readonly Run[] {
  const runs: Run[] = [];
  const pattern = text.includes(HTML_SPACE) ? HTML_ROW : ROW;
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    addRuns(runs, found[0], found.index, text);
  }
  return runs;
}
