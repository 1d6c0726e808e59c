/** Numbers and codes outside of the owner's paths. */
import { type ErrorCode, VaultError } from '../../core/errors.ts';
import type { HeaderEntries } from '../../core/headers.ts';
import { cardRole } from '../card/names.ts';
import { isPathOf } from '../json/named.ts';
import { wholeDigits } from '../mask/found-numbers.ts';
import { type Candidate, candidatesIn, objectsWithNumber } from '../reply/cards.ts';
import {
  type Branch,
  createPlaces,
  type Leaf,
  Names,
  type Notation,
  ROOT,
  readNotation,
} from '../reply/leaves.ts';
import { joinedPieces, PIECE } from '../reply/xml.ts';
import { type Notations, readAs } from '../text/notations.ts';
import type { Document, DocumentFormat, Found } from './document.ts';
import { blanked, type Edit, editText } from './edits.ts';
import { starsFor } from './extract.ts';
import type { Rules } from './rules.ts';
import { findNumbers } from './search.ts';

/** A number or a code that must not pass. */
interface Stray extends Edit {
  readonly code: Extract<ErrorCode, 'card_not_extracted' | 'code_not_extracted'>;
}

/** The rules, and the digits of extracted numbers that are found by no check digit. */
export interface Strictness {
  readonly rules: Rules;
  readonly known: ReadonlySet<string>;
}

/** How errors name places of a text, and the steps that they may show. */
interface Place {
  readonly name: 'body' | 'query' | 'header' | 'path';
  /** The text or number that holds a place, and the steps to it. */
  readonly stepsAt: (at: number) => readonly string[];
}

const EXPECTED = {
  card_not_extracted:
    'has a card number, and no path of `extract` or `allow` leads there; `*` is a name that is in no path',
  code_not_extracted:
    'has a verification code, and no path of `extract` or `allow` leads there; `*` is a name that is in no path',
} as const;

const OWN: Readonly<Record<DocumentFormat, Notations>> = {
  json: ['backslash'],
  xml: ['entity'],
  form: ['percent', 'plus'],
};
const ALL: Readonly<Record<DocumentFormat, Notations>> = {
  json: ['backslash', 'percent', 'entity'],
  xml: ['entity', 'percent', 'backslash'],
  form: ['percent', 'plus', 'backslash', 'entity'],
};
const OF_PATH: Notations = ['percent'];
const OF_HEADER: Notations = ['percent', 'backslash', 'entity'];

