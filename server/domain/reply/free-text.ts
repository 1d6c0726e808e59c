import { type CardRole, cardRole, isOtherNumber, type NamedRole } from '../card/names.ts';
import { cardRuns, type Run } from '../card/runs.ts';
import { readExpiry, readMonth, readYear } from './expiry.ts';
import { asIs, type Branch, type Leaf, ROOT } from './leaves.ts';

/** Distances in which a label is searched before a value. */
const SKIPPED_MAX = 8;
const TAGS_MAX = 4;
const TAG_MAX = 64;
const LABEL_MAX = 48;
const WORDS_MAX = 4;
/** Words before a number that may say what else it is. */
const OTHER_WORDS = 2;

/** Characters of ASCII that belong to words, and those that end a label; others are of words. */
const WORD = tableOf(/\w/);
const STOP = tableOf(/[\r\n\t,;|:=<>(){}[\]"&?!/]/);
const HAS_WORD = /[\p{L}\p{N}_]/u;
const FILLER = /^(?:is|was|are)$/i;

/** A short number, or a date. */
const TOKEN =
  /(?<!\w|\d[.,])(?:(?:\d{1,2}|20\d\d)(?:(?: ?\/ ?|[.-])\d{1,4}){1,2}|\d{1,8}|(?:\d{1,2} )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}[ /.,'-]{0,3}\d{2,4})(?!\w|[.,]\d)/gi;
/** A code joined to its name: `CVV123`, `cvc_123`. */
const JOINED = /(?<![a-z0-9])(?:cvv2?|cvc2?|cvn|csc)_?(?<code>\d{3,4})(?!\w)/dgi;
/** Every text with a short number beside words. */
const LABELLED =
  /[^\W\d][^a-zA-Z0-9]{1,40}\d{1,4}(?!\d)|\d{3,4} {0,2}\(?[a-zA-Z]{3}|(?:cv[vcn]2?|csc)_?\d{3}/i;
const HOLDER = /[:=][ \t]{0,4}([^\r\n,;|"<>{}\d:=]{1,120})/g;
const LETTER = /\p{L}/u;
const CODE = /^\d{3,4}$/;
const BEHIND = /^ {0,2}\(?([A-Za-z]{3,4}\d?)\b(?![^\r\n]{0,4}\d)/;
const BEHIND_MAX = 16;
/** Without a code only `MM/YY` is an expiry: a house number may follow as well. */
const EXPIRY_BEHIND =
  /[ \t,;|/]{1,3}(?:(?<expiry>(?:0[1-9]|1[0-2])[/|.;,-]?(?:20)?\d\d)[ \t,;|/]{1,3}(?<code>\d{3,4})(?![\w/.-]|,\d)|(?<alone>(?:0[1-9]|1[0-2])\/(?:20)?\d\d)(?![\w/.-]))/dy;
/** A code at the end of a line: four digits only where the network's codes have as many, others may be an expiry. */
const CODE_BEHIND = /[ \t,;|/-]{1,3}(?<code>\d{3,4})(?=[ \t]*(?:[\r\n]|$))/dy;
const LONG_CODE = /^3[47]\d{13}$/;
/** Of numbers without a label (ISO/IEC 7812-1 has shorter ones). */
const UNNAMED_DIGITS_MIN = 13;

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The name of a number that is no card's, but must not stay readable. */
export const NO_CARD = '-';

function tableOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 0x80 }, (_, unit) => Number(pattern.test(String.fromCharCode(unit))));
}

function isWord(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit < 0x80 ? WORD[unit] === 1 : HAS_WORD.test(text.charAt(at));
}

/** The end of the words before a place; 0 if there are none near. */
function wordsEnd(text: string, at: number, skipsTags: boolean): number {
  let end = at;
  let tags = skipsTags ? TAGS_MAX : 0;
  for (let skipped = 0; end > 0 && !isWord(text, end - 1); ) {
    const isTag = tags > 0 && text[end - 1] === '>';
    const length = isTag
      ? text
          .slice(Math.max(0, end - TAG_MAX), end)
          .split('<')
          .at(-1)?.length
      : undefined;
    if (length !== undefined && text[end - length - 1] === '<') {
      tags--;
      end -= length + 1;
    } else if (++skipped > SKIPPED_MAX) {
      return 0;
    } else {
      end--;
    }
  }
  return end;
}

/** The last words before a place, at most four. */
function wordsBefore(text: string, at: number, skipsTags: boolean): string[] {
  const end = wordsEnd(text, at, skipsTags);
  let start = end;
  while (start > Math.max(0, end - LABEL_MAX) && STOP[text.charCodeAt(start - 1)] !== 1) {
    start--;
  }
  const words = text.slice(start, end).split(' ').filter(isWordy);
  while (FILLER.test(words.at(-1) ?? '')) {
    words.pop();
  }
  // What stands before another number is its label.
  return words.slice(Math.max(words.length - WORDS_MAX, words.findLastIndex(isNumber) + 1));
}

function isNumber(word: string): boolean {
  return /\d{3}/.test(word);
}

function isWordy(word: string): boolean {
  return HAS_WORD.test(word);
}

/** A name that gives a value its role. */
interface Label {
  readonly name: string;
  readonly named: NamedRole;
}

/** The label of words: the longest of the last ones with a strong role, or all of them if they are a weak name. */
function labelOf(words: readonly string[]): Label | undefined {
  let weak: Label | undefined;
  for (let from = 0; from < words.length; from++) {
    const name = words.slice(from).join(' ');
    const named = cardRole(name);
    if (named?.strong === true) {
      return { name, named };
    }
    if (named !== null && from === 0) {
      weak = { name, named };
    }
  }
  return weak;
}

function labelBefore(text: string, at: number): Label | undefined {
  const isAfterTag = text.slice(Math.max(0, at - SKIPPED_MAX), at).includes('>');
  return (
    labelOf(wordsBefore(text, at, false)) ?? (isAfterTag ? labelOf(wordsBefore(text, at, true)) : undefined)
  );
}

/** Tells whether the name of a code stands behind it: `123 (CVV)`. */
function isNamedBehind(text: string, at: number): boolean {
  const [, word = ''] = BEHIND.exec(text.slice(at, at + BEHIND_MAX)) ?? [];
  const named = word === '' ? null : cardRole(word);
  return named?.role === 'cvv' && named.strong;
}

const READS: ReadonlyMap<CardRole, (value: string) => boolean> = new Map([
  ['cvv', (value) => CODE.test(value)],
  ['secret', (value) => CODE.test(value)],
  ['month', (value) => readMonth(value) !== undefined],
  ['year', (value) => readYear(value) !== undefined],
  ['expiry', (value) => readExpiry(value) !== undefined],
]);
const NAMES: ReadonlySet<CardRole> = new Set(['holder', 'first', 'last']);

/** Short values that a label gives a role. */
function* labelledValues(
  text: string,
  apart: (start: number, end: number) => boolean,
): Generator<Label & Span> {
  for (const { 0: value, index: start } of text.matchAll(TOKEN)) {
    const end = start + value.length;
    if (!apart(start, end)) {
      continue;
    }
    const label = labelBefore(text, start);
    if (label !== undefined && READS.get(label.named.role)?.(value) === true) {
      yield { ...label, start, end };
    } else if (CODE.test(value) && isNamedBehind(text, end)) {
      yield { name: 'cvv', named: { role: 'cvv', strong: true }, start, end };
    }
  }
}

function* joinedCodes(text: string): Generator<Label & Span> {
  for (const { indices } of text.matchAll(JOINED)) {
    const { code: [start, end] = [0, 0] } = indices?.groups ?? {};
    yield { name: 'cvv', named: { role: 'cvv', strong: true }, start, end };
  }
}

function* labelledHolders(text: string): Generator<Label & Span> {
  for (const { 0: whole, 1: value = '', index } of text.matchAll(HOLDER)) {
    const label = LETTER.test(value) ? labelBefore(text, index) : undefined;
    if (label?.named.strong === true && NAMES.has(label.named.role)) {
      const end = index + whole.length;
      yield { ...label, start: end - value.length, end };
    }
  }
}

/** Expiry and code right behind a number: `4111…|12|27|123`. */
function* valuesBehind(text: string, { end: at, digits }: Run): Generator<{ readonly name: string } & Span> {
  CODE_BEHIND.lastIndex = at;
  const { code: [from, to] = [0, 0] } = CODE_BEHIND.exec(text)?.indices?.groups ?? {};
  if (to - from === (LONG_CODE.test(digits) ? 4 : 3)) {
    yield { name: 'cvv', start: from, end: to };
    return;
  }
  EXPIRY_BEHIND.lastIndex = at;
  const { expiry, alone = expiry, code } = EXPIRY_BEHIND.exec(text)?.indices?.groups ?? {};
  if (alone !== undefined) {
    yield { name: 'expiry', start: alone[0], end: alone[1] };
  }
  if (code !== undefined) {
    yield { name: 'cvv', start: code[0], end: code[1] };
  }
}

/** Tells whether places, in ascending order, do not overlap the given ones, which ascend too. */
function createApartCheck(places: readonly Span[], length: number): (start: number, end: number) => boolean {
  let next = 0;
  return (start, end) => {
    while ((places[next]?.end ?? length + 1) <= start) {
      next++;
    }
    return (places[next]?.start ?? length) >= end;
  };
}

/** The name of a number: that of its label, or none. A number of something else is left out. */
function numberName(text: string, { start, digits, isWhole }: Run): string | undefined {
  const words = wordsBefore(text, start, false);
  const label = labelBefore(text, start);
  if (label?.named.role === 'number') {
    return label.name;
  }
  const isCard =
    isWhole && digits.length >= UNNAMED_DIGITS_MIN && !isOtherNumber(words.slice(-OTHER_WORDS).join(' '), '');
  return isCard ? '' : undefined;
}

/**
 * The values of a plain text, in order: card numbers, with the name of their label or none, and what labels say is a
 * code, an expiry or a holder. Numbers of other things that pass Luhn have the name {@link NO_CARD}.
 */
export function textLeaves(text: string, branch: Branch = ROOT): Leaf[] {
  const runs = cardRuns(text);
  const leafAt = (name: string, { start, end }: Span): Leaf => {
    return { name, branch, value: text.slice(start, end), start, end, write: asIs };
  };
  if (runs.length === 0 && !LABELLED.test(text)) {
    return [];
  }
  const leaves = runs.map((run) => leafAt(numberName(text, run) ?? NO_CARD, run));
  const isApartFromRuns = createApartCheck(runs, text.length);
  const behind = runs
    .flatMap((run) => [...valuesBehind(text, run)])
    .filter(({ start, end }) => isApartFromRuns(start, end));
  const taken = [...runs, ...behind].sort((a, b) => a.start - b.start);
  leaves.push(...behind.map((value) => leafAt(value.name, value)));
  for (const value of labelledValues(text, createApartCheck(taken, text.length))) {
    leaves.push(leafAt(value.name, value));
  }
  const isApartFromTaken = createApartCheck(taken, text.length);
  for (const value of joinedCodes(text)) {
    if (isApartFromTaken(value.start, value.end)) {
      leaves.push(leafAt(value.name, value));
    }
  }
  if (runs.length > 0) {
    const isApart = createApartCheck(taken, text.length);
    for (const value of labelledHolders(text)) {
      if (isApart(value.start, value.end)) {
        leaves.push(leafAt(value.name, value));
      }
    }
  }
  return leaves;
}
