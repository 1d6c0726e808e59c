/** Stored values that a third party's reply repeats, for callers who may use them and not see them. */
import { passesLuhn } from '../card/luhn.ts';
import { isSadName } from '../card/sensitive-names.ts';
import { HIDDEN, type Secrets } from './echo-secrets.ts';
import { maskText } from './mask-text.ts';

/** What a reply must not show. */
export interface Echoes extends Secrets {
  /** Names, in small letters, behind which values were sent that are too short to be found by themselves. */
  readonly names: readonly string[];
}

/**
 * A reply may hold so many numbers of the length of a stored one. With more, all of them are masked: a caller who has the
 * third party repeat guesses would otherwise see by its mask which one is right.
 */
const NUMBERS_MAX = 16;
/** Secrets times characters: 128 in 1 MB. */
const SEARCH_MAX = 2 ** 27;
/** What may stand between two digits of a number: up to three marks or spaces, or one of them in another notation. */
const BETWEEN =
  '(?:[^\\p{L}\\p{N}%&\\\\]{0,3}|%[0-9a-f]{2}|&(?:nbsp|#160|#32|#xa0);|\\\\(?:[nrt]|u[0-9a-f]{4})?)';
const ENCODED_MARK = /%[0-9a-f]{2}|&[^;]*;|\\u[0-9a-f]{4}/gi;
/** A name, not from within a longer one, perhaps behind the end of an encoded mark; and what stands between it and its value. */
const NAME = '(?<![\\w.-])((?<=%)[0-9a-f]{2}|(?<=\\\\)(?:[nrt]|u[0-9a-f]{4}))?([\\w.-]{1,64})';
const TO_VALUE = '(?:[\\s"\'\\\\:=>[\\]]|\\\\[nrt]|%[0-9a-f]{2}|&#?\\w{1,6};|<!\\[CDATA\\[){1,12}';
const NAMED_VALUE = new RegExp(`${NAME}(?=${TO_VALUE}(?<value>[^\\s"'<>&\\\\,;}\\]]{1,64}))`, 'dgi');
const NAMED_END = new RegExp(`${NAME}${TO_VALUE}$`, 'i');
const NAME_BEFORE_MAX = 128;
const EVERY_NOTATION_MAX = 256;
const CODE = /^\d{1,7}$/;

/** Of a `number` the last four characters are shown, and of `digits` within it; of all else nothing. */
interface Found {
  readonly start: number;
  readonly end: number;
  readonly kind: 'number' | 'digits' | 'other';
}

/** The name behind which a value follows at the end of a text, in every way to read it; none where no name stands there. */
export function namesBefore(text: string): readonly string[] {
  const [, mark = '', name] = NAMED_END.exec(text.slice(-NAME_BEFORE_MAX).toLowerCase()) ?? [];
  return name === undefined ? [] : [...new Set([name, mark + name])];
}

