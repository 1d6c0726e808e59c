import { cardDigits, onlyDigits } from '../card/digits.ts';
import { passesLuhn } from '../card/luhn.ts';
import { type CardRole, cardRole } from '../card/names.ts';
import { type Leaf, sharedDepth } from './leaves.ts';

/** A leaf whose name gives it a role, with a value that is valid for the role. */
export interface Candidate extends Leaf {
  readonly role: CardRole;
  readonly strong: boolean;
}

/** The leaves that make up the card of a reply. */
export interface FoundCard {
  readonly number: Candidate;
  /** Other places with card numbers and codes, of this card or of others. */
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
const MONTH = /^(?:0?[1-9]|1[0-2])$/;
const YEAR = /^(?:\d\d|20\d\d)$/;
/** As a name: with a letter, without control characters and what XML cannot contain. */
const HOLDER = /^(?=.*\p{L})[^\p{Cc}\p{Cn}\p{Cs}]{1,255}$/u;
/** How many numbers compete for a value at most. */
const NUMBERS_MAX = 64;

/** Whether a text is as long as card numbers are and has nothing but digits, spaces and dashes. */
export function hasCardLength(text: string): boolean {
  const length = text.length > 64 ? 0 : (cardDigits(text)?.length ?? 0);
  return length >= DIGITS_MIN && length <= DIGITS_MAX;
}

function isCard(text: string): boolean {
  return passesLuhn(cardDigits(text) ?? '');
}

const FITS: Readonly<Record<CardRole, (text: string) => boolean>> = {
  number: hasCardLength,
  cvv: (text) => CVV.test(text),
  month: (text) => MONTH.test(text),
  year: (text) => YEAR.test(text),
  expiry: (text) => text.length <= 40 && text !== '',
  holder: (text) => HOLDER.test(text) && onlyDigits(text).length < DIGITS_MIN,
};

/** Without the white space around a value, where it is written as it is. */
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
  const found: Candidate[] = [];
  for (const leaf of leaves) {
    const named = cardRole(leaf.name, leaf.branch.name);
    const inner = named === undefined ? leaf : trimmed(leaf, text);
    if (named !== undefined && FITS[named.role](inner.value)) {
      found.push({ ...inner, ...named });
    }
  }
  return found;
}

/** The first number that passes the Luhn check, otherwise the first number by name. */
function mainNumber(numbers: readonly Candidate[]): Candidate | undefined {
  return numbers.find(({ value }) => isCard(value)) ?? numbers.find(({ strong }) => strong);
}

/**
 * Finds the card in the leaves of a reply by names and by nearness: of several numbers the first that passes Luhn,
 * with the code, expiry and holder that stand nearest to it and to no other number. Undefined without a number.
 */
export function findCard(leaves: readonly Leaf[], text: string): FoundCard | undefined {
  const all = candidates(leaves, text);
  const numbers = all.filter(({ role }) => role === 'number');
  const number = mainNumber(numbers);
  if (number === undefined) {
    return undefined;
  }
  const rivals = numbers.slice(0, NUMBERS_MAX).filter(({ value }) => value !== number.value);
  const belongs = (near: number, { branch }: Candidate): boolean =>
    rivals.every((rival) => sharedDepth(branch, rival.branch) <= near);
  const nearest = (role: CardRole): Candidate | undefined => {
    let best: Candidate | undefined;
    let bestRank = -1;
    for (const candidate of all) {
      const beside = candidate.branch === number.branch;
      if (candidate.role !== role || !(candidate.strong || beside)) {
        continue;
      }
      const near = sharedDepth(candidate.branch, number.branch);
      const rank = 2 * near + (candidate.strong ? 1 : 0);
      if (rank > bestRank && belongs(near, candidate)) {
        best = candidate;
        bestRank = rank;
      }
    }
    return best;
  };
  const cvv = nearest('cvv');
  const others = all.filter((one) => one !== number && one !== cvv && isSecret(one));
  const [month, year, expiry, holder] = [
    nearest('month'),
    nearest('year'),
    nearest('expiry'),
    nearest('holder'),
  ];
  return { number, others, cvv, month, year, expiry, holder };
}

/** Whether a place must not stay readable in what is kept of a reply: a code, or what may be a card's number. */
function isSecret({ role, strong }: Candidate): boolean {
  return role === 'number' || (role === 'cvv' && strong);
}
