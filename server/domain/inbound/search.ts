/** Card numbers in any notation, by their check digits. */
import { cardBrand } from '../card/brand.ts';
import { isDigit, onlyDigits } from '../card/digits.ts';
import { luhnSums, partPassesLuhn, passesLuhn } from '../card/luhn.ts';
import { wholeDigits } from '../mask/found-numbers.ts';
import { type Literal, literalsOf } from '../mask/json-literal.ts';
import { plainNumbers, UNSEEN } from '../mask/plain-numbers.ts';
import {
  endOfCharacter,
  type Notations,
  readAs,
  sourceAt,
  type View,
  writtenFrom,
} from '../text/notations.ts';
import type { Edit } from './edits.ts';

const [DIGITS_MIN, DIGITS_MAX] = [13, 19];
/** Of numbers that are known to be those of cards. */
const KNOWN_MIN = 12;
/** Levels of notations: a text within a text within a message. */
const LEVELS_MAX = 3;

/** Groups of digits with single spaces or dashes between. */
const CHAIN = new RegExp(`\\d[\\d${UNSEEN}]*(?:[ -]${UNSEEN}*\\d[\\d${UNSEEN}]*)*`, 'g');

/** A number with an exponent. */
const FLOATING = /(?<!\w|\d\.)\d+(?:\.\d*)?e[-+]?\d{1,5}(?!\w|\.\d)/gi;
const BEYOND_ASCII = /[^\0-\x7f]/;
const MAY_FLOAT = /\de[-+]?\d/i;

/** A run inside so many hexadecimal characters is no card number. */
const HEX_MIN = 32;
const UUID = /(?<![\da-f])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\da-f])/gi;
const UUID_CHARACTERS = 36;

function isLetter(unit: number): boolean {
  const letter = unit | 0x20;
  return letter >= 0x61 && letter <= 0x7a;
}

function isHex(unit: number): boolean {
  const letter = unit | 0x20;
  return isDigit(unit) || (letter >= 0x61 && letter <= 0x66);
}

/** Tells whether a run is part of a hash, a trace id or a UUID. */
function isInHex(plain: string, from: number, to: number): boolean {
  const [lowest, highest] = [Math.max(0, to - HEX_MIN), Math.min(plain.length, from + HEX_MIN)];
  let [start, end] = [to, from];
  while (start > lowest && isHex(plain.charCodeAt(start - 1))) {
    start--;
  }
  while (end < highest && isHex(plain.charCodeAt(end))) {
    end++;
  }
  if (start <= from && end >= to && end - start >= HEX_MIN) {
    return true;
  }
  const first = Math.max(0, to - UUID_CHARACTERS);
  const around = plain.slice(first, from + UUID_CHARACTERS);
  return [...around.matchAll(UUID)].some(
    ({ index }) => first + index <= from && first + index + UUID_CHARACTERS >= to,
  );
}

type Part = readonly [from: number, to: number];

/** Adds the parts of a chain of groups that are card numbers; overlapping ones become one. */
function addNumbers(
  parts: [from: number, to: number][],
  plain: string,
  { 0: chain, index }: RegExpExecArray,
  known: ReadonlySet<string>,
): void {
  const places: number[] = [];
  for (let at = 0; at < chain.length; at++) {
    if (isDigit(chain.charCodeAt(at))) {
      places.push(index + at);
    }
  }
  const shortest = known.size === 0 ? DIGITS_MIN : KNOWN_MIN;
  if (places.length < shortest) {
    return;
  }
  const digits = onlyDigits(chain);
  const sums = luhnSums(digits);
  const isEdge = (at: number): boolean =>
    at === 0 || at === places.length || places[at] !== (places[at - 1] ?? 0) + 1;
  const isNumber = (first: number, behind: number): boolean =>
    (behind - first >= DIGITS_MIN &&
      partPassesLuhn(sums, first, behind) &&
      cardBrand(digits.slice(first, behind)) !== undefined) ||
    (known.size > 0 && known.has(digits.slice(first, behind)));
  for (let first = 0; first + shortest <= places.length; first++) {
    const last = isEdge(first) ? Math.min(first + DIGITS_MAX, places.length) : 0;
    for (let behind = last; behind >= first + shortest; behind--) {
      if (!isEdge(behind) || !isNumber(first, behind)) {
        continue;
      }
      const [from, to] = [places[first] ?? 0, (places[behind - 1] ?? 0) + 1];
      if (!isInHex(plain, from, to)) {
        const before = parts.at(-1);
        if (before !== undefined && from < before[1]) {
          before[1] = Math.max(before[1], to);
        } else {
          parts.push([from, to]);
        }
        break;
      }
    }
  }
}

function isOfNetwork(digits: string): boolean {
  return (
    digits.length >= DIGITS_MIN &&
    digits.length <= DIGITS_MAX &&
    passesLuhn(digits) &&
    cardBrand(digits) !== undefined
  );
}