function* matchesOf(text: string, pattern: RegExp, kind: Found['kind']): Generator<Found> {
  for (const { 0: found, index } of text.matchAll(pattern)) {
    yield { start: index, end: index + found.length, kind };
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** Characters of which forms, and base64 for URLs, make others. */
const LIKE: ReadonlyMap<string, string> = new Map([
  [' ', '[ +]'],
  ['+', '[ +-]'],
  ['/', '[/_]'],
]);

/** A character in each notation that a reply may give it. No two of them begin alike: a search must not try both. */
function characterPattern(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  const units = character.split('').map((unit) => `\\\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const literal = LIKE.get(character) ?? escaped(character);
  const percent = encodeURIComponent(character.toWellFormed());
  const encoded = percent === character ? `%${hex}` : percent;
  return `(?:${literal}|${units.join('')}|${encoded}|&#(?:0*${code}|x0*${hex});${/\w/.test(character) ? '' : `|\\\\${literal}`})`;
}

/** Characters that begin a notation themselves. */
const BEGINS_NOTATION = /[\\%&]/;

/** A secret text in the notations of replies; a long one in the usual ones alone. */
function textPattern(text: string): string {
  if (text.length > EVERY_NOTATION_MAX || BEGINS_NOTATION.test(text)) {
    const forms = [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())];
    return [...new Set(forms)].map(escaped).join('|');
  }
  // The padding of base64 may be missing.
  const characters = [...text.replace(/=+$/, '')];
  return characters
    .map((character, at) => {
      const isInNumber = /^\d\d$/.test(`${characters[at - 1]}${character}`);
      return (isInNumber ? BETWEEN : '') + characterPattern(character);
    })
    .join('');
}

/** Whether a text has so many numbers of a length, of those that pass Luhn or of the others, that all must be masked. */
function hasManyNumbers(text: string, length: number, wantsLuhn: boolean): boolean {
  const seen = new Set<string>();
  for (const [chain] of text.matchAll(chainPattern(length))) {
    const digits = chain.replaceAll(ENCODED_MARK, '').replaceAll(/\D/g, '');
    for (let at = 0; at + length <= digits.length; at++) {
      const number = digits.slice(at, at + length);
      if (!seen.has(number) && passesLuhn(number) === wantsLuhn && seen.add(number).size > NUMBERS_MAX) {
        return true;
      }
    }
  }
  return false;
}

/**
 * Tells of a text whether it may be of guesses at a number: then nothing in it may tell that number from the others. It is
 * searched once for all numbers of a kind.
 */
export function createGuessCheck(text: string): (number: string) => boolean {
  const known = new Map<string, boolean>();
  return (number) => {
    const wantsLuhn = passesLuhn(number);
    const kind = `${number.length} ${wantsLuhn}`;
    const isMany = known.get(kind) ?? hasManyNumbers(text, number.length, wantsLuhn);
    known.set(kind, isMany);
    return isMany;
  };
}

/** Whether a search of a text for secrets, and for so many others, would take seconds. Such a text is hidden whole. */
export function isTooLong(text: string, secrets: Secrets | undefined, others: number): boolean {
  const own = secrets && secrets.numbers.length + secrets.digits.length + secrets.texts.length;
  return text.length * (others + (own ?? 0)) > SEARCH_MAX;
}

/** All digits that stand so close together that they may be of one number, if they are at least so many. */
function chainPattern(length: number): RegExp {
  return new RegExp(`\\d(?:${BETWEEN}\\d){${length - 1},}`, 'giu');
}

/** A number in a text, also with separators between its digits. */
export function digitsPattern(digits: string): RegExp {
  return new RegExp([...digits].join(BETWEEN), 'giu');
}

/** Whatever stands behind these names, and digits behind a name of verification codes: whether they are the stored ones or not. */
function* findNamed(text: string, names: readonly string[]): Generator<Found> {
  for (const { 1: mark = '', 2: last = '', groups, indices } of text.matchAll(NAMED_VALUE)) {
    const [start, end] = indices?.groups?.['value'] ?? [0, 0];
    const isCode = CODE.test(groups?.['value'] ?? '');
    const isHidden = (name: string): boolean =>
      names.includes(name.toLowerCase()) || (isCode && isSadName(name));
    if (isHidden(last) || isHidden(mark + last)) {
      yield { start, end, kind: 'other' };
    }
  }
}

function* findAll(text: string, { numbers, digits, texts, names }: Echoes): Generator<Found> {
  const mayBeGuesses = createGuessCheck(text);
  const guessed = new Set<number>();
  for (const number of numbers) {
    yield* matchesOf(text, digitsPattern(number), 'number');
    if (!guessed.has(number.length) && mayBeGuesses(number)) {
      guessed.add(number.length);
      yield* matchesOf(text, chainPattern(number.length), 'number');
    }
  }
  for (const derived of digits) {
    yield* matchesOf(text, digitsPattern(derived), 'digits');
  }
  for (const secret of texts) {
    yield* matchesOf(text, new RegExp(textPattern(secret), 'gi'), 'other');
  }
  yield* findNamed(text, names);
}

/** What was found, in order; what overlaps becomes one, and is no number any more unless all of it is of numbers. */
function merged(found: Iterable<Found>): readonly Found[] {
  const parts: Found[] = [];
  for (const next of [...found].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = parts.at(-1);
    if (last === undefined || next.start >= last.end) {
      parts.push(next);
    } else {
      const isWithin = next.kind === 'digits' && next.end <= last.end;
      const kind = next.kind === last.kind || isWithin ? last.kind : 'other';
      parts[parts.length - 1] = { start: last.start, end: Math.max(last.end, next.end), kind };
    }
  }
  return parts;
}

/**
 * A third party's text in which stored values are hidden: numbers except for their last four digits, also with separators
 * between them, what rules have made of them, and short values behind the names under which they were sent. What a third
 * party itself has encoded, cut or changed in another way stays.
 */
export function maskEchoes(text: string, echoes: Echoes): string {
  if (isTooLong(text, echoes, 0)) {
    return HIDDEN;
  }
  let masked = '';
  let done = 0;
  for (const { start, end, kind } of merged(findAll(text, echoes))) {
    masked += text.slice(done, start) + (kind === 'number' ? maskText(text.slice(start, end)) : HIDDEN);
    done = end;
  }
  return masked + text.slice(done);
}
