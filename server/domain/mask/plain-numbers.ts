/** Texts with numbers as people read them: ASCII digits, usual separators, and a mark for what is not seen. */

import { asciiDigits, isDigit } from '../card/digits.ts';

/** Stands for a character that is not seen. */
export const UNSEEN = '\u200b';

const BEYOND_ASCII = /[^\0-\x7f]/;
const BEYOND_ASCII_PARTS = /[^\0-\x7f]+/g;
/** Digits of other scripts, characters that are not seen, and other spaces and dashes. */
const OTHERS = /[\p{Nd}\p{No}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\s\p{Pd}]/gu;
const IS_UNSEEN = /[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/u;

/** The ASCII digit for one of any script, or a raised or circled one. */
function digitOf(character: string): string | undefined {
  const plain = asciiDigits(character.normalize('NFKC'));
  return /^\d$/.test(plain) ? plain : undefined;
}

function plainCharacter(character: string): string {
  if (IS_UNSEEN.test(character)) {
    return UNSEEN;
  }
  return digitOf(character) ?? (/\s/.test(character) ? ' ' : /\p{Pd}/u.test(character) ? '-' : character);
}

const known = new Map<string, string>();

/** A text of the same length for one of {@link OTHERS}. */
function inPlain(character: string): string {
  let plain = known.get(character);
  if (plain === undefined) {
    plain = plainCharacter(character).padEnd(character.length, UNSEEN);
    known.set(character, plain);
  }
  return plain;
}

function plainPart(part: string): string {
  return part.replaceAll(OTHERS, inPlain);
}

/** What may stand between groups of digits besides a space or a dash; lists, brackets and markup are none. */
const MARK = `[^\\p{L}\\p{N}\\s${UNSEEN},;"'<>&=%^()[\\]{}]`;
const GAP = `\\s?${MARK}{1,2}\\s?${UNSEEN}*`;

function digits(count: number | string): string {
  return `(?:\\d${UNSEEN}*){${count}}`;
}

/** Numbers in the groups of cards, digit by digit, and with separators of thousands. */
const GROUPED = new RegExp(
  `(^|\\D)((?:${[
    `${digits(4)}(?:${GAP}${digits(4)}){3}(?:${GAP}${digits('1,3')})?`,
    `${digits(4)}${GAP}${digits(6)}${GAP}${digits('4,5')}`,
    `${digits(1)}(?:${MARK}${UNSEEN}*${digits(1)}){12,18}`,
    `${digits('1,3')}(?:[.'\u2019]${UNSEEN}*${digits(3)}){4,6}`,
  ].join('|')}))(?!\\d)`,
  'gu',
);
const BETWEEN = new RegExp(`[^\\d${UNSEEN}]+`, 'g');

const LETTER = 0x61;
/** The fewest digits of a number in groups, and the fewest gaps between these. */
const [DIGITS_MIN, GAPS_MIN] = [13, 2];

function isLetter(unit: number): boolean {
  const letter = unit | 0x20;
  return letter >= 0x61 && letter <= 0x7a;
}

/** Replaces separators in numbers; searches only digits without an ASCII letter between them, of which most texts have few. */
function withDashesInGroups(text: string): string {
  let replaced = '';
  let done = 0;
  let [from, to, count, gaps] = [0, 0, 0, 0];
  for (let at = 0; at <= text.length; at++) {
    const unit = at < text.length ? text.charCodeAt(at) : LETTER;
    if (isDigit(unit)) {
      from = count === 0 ? at : from;
      gaps += count > 0 && at > to ? 1 : 0;
      count++;
      to = at + 1;
    } else if (count > 0 && isLetter(unit)) {
      if (count >= DIGITS_MIN && gaps >= GAPS_MIN) {
        replaced += text.slice(done, from) + text.slice(from, to).replaceAll(GROUPED, withDashes);
        done = to;
      }
      count = 0;
      gaps = 0;
    }
  }
  return done === 0 ? text : replaced + text.slice(done);
}

function withDashes(_: string, before: string, number: string): string {
  return before + number.replaceAll(BETWEEN, (gap) => '-'.padEnd(gap.length, UNSEEN));
}

/**
 * A text of the same length in which numbers have ASCII digits, spaces and dashes, and {@link UNSEEN} for what is not seen.
 * Dots, slashes and other separators become dashes where the digits are grouped like those of a card: elsewhere they
 * belong to dates, amounts and addresses. Takes time linear in the length.
 */
export function plainNumbers(text: string): string {
  const plain = BEYOND_ASCII.test(text) ? text.replaceAll(BEYOND_ASCII_PARTS, plainPart) : text;
  return withDashesInGroups(plain);
}