/** Card numbers with an exponent, as programs write large numbers. */
function floatingNumbers(text: string): readonly Part[] {
  return MAY_FLOAT.test(text)
    ? [...text.matchAll(FLOATING)]
        .filter(([literal]) => isOfNetwork(wholeDigits(literal, DIGITS_MIN, DIGITS_MAX) ?? ''))
        .map(({ 0: literal, index }) => [index, index + literal.length])
    : [];
}

/** Edits that put `*` in place of the digits of a part. What is not ASCII between them keeps its bytes. */
function starred(view: View, plain: string, [from, to]: Part): readonly Edit[] {
  const edits: Edit[] = [];
  let [start, by] = [from, ''];
  const add = (end: number): void => {
    if (by !== '') {
      edits.push({ start: sourceAt(view, start), end: sourceAt(view, end), by });
      by = '';
    }
  };
  let at = from;
  for (const character of view.text.slice(from, to)) {
    const end = at + character.length;
    const written = isDigit(plain.charCodeAt(at)) ? '*' : writtenFrom(view, at, end);
    if (BEYOND_ASCII.test(written)) {
      add(at);
      start = end;
    } else {
      by += written;
    }
    at = end;
  }
  add(to);
  return edits;
}

/** An edit that makes a text of a number of JSON, which is ASCII. */
function starredLiteral(view: View, { from, to, quote }: Literal): Edit {
  const by = writtenFrom(view, from, to).replaceAll(/\d/g, '*');
  return { start: sourceAt(view, from), end: sourceAt(view, to), by, quote };
}

/** A view of a view's text, with places in the source of that. */
function deeper(outer: View, notations: Notations): View | undefined {
  const inner = readAs(outer.text, notations);
  if (inner.starts === undefined) {
    return undefined;
  }
  const { starts } = outer;
  return {
    source: outer.source,
    text: inner.text,
    starts: starts === undefined ? inner.starts : inner.starts.map((at) => starts[at] ?? at),
  };
}

/** The text as it is, in the notation of its format, and in all notations, also several times. */
function viewsOf(text: string, own: Notations, all: Notations): readonly View[] {
  const source = readAs(text, []);
  const views = [source, deeper(source, own)].filter((view) => view !== undefined);
  let view: View | undefined = source;
  for (let level = 0; level < LEVELS_MAX && view !== undefined; level++) {
    view = deeper(view, all);
    // Most texts have no notation but their own.
    if (view !== undefined && view.text !== views.at(-1)?.text) {
      views.push(view);
    }
  }
  return views;
}

/** Excludes most texts: tells whether so many digits follow each other without a letter of ASCII between. */
function mayHoldNumber(text: string): boolean {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (isDigit(unit)) {
      count++;
      if (count === KNOWN_MIN) {
        return true;
      }
    } else if (unit > 0x7f) {
      return true;
    } else if (isLetter(unit)) {
      count = 0;
    }
  }
  return false;
}

/** The card numbers of a text as people read it. */
function numbersIn(plain: string, known: ReadonlySet<string>): readonly Part[] {
  const parts: [from: number, to: number][] = [];
  for (const chain of plain.matchAll(CHAIN)) {
    if (chain[0].length >= KNOWN_MIN) {
      addNumbers(parts, plain, chain, known);
    }
  }
  return parts;
}

function editsIn(view: View, known: ReadonlySet<string>): readonly Edit[] {
  const floating = floatingNumbers(view.text);
  const isEmpty = !mayHoldNumber(view.text);
  if (isEmpty && floating.length === 0) {
    return [];
  }
  const plain = plainNumbers(view.text);
  const numbers = isEmpty ? [] : numbersIn(plain, known);
  const parts = floating.length === 0 ? numbers : [...numbers, ...floating].toSorted(([a], [b]) => a - b);
  if (parts.length === 0) {
    return [];
  }
  const literalAt = literalsOf(view);
  return parts.flatMap(([from, last]) => {
    const to = endOfCharacter(view.text, last);
    const literal = literalAt(from, to);
    return literal === undefined ? starred(view, plain, [from, to]) : [starredLiteral(view, literal)];
  });
}

/**
 * Finds the card numbers of a text: 13 to 19 digits of any script that pass Luhn and lie in the range of a network, in whole
 * groups with single spaces or dashes between or with an exponent, in no notation, in `own` or in `all`; and those with the
 * digits of `known` ones.
 * Each is replaced by its digits as `*`; a number of JSON within the text becomes a text. Takes time linear in the length.
 */
export function findNumbers(
  text: string,
  own: Notations,
  all: Notations,
  known: ReadonlySet<string>,
): readonly Edit[] {
  return viewsOf(text, own, all).flatMap((view) => editsIn(view, known));
}

/** The digits of numbers that are not found by their check digit and network. */
export function knownNumbers(numbers: readonly string[]): ReadonlySet<string> {
  return new Set(numbers.map(onlyDigits).filter((digits) => !isOfNetwork(digits)));
}
