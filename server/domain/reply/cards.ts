import { cardDigits, onlyDigits } from '../card/digits.ts';
import { passesLuhn } from '../card/luhn.ts';
import { type CardRole, cardRole } from '../card/names.ts';
import { type Leaf, sharedDepth, type Value } from './leaves.ts';

/** A leaf whose name gives it a role, with a value that is valid for the role. */
interface Candidate extends Leaf {
  readonly role: CardRole;
  readonly strong: boolean;
}

/** The leaves that make up the card of a reply. */
export interface FoundCard {
  readonly number: Candidate;
  /** Other places with card numbers and verification codes, of this card or of others. */
  readonly others: readonly Candidate[];
  readonly cvv: Candidate | undefined;
  readonly month: Candidate | undefined;
  readonly year: Candidate | undefined;
  readonly expiry: Candidate | undefined;
  readonly holder: Candidate | undefined;
}

const DIGITS_MIN = 12;
const DIGITS_MAX = 19;
const CVV = /^\d{3,4}$/;
export const MONTH = /^(?:0?[1-9]|1[0-2])$/;
export const YEAR = /^(?:20)?\d\d$/;
/** With a letter, without control characters and characters that XML cannot contain. */
const HOLDER = /^(?=.*\p{L})[^\p{Cc}\p{Cn}\p{Cs}]{1,255}$/u;
/** The most numbers that compete for a value. */
const NUMBERS_MAX = 64;

function hasCardLength(text: string): boolean {
  const length = text.length > 64 ? 0 : (cardDigits(text)?.length ?? 0);
  return length >= DIGITS_MIN && length <= DIGITS_MAX;
}

/** Tells whether a text passes Luhn and has the length of card numbers, with digits, spaces and dashes only. */
export function isCard(text: string): boolean {
  return hasCardLength(text) && passesLuhn(cardDigits(text) ?? '');
}

const FITS: Readonly<Record<CardRole, (text: string) => boolean>> = {
  number: hasCardLength,
  cvv: (text) => CVV.test(text),
  month: (text) => MONTH.test(text),
  year: (text) => YEAR.test(text),
  expiry: (text) => text.length <= 40 && text !== '',
  holder: (text) => HOLDER.test(text) && onlyDigits(text).length < DIGITS_MIN,
};

/** Excludes the white space around a value from its place. */
function trimmed(leaf: Leaf, text: string): Leaf {
  let { start, end } = leaf;
  while (start < end && text.charAt(start).trim() === '') {
    start++;
  }
  while (end > start && text.charAt(end - 1).trim() === '') {
    end--;
  }
  return start === leaf.start && end === leaf.end ? leaf : { ...leaf, value: leaf.value.trim(), start, end };
}

function candidates(leaves: readonly Leaf[], text: string): Candidate[] {
  return leaves.flatMap((leaf) => {
    const named = cardRole(leaf.name, leaf.branch.name);
    const inner = named && trimmed(leaf, text);
    return inner && FITS[named.role](inner.value) ? [{ ...inner, ...named }] : [];
  });
}

/**
 * Finds the card in the leaves of a reply by names and by nearness: of several numbers the first that passes Luhn,
 * otherwise the first by name, with the code, expiry and holder that are nearest to it and to no other number.
 * Undefined without a number.
 */
export function findCard(leaves: readonly Leaf[], text: string): FoundCard | undefined {
  const all = candidates(leaves, text);
  const numbers = all.filter(({ role }) => role === 'number');
  const number = numbers.find(({ value }) => isCard(value)) ?? numbers.find(({ strong }) => strong);
  if (number === undefined) {
    return undefined;
  }
  const rivals = numbers.slice(0, NUMBERS_MAX).filter(({ value }) => value !== number.value);
  const nearest = (role: CardRole): Candidate | undefined => {
    let best: Candidate | undefined;
    let bestRank = -1;
    for (const candidate of all) {
      const { branch, strong } = candidate;
      if (candidate.role !== role || !(strong || branch === number.branch)) {
        continue;
      }
      const near = sharedDepth(branch, number.branch);
      const rank = 2 * near + (strong ? 1 : 0);
      if (rank > bestRank && rivals.every((rival) => sharedDepth(branch, rival.branch) <= near)) {
        best = candidate;
        bestRank = rank;
      }
    }
    return best;
  };
  const cvv = nearest('cvv');
  return {
    number,
    others: all.filter((one) => one !== number && one !== cvv && isSecret(one)),
    cvv,
    month: nearest('month'),
    year: nearest('year'),
    expiry: nearest('expiry'),
    holder: nearest('holder'),
  };
}

/** Tells whether a place must not stay readable in the stored reply. */
function isSecret({ role, strong }: Candidate): boolean {
  return role === 'number' || (role === 'cvv' && strong);
}

/** Separators of month and year, also as JSON, XML and forms write them. */
const BETWEEN = String.raw`(?:[\s+/.-]|\\/|%2[0f]|&#(?:47|x2f);){1,5}`;
const MONTH_1 = '(?<month>0?[1-9]|1[0-2])';
const MONTH_2 = '(?<month>0[1-9]|1[0-2])';

const EXPIRY_FORMS: readonly RegExp[] = [
  `^${MONTH_1}${BETWEEN}(?<year>20\\d\\d|\\d\\d)$`,
  `^(?<year>20\\d\\d)${BETWEEN}${MONTH_1}(?:${BETWEEN}\\d{1,2}(?:[T ].*)?)?$`,
  `^${MONTH_2}(?<year>20\\d\\d|\\d\\d)$`,
  `^(?<year>20\\d\\d|\\d\\d)${MONTH_2}$`,
].map((form) => new RegExp(form, 'di'));

/**
 * Month and year of the expiry at a place of a text: `12/27`, `12/2027`, `2027-12`, `2027-12-31`, `1227`, `122027`,
 * `202712` and, if the first two digits are no month, `2712`.
 */
export function splitExpiry(
  text: string,
  { start, end, write }: Omit<Value, 'value'>,
): { readonly month: Value; readonly year: Value } | undefined {
  const source = text.slice(start, end);
  const part = ([from, to]: [number, number]): Value => ({
    value: source.slice(from, to),
    start: start + from,
    end: start + to,
    write,
  });
  for (const form of EXPIRY_FORMS) {
    const { month, year } = form.exec(source)?.indices?.groups ?? {};
    if (month !== undefined && year !== undefined) {
      return { month: part(month), year: part(year) };
    }
  }
  return undefined;
}