/** Header values without so many digits hold nothing. */
const MAY_BE_STRAY = /\d.*\d.*\d|[^ -~]|^basic /is;
const BASIC = /^basic +(\S+)$/i;
const BEYOND_ASCII = /[\x80-\xff]/;
/** Three or four digits, whatever signs are around and between them. */
const CODE = /^(?:[^\p{L}\p{Nd}]*\p{Nd}){3,4}[^\p{L}\p{Nd}]*$/u;
const STRUCTURE = /^\s*[{[<]/;
/** Three or four digits in a row. */
const CODE_WITHIN = /(?<!\p{Nd})\p{Nd}{3,4}(?!\p{Nd})/u;
const CODE_NOTATIONS: Notations = ['backslash', 'percent', 'entity'];
const DIGITS = /\p{Nd}/gu;
const PLAIN_STEP = /^@?[^.[\]"@]+$/;

/** Shows the names of the owner's paths, and `*` for all others, which a sender chose. */
function fieldOf({ name, stepsAt }: Place, at: number, names: ReadonlySet<string>): string {
  let field: string = name;
  for (const step of stepsAt(at)) {
    if (step === '[*]') {
      field += step;
    } else if (!names.has(step)) {
      field += '.*';
    } else {
      field += PLAIN_STEP.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
    }
  }
  return field;
}

function isBefore(one: Stray, other: Stray): boolean {
  return one.code === other.code ? one.start < other.start : one.code === 'card_not_extracted';
}

/** Rejects the first number, or without one the first code, or gives what replaces them all. */
function settle(strays: readonly Stray[], place: Place, { strict, names }: Rules): readonly Edit[] {
  if (strict === true && strays.length > 0) {
    const first = strays.reduce((best, each) => (isBefore(each, best) ? each : best));
    throw new VaultError(first.code, {
      field: fieldOf(place, first.start, names),
      expected: EXPECTED[first.code],
    });
  }
  return strays;
}

/** The leaf that holds a place of a text, among leaves in order. */
function leafAt(leaves: readonly Leaf[], at: number): Leaf | undefined {
  let [low, high] = [0, leaves.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((leaves[middle]?.start ?? 0) <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const leaf = leaves[low - 1];
  return leaf !== undefined && at < leaf.end ? leaf : undefined;
}

/** The steps to what is in a branch; the items of a list have its name. The outermost value of JSON has none. */
function stepsTo({ name, up, isItem }: Pick<Branch, 'name' | 'up' | 'isItem'>, isJson: boolean): string[] {
  if (up === undefined || (isJson && up === ROOT)) {
    return [];
  }
  return [...stepsTo(up, isJson), isItem ? '[*]' : name];
}

function stepsOf(leaf: Leaf, format: DocumentFormat): readonly string[] {
  const { name, branch, own, field, isItem } = leaf;
  switch (format) {
    case 'form':
      return [field ?? name];
    case 'json':
      return stepsTo({ name, up: branch, isItem: isItem === true }, true);
    case 'xml':
      return own === undefined && name !== PIECE
        ? [...stepsTo(branch, false), `@${name}`]
        : stepsTo(own ?? branch, false);
  }
}

/** The value of a candidate with `*` in place of its digits, in the notation of a form if it is in one. */
function starredValue({ value }: Candidate, isForm: boolean): string {
  const stars = value.replace(DIGITS, '*');
  return isForm ? stars.replaceAll(' ', '+') : stars;
}

/** Tells whether the value of a code's name holds one: also in a notation or as JSON or XML, which somebody may read. */
function holdsCode(value: string): boolean {
  const { text } = readAs(value, CODE_NOTATIONS);
  return (
    CODE.test(text) ||
    wholeDigits(text, 3, 4) !== undefined ||
    (STRUCTURE.test(text) && CODE_WITHIN.test(text))
  );
}

/** Numbers and codes by their names. `isFree`: tells whether a place is neither extracted nor allowed. */
function namedStrays(
  candidates: readonly Candidate[],
  isForm: boolean,
  isFree: (at: number) => boolean,
): readonly Stray[] {
  const objects = objectsWithNumber(candidates);
  const strays: Stray[] = [];
  for (const candidate of candidates) {
    const { role, strong, value, branch, isLoose, start, end, quote } = candidate;
    const place = { start, end, quote };
    if (isLoose === true || !isFree(start)) {
      continue;
    }
    const isCode = (role === 'cvv' && objects.has(branch)) || (isSecret(role) && strong);
    if (role === 'number' && strong) {
      strays.push({ ...place, by: starredValue(candidate, isForm), code: 'card_not_extracted' });
    } else if (isCode && holdsCode(value)) {
      strays.push({ ...place, by: starsFor(value), code: 'code_not_extracted' });
    }
  }
  return strays;
}

function isSecret(role: Candidate['role']): boolean {
  return role === 'cvv' || role === 'secret';
}

function foundStrays(
  text: string,
  own: Notations,
  all: Notations,
  known: ReadonlySet<string>,
): readonly Stray[] {
  return findNumbers(text, own, all, known).map((edit) => ({ ...edit, code: 'card_not_extracted' }));
}

/** A number of JSON as a whole: its quotes make a text of it. */
function asLiteral(stray: Stray, leaves: readonly Leaf[], text: string): Stray {
  const leaf = leafAt(leaves, stray.start);
  if (leaf?.quote === undefined) {
    return stray;
  }
  const { start, end, quote } = leaf;
  return { ...stray, start, end, quote, by: text.slice(start, end).replace(DIGITS, '*') };
}

/** The numbers and codes of a text that comments or the like split, as a reader joins it. */
function splitStrays(pieces: readonly Leaf[], text: string, known: ReadonlySet<string>): readonly Stray[] {
  const joined = joinedPieces(pieces);
  const { name, up = ROOT } = pieces[0]?.branch ?? ROOT;
  const whole: Leaf = { name, branch: up, value: joined, start: 0, end: joined.length };
  const parts = [
    ...namedStrays(candidatesIn([whole], joined, 'members'), false, () => true),
    ...foundStrays(joined, [], OF_HEADER, known),
  ];
  if (parts.length === 0) {
    return [];
  }
  const codes: (Stray['code'] | undefined)[] = new Array(joined.length);
  for (const { start, end, code } of parts) {
    codes.fill(code, start, end);
  }
  const strays: Stray[] = [];
  let at = 0;
  for (const piece of pieces) {
    const placeOf = createPlaces(piece, text);
    for (const { 0: digit, index } of piece.value.matchAll(DIGITS)) {
      const code = codes[at + index];
      if (code !== undefined) {
        strays.push({ start: placeOf(index), end: placeOf(index + digit.length), by: '*', code });
      }
    }
    at += piece.value.length;
  }
  return strays;
}

/** Codes in a list or an object at the path of a code. */
function codesWithin(
  { visit }: Document,
  { sources }: Rules,
  isWhole: (piece: Leaf) => boolean,
): readonly Stray[] {
  const strays: Stray[] = [];
  for (const { code } of sources === 'cards' ? [] : sources) {
    if (code === undefined) {
      continue;
    }
    visit(code, ({ pieces: own, texts }) => {
      for (const pieces of own === undefined ? texts() : []) {
        if (pieces.every(isWhole) && holdsCode(joinedPieces(pieces))) {
          strays.push(
            ...pieces.map(({ start, end, quote, value }) => {
              return { start, end, quote, by: starsFor(value), code: 'code_not_extracted' } as const;
            }),
          );
        }
      }
    });
  }
  return strays;
}

/** The places of a body that the owner allows to hold anything. */
function allowedPlaces({ visit }: Document, { allow }: Rules): Iterable<Leaf> {
  const places = new Set<Leaf>();
  const add = ({ pieces = [] }: Pick<Found, 'pieces'>): void => {
    for (const piece of pieces) {
      places.add(piece);
    }
  };
  for (const path of allow) {
    visit(path, add);
    // As errors name it.
    if (path[0] === 'body') {
      visit(path.slice(1), add);
    }
  }
  return places;
}

/**
 * Finds what a body still has besides what is extracted. Throws `card_not_extracted` and `code_not_extracted`; with `mask`
 * returns the edits that hide it.
 */
export function strictBody(
  document: Document,
  candidates: readonly Candidate[],
  extracted: readonly Edit[],
  { rules, known }: Strictness,
): readonly Edit[] {
  const { text, leaves, format, split } = document;
  const free = blanked(text, [...extracted, ...allowedPlaces(document, rules)]);
  const isFree = (at: number): boolean => free.charCodeAt(at) === text.charCodeAt(at);
  const isWhole = ({ start, end }: Leaf): boolean => free.slice(start, end) === text.slice(start, end);
  const inCodes = codesWithin(document, rules, isWhole);
  const others = format === 'form' ? candidatesIn(otherReading(text), text, 'members') : [];
  const strays = [
    ...namedStrays([...candidates, ...others], format === 'form', isFree),
    ...inCodes,
    ...foundStrays(free, OWN[format], ALL[format], known).map((stray) => asLiteral(stray, leaves, text)),
    ...split.filter((pieces) => pieces.every(isWhole)).flatMap((pieces) => splitStrays(pieces, text, known)),
  ];
  const stepsAt = (at: number): readonly string[] => {
    const leaf = leafAt(leaves, at);
    return leaf === undefined ? [] : stepsOf(leaf, format);
  };
  return settle(strays, { name: 'body', stepsAt }, rules);
}

/** Characters of ASCII in a query; all others are of no number and of no name of a code. */
const QUERY_NOTATION: Notation = { pattern: /\+|%(?:u00)?[0-7][\da-f]/gi, read: (match) => readAscii(match) };
const COOKIE_NOTATION: Notation = { pattern: /%(?:u00)?[0-7][\da-f]/gi, read: (match) => readAscii(match) };

function readAscii(match: string): string {
  return match === '+' ? ' ' : String.fromCharCode(Number.parseInt(match.slice(-2), 16));
}

/** The pairs of a query or a cookie; one without an equals sign is a value without a name. */
function pairLeaves(text: string, separator: RegExp, notation: Notation): readonly Leaf[] {
  const names = new Names();
  const leaves: Leaf[] = [];
  let start = 0;
  for (const pair of text.split(separator)) {
    const equals = pair.indexOf('=');
    const name = readNotation(pair.slice(0, Math.max(0, equals)), notation).trim();
    const value = readNotation(pair.slice(equals + 1), notation);
    const place = { start: start + equals + 1, end: start + pair.length };
    leaves.push({ ...names.find(name), value, ...place, notation });
    start += pair.length + 1;
  }
  return leaves;
}

/** The pairs of a query or a form as servers read them to which `;` is a separator as well; none without one. */
function otherPairs(text: string): readonly Leaf[] {
  return text.includes(';') ? pairLeaves(text, /[&;]/, QUERY_NOTATION) : [];
}

/** A form as servers read it that look at the text instead of its type: `curl -d` sends JSON as a form. */
function otherReading(text: string): readonly Leaf[] {
  const whole = { name: '', branch: ROOT, value: text, start: 0, end: text.length };
  return [...(STRUCTURE.test(text) ? [whole] : []), ...otherPairs(text)];
}

function isAllowed(place: Place['name'], field: string, { allow }: Rules): boolean {
  const same = place === 'header' ? field.toLowerCase() : field;
  return allow.some((path) => isPathOf(path, [place, field]) || isPathOf(path, [place, same]));
}

interface Part {
  readonly text: string;
  /** Its pairs, or the value of a header. */
  readonly leaves: readonly Leaf[];
  /** Its pairs by other separators. */
  readonly others?: readonly Leaf[];
  readonly name: 'query' | 'header';
  readonly own: Notations;
  readonly all: Notations;
}

/** Checks a query or the value of a header; with `mask` returns it without numbers and codes. */
function strictPart(
  { text, leaves, others = [], name, own, all }: Part,
  steps: Place['stepsAt'],
  { rules, known }: Strictness,
): string {
  const allowed = leaves.filter(({ field }) => field !== undefined && isAllowed(name, field, rules));
  const free = blanked(text, allowed);
  const isFree = (at: number): boolean => free.charCodeAt(at) === text.charCodeAt(at);
  const candidates = candidatesIn([...leaves, ...others], text, 'members');
  const named = namedStrays(candidates, name === 'query', isFree);
  const strays = [...named, ...foundStrays(free, own, all, known)];
  return editText(text, settle(strays, { name, stepsAt: steps }, rules));
}

/** Checks a query, which begins with its question mark, as {@link strictBody} checks a body. */
export function strictQuery(query: string, strictness: Strictness): string {
  if (strictness.rules.strict === false || query.length <= 1) {
    return query;
  }
  const text = query.slice(1);
  const leaves = pairLeaves(text, /&/, QUERY_NOTATION);
  const stepsAt = (at: number): readonly string[] => {
    const field = leafAt(leaves, at)?.field;
    return field === undefined || field === '' ? [] : [field];
  };
  const part = { text, leaves, others: otherPairs(text), name: 'query' } as const;
  return `?${strictPart({ ...part, own: OWN.form, all: ALL.form }, stepsAt, strictness)}`;
}

/** Checks a path. */
export function strictPath(path: string, { rules, known }: Strictness): string {
  if (rules.strict === false || rules.allow.some((allowed) => isPathOf(allowed, ['path']))) {
    return path;
  }
  const strays = foundStrays(path, OF_PATH, OF_PATH, known);
  return editText(path, settle(strays, { name: 'path', stepsAt: () => [] }, rules));
}

/** The values of a header that may be codes: itself, JSON and the like, and the pairs of a cookie. */
function headerLeaves(name: string, text: string): readonly Leaf[] {
  if (name.toLowerCase() === 'cookie') {
    return pairLeaves(text, /[;,]/, COOKIE_NOTATION);
  }
  const value: Leaf = { name, branch: ROOT, value: text, start: 0, end: text.length };
  return cardRole(name) !== null || STRUCTURE.test(text) ? [value] : [];
}

/** The text that a header holds in another form: UTF-8, which arrives byte by byte, and the credentials of Basic. */
function otherText(name: string, text: string): string {
  const [, encoded] = name.toLowerCase() === 'authorization' ? (BASIC.exec(text) ?? []) : [];
  return encoded !== undefined
    ? Buffer.from(encoded, 'base64').toString('latin1')
    : BEYOND_ASCII.test(text)
      ? Buffer.from(text, 'latin1').toString()
      : '';
}

/** Checks the value of a header. A number in its other form hides the whole value. */
function strictValue(name: string, text: string, strictness: Strictness): string {
  const leaves = headerLeaves(name, text);
  const part = { text, leaves, name: 'header', own: OF_PATH, all: OF_HEADER } as const;
  const stepsAt = (): readonly string[] => [name];
  const value = strictPart(part, stepsAt, strictness);
  const hidden = foundStrays(otherText(name, text), OF_PATH, OF_HEADER, strictness.known)
    .slice(0, 1)
    .map((stray) => ({ ...stray, start: 0, end: text.length, by: '*'.repeat(text.length) }));
  settle(hidden, { name: 'header', stepsAt }, strictness.rules);
  return hidden[0]?.by ?? value;
}

/** Checks headers: their names and values, and the pairs of cookies. */
export function strictHeaders(headers: HeaderEntries, strictness: Strictness): HeaderEntries {
  const { rules, known } = strictness;
  if (rules.strict === false) {
    return headers;
  }
  return headers.map(([name, text]) => {
    const inName = MAY_BE_STRAY.test(name) ? foundStrays(name, [], [], known) : [];
    const named = editText(name, settle(inName, { name: 'header', stepsAt: () => [name] }, rules));
    const isFree = MAY_BE_STRAY.test(text) && !isAllowed('header', name, rules);
    return [named, isFree ? strictValue(name, text, strictness) : text];
  });
}
