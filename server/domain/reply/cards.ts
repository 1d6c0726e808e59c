import { VaultError } from '../../core/errors.ts';
import { cardBrand } from '../card/brand.ts';
import { cardDigits, onlyDigits } from '../card/digits.ts';
import { passesLuhn } from '../card/luhn.ts';
import { type CardRole, cardRole, isOtherNumber, type NamedRole, rolesWithin } from '../card/names.ts';
import { isFloating } from '../card/number.ts';
import { cardRuns } from '../card/runs.ts';
import { isSadName } from '../card/sensitive-names.ts';
import { remembered } from '../text/remembered.ts';
import { isSchemaMonth, type Part, readExpiry, readMonth, readYear } from './expiry.ts';
import { NO_CARD, textLeaves } from './free-text.ts';
import { jsonLeaves } from './json.ts';
import {
  type Branch,
  branchOf,
  createPlaces,
  type Leaf,
  partOf,
  sharedDepth,
  trimmed,
  type Value,
} from './leaves.ts';
import { xmlLeaves } from './xml.ts';

/** A value with its role; a weak one only counts next to a number. */
export interface Candidate extends Leaf {
  readonly role: CardRole;
  readonly strong: boolean;
  /** It is in a text that has no members. */
  readonly isLoose?: true;
  /** Of numbers. */
  readonly rank: number;
  /** The parts of an expiry. */
  readonly month?: Value | undefined;
  readonly year?: Value | undefined;
}

/** The values around the number of a card. */
interface Surroundings {
  readonly cvv: Candidate | undefined;
  readonly month: Value | undefined;
  readonly year: Value | undefined;
  readonly holder: Value | undefined;
  /** First and last name joined, where the text has no whole one. */
  readonly joinedHolder: string | undefined;
}

/** The leaves that make up the card of a text. */
export interface FoundCard extends Surroundings {
  readonly number: Candidate;
  /** Other places with card numbers, of this card or of others. */
  readonly otherNumbers: readonly Candidate[];
  /** Other places with codes. */
  readonly otherCodes: readonly Candidate[];
}

const DIGITS_MIN = 12;
const DIGITS_MAX = 19;
const NUMBER_CHARACTERS_MAX = 64;
const CVV = /^\d{3,4}$/;
const DIGIT = /\p{Nd}/u;
/** With a letter, without control characters, characters that XML cannot contain, and entities that are not known. */
const HOLDER = /^(?=.*\p{L})(?!.*&\w{1,31};)[^\p{Cc}\p{Cn}\p{Cs}]{1,255}$/u;
/** The most numbers that compete for a value. */
const NUMBERS_MAX = 64;

/**
 * Ranks of numbers; of equal ones the first is the card. Those of `other` things, and weak ones that fit `none`, are no
 * card, but must not stay readable.
 */
const RANK = { other: -1, none: 0, unnamed: 1, gift: 2, weak: 3, strong: 4, valid: 5 } as const;

const GIFT = /gift|voucher|loyalty/i;
const isGiftName = remembered((name) => GIFT.test(name));
const isKindName = remembered((name) => /type|kind|brand|scheme|method/i.test(name));
/** Members of an object that name another member of it, which is the value: `{ "name": "cvv", "value": "123" }`. */
const isLabelName = remembered((name) =>
  /^(?:name|key|field|field_?name|label|id|code|param(?:eter)?|attribute|title)$/i.test(name),
);
const VALUE_NAMES = /^(?:value|val|text|content|answer|string_?value)$/i;
const LABEL = /^[a-z_]\D{1,60}\d{0,2}$/i;

/** Track data (ISO/IEC 7813): both tracks by their sentinels, and the second without them. */
const TRACK = /B\d{12,19}\^[^^\r\n]{2,45}\^\d{3}|;\d{12,19}=\d{4}|(?<!\d)(\d{12,19})=\d{7}/gi;
const TRACK_PART = /\d{12}[=^]/;
const TRACK_NAME = /track|stripe|swipe/i;

/** Throws `track_data_refused` for a text with the data of a magnetic stripe. */
function rejectTracks(text: string): void {
  if (TRACK_PART.test(text)) {
    for (const [, digits] of text.matchAll(TRACK)) {
      if (digits === undefined || passesLuhn(digits)) {
        throw new VaultError('track_data_refused');
      }
    }
  }
}

/** What is noted of the objects of a text before its values are read. */
interface Objects {
  /** The leaves that name the value of their object, and those that name the next one of their list. */
  readonly labels: ReadonlyMap<Branch | Leaf, Leaf>;
  readonly gifts: ReadonlySet<Branch>;
  /** Whether branches are within a member with the name of sensitive data. */
  readonly sensitive: Map<Branch, boolean>;
}

function isLabel(value: string): boolean {
  return LABEL.test(value) && cardRole(value)?.strong === true;
}

function readObjects(leaves: readonly Leaf[]): Objects {
  const labels = new Map<Branch | Leaf, Leaf>();
  const gifts = new Set<Branch>();
  let before: Leaf | undefined;
  for (const leaf of leaves) {
    const { name, branch, value } = leaf;
    if (leaf.isAside === true) {
      continue;
    }
    if (before?.branch === branch && before.name === name && isLabel(before.value)) {
      labels.set(leaf, before);
    }
    before = leaf;
    if (isLabelName(name) && isLabel(value)) {
      labels.set(branch, leaf);
    } else if (isKindName(name) && GIFT.test(value)) {
      gifts.add(branch);
    }
  }
  return { labels, gifts, sensitive: new Map() };
}

function isSensitive(branch: Branch, known: Map<Branch, boolean>): boolean {
  let found = known.get(branch);
  if (found === undefined) {
    found = isSadName(branch.name) || (branch.up !== undefined && isSensitive(branch.up, known));
    known.set(branch, found);
  }
  return found;
}

/** A leaf under the name that its object gives it. */
function labelled(leaf: Leaf, { labels }: Objects): Leaf {
  if (labels.size === 0) {
    return leaf;
  }
  const { branch, own } = leaf;
  const label = labels.get(leaf) ?? (VALUE_NAMES.test(leaf.name) ? labels.get(branch) : undefined);
  if (label !== undefined) {
    return { ...leaf, name: label.value, branch: branch.up ?? branch };
  }
  const ownLabel = own && labels.get(own);
  return ownLabel === undefined ? leaf : { ...leaf, name: ownLabel.value };
}

/** Tells whether more digits follow a card number that passes Luhn without them: a code, or an expiry. */
function hasMoreBehind(text: string, digits: string): boolean {
  const [first] = passesLuhn(digits) ? [] : cardRuns(text);
  return first !== undefined && first.digits.length < digits.length && digits.startsWith(first.digits);
}

/**
 * The text of a number with digits, spaces and dashes only; undefined for any other text, for zeros alone, for a number
 * in floating notation, and for one with more behind it.
 */
function readNumber(value: string): string | undefined {
  if (value.length > NUMBER_CHARACTERS_MAX || isFloating(value)) {
    return undefined;
  }
  const text = /^[\d -]*$/.test(value)
    ? value
    : value
        .normalize('NFKC')
        .replaceAll('&nbsp;', ' ')
        .replaceAll(/[\s.]/g, ' ')
        .replaceAll(/\p{Pd}/gu, '-')
        .replaceAll(/\p{Cf}/gu, '')
        .trim();
  const digits = cardDigits(text) ?? '';
  return digits.length >= DIGITS_MIN &&
    digits.length <= DIGITS_MAX &&
    /[1-9]/.test(digits) &&
    !hasMoreBehind(text, digits)
    ? text
    : undefined;
}

/** The rank of a number by its name: a weak one must be one of a network. */
function rankOf(text: string, strong: boolean, isGift: boolean): number {
  const isValid = passesLuhn(onlyDigits(text));
  if (strong) {
    return isGift ? RANK.gift : isValid ? RANK.valid : RANK.strong;
  }
  return isValid && cardBrand(text) !== undefined ? (isGift ? RANK.gift : RANK.weak) : RANK.none;
}

/** Parts of a leaf, each with the digits that it says. */
function partValue(leaf: Leaf, text: string, { from, to, value }: Part): Value {
  const part = partOf(leaf, text, from, to);
  return part.value === value ? part : { value, start: part.start, end: part.end };
}

/** The candidate that a leaf is by its name; undefined if its value does not fit. */
function namedCandidate(
  leaf: Leaf,
  text: string,
  { role, strong }: NamedRole,
  gifts: ReadonlySet<Branch>,
): Candidate | undefined {
  const { value, name, branch } = leaf;
  const made = { ...leaf, role, strong, rank: RANK.none };
  switch (role) {
    case 'number': {
      const number = readNumber(value);
      const isGift = gifts.has(branch) || isGiftName(branch.name) || isGiftName(name);
      const write = number === value ? leaf.write : undefined;
      return number === undefined
        ? undefined
        : { ...made, value: number, write, rank: rankOf(number, strong, isGift) };
    }
    case 'cvv':
    case 'secret':
      return CVV.test(value) ? made : undefined;
    case 'month': {
      const month = readMonth(value);
      return month && { ...made, ...partValue(leaf, text, month) };
    }
    case 'year': {
      const year = readYear(value);
      return year && { ...made, ...partValue(leaf, text, year) };
    }
    case 'expiry': {
      if (isSchemaMonth(value)) {
        return namedCandidate(leaf, text, { role: 'month', strong }, gifts);
      }
      const found = readExpiry(value, name);
      return (
        found && {
          ...made,
          month: partValue(leaf, text, found.month),
          year: partValue(leaf, text, found.year),
        }
      );
    }
    default:
      return HOLDER.test(value) && onlyDigits(value).length < DIGITS_MIN ? made : undefined;
  }
}

/** A number in a text that gives it no name, or that of something else. */
function unnamedCandidate(leaf: Leaf, { name, branch }: Leaf): Candidate {
  const value = readNumber(leaf.value) ?? leaf.value;
  const isCard = leaf.name === '' && cardBrand(value) !== undefined && !isOtherNumber(name, branch.name);
  return {
    ...{ ...leaf, value, write: value === leaf.value ? leaf.write : undefined },
    ...{ role: 'number', strong: false, rank: isCard ? RANK.unnamed : RANK.other },
  };
}

/**
 * How deep a text is: texts within texts are read one level deep, and numbers and labels in those as well; `members`: the
 * outer text without such labels.
 */
type Level = 'outer' | 'members' | 'inner' | 'text';

/** An encrypted PIN has eight bytes, which base64 writes in eleven characters. */
const PIN_BLOCK_MIN = 11;
/** But for the `e` of an exponent. */
const LETTER = /[^\P{L}eE]/u;
/** Texts that are shorter, or have fewer digits, hold nothing. */
const INNER_MIN = 6;
const MAY_HOLD = /\d\D?\d\D?\d/;

/** The leaves of a text within a text. */
function innerLeaves({ value, name, branch }: Leaf, level: Level): readonly [Level, readonly Leaf[]] {
  const first = level === 'inner' ? '' : value.trimStart().charAt(0);
  const within = branchOf(name, branch);
  const leaves =
    first === '{' || first === '['
      ? jsonLeaves(value, within)
      : first === '<'
        ? xmlLeaves(value, within)
        : undefined;
  if (leaves !== undefined) {
    return ['inner', leaves];
  }
  return ['text', level === 'members' ? [] : textLeaves(value, within)];
}

/** The candidates of a text within a text, in the places of the outer one. */
function innerCandidates(leaf: Leaf, text: string, level: Level): readonly Candidate[] {
  const [inner, leaves] = innerLeaves(leaf, level);
  if (leaves.length === 0) {
    return [];
  }
  const placeOf = createPlaces(leaf, text);
  const moved = ({ value, start, end, write }: Value): Value => ({
    ...{ value, start: placeOf(start), end: placeOf(end) },
    // A tag is written in the notation of the outer text alone.
    write: write?.(value) === value ? leaf.write : undefined,
  });
  const loose = inner === 'text' ? ({ isLoose: true } as const) : {};
  return candidatesOf(leaves, leaf.value, inner, leaf).map((found) => ({
    ...found,
    ...loose,
    quote: found.quote && (leaf.write?.(found.quote) ?? found.quote),
    // What stands beside a text belongs to the numbers in it.
    own: inner === 'text' ? leaf.branch : found.own,
    ...moved(found),
    month: found.month && moved(found.month),
    year: found.year && moved(found.year),
  }));
}

/** Tells whether the value of a code's name may be one. A shorter text with letters is a password: no PIN or block of one. */
function mayBeCode(value: string): boolean {
  return DIGIT.test(value) && (value.length >= PIN_BLOCK_MIN || !LETTER.test(value));
}

/** The candidates of a leaf that is none by its name. `around`: the leaf of an outer text that it is in. */
function otherCandidates(
  leaf: Leaf,
  text: string,
  level: Level,
  around: Leaf | undefined,
  isSecret: boolean,
): readonly Candidate[] {
  const { name, value } = leaf;
  if (level === 'text') {
    return name === '' || name === NO_CARD ? [unnamedCandidate(leaf, around ?? leaf)] : [];
  }
  if (isSecret) {
    rejectNamedTrack(leaf);
    return mayBeCode(value) ? [{ ...leaf, role: 'secret', strong: true, rank: RANK.none }] : [];
  }
  if (value.length < INNER_MIN || !MAY_HOLD.test(value)) {
    return [];
  }
  rejectTracks(value);
  return innerCandidates(leaf, text, level);
}

/** Codes and numbers of what is no part of the message. */
function asideCandidates(leaf: Leaf, text: string, level: Level): Candidate[] {
  return otherCandidates(leaf, text, level, undefined, false).flatMap((found): Candidate[] => {
    const { role, strong } = found;
    return role === 'number'
      ? [{ ...found, rank: RANK.other }]
      : strong && (role === 'cvv' || role === 'secret')
        ? [{ ...found, role: 'secret' }]
        : [];
  });
}

function isSecretRole(named: NamedRole | null): boolean {
  return named?.strong === true && (named.role === 'cvv' || named.role === 'secret');
}

/** The candidates among leaves, in order. */
function candidatesOf(
  leaves: readonly Leaf[],
  text: string,
  level: Level,
  around: Leaf | undefined,
): Candidate[] {
  const objects = readObjects(leaves);
  const found: Candidate[] = [];
  let within: Branch | undefined;
  let roleOf = cardRole;
  for (const each of leaves) {
    const leaf = trimmed(labelled(each, objects), text);
    const { name, branch, value } = leaf;
    if (value === '' || objects.labels.get(branch) === each) {
      continue;
    }
    if (each.isAside === true) {
      found.push(...asideCandidates(leaf, text, level));
      continue;
    }
    if (branch !== within) {
      within = branch;
      roleOf = rolesWithin(branch.name, branch.up?.name ?? '');
    }
    const named = name === NO_CARD ? null : roleOf(name);
    const isInexact = each.isInexact === true;
    const candidate =
      named === null || isInexact ? undefined : namedCandidate(leaf, text, named, objects.gifts);
    if (candidate !== undefined) {
      found.push(candidate);
      continue;
    }
    const isSecret = isSecretRole(named) || isSensitive(branch, objects.sensitive);
    if (isInexact && !isSecret) {
      continue;
    }
    for (const other of otherCandidates(leaf, text, level, around, isSecret)) {
      found.push(other);
    }
  }
  return found;
}

/** Throws `track_data_refused` for a member with the name of a track and a card number in it. */
function rejectNamedTrack({ name, value }: Leaf): void {
  rejectTracks(value);
  if (TRACK_NAME.test(name) && cardRuns(value.replace(/\D+/g, '\n')).length > 0) {
    throw new VaultError('track_data_refused');
  }
}

/** The code, month, year or the like that is nearest to the card's number and to no other one. */
function createNearest(
  all: readonly Candidate[],
  number: Candidate,
): (role: CardRole) => Candidate | undefined {
  const rivals = all
    .filter(({ role, rank, value }) => role === 'number' && rank > RANK.other && value !== number.value)
    .slice(0, NUMBERS_MAX);
  return (role) => {
    let best: Candidate | undefined;
    let bestRank = -1;
    for (const candidate of all) {
      const { branch, strong } = candidate;
      if (candidate.role !== role || !(strong || branch === number.branch || branch === number.own)) {
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
}

type Nearest = ReturnType<typeof createNearest>;

/** Month and year, of one value if that is an expiry by its name and they are not by theirs. */
function expiryOf(nearest: Nearest): Pick<FoundCard, 'month' | 'year'> {
  const [month, year, expiry] = [nearest('month'), nearest('year'), nearest('expiry')];
  const isNamed = month?.strong === true && year?.strong === true;
  return expiry === undefined || isNamed ? { month, year } : { month: expiry.month, year: expiry.year };
}

/** The holder as a whole; otherwise first and last name joined. A name beside a last name is a first name. */
function holderOf(all: readonly Candidate[], nearest: Nearest): Pick<FoundCard, 'holder' | 'joinedHolder'> {
  const holder = nearest('holder');
  const lastOf = (first: Candidate): Candidate | undefined =>
    all.find(({ role, branch }) => role === 'last' && branch === first.branch);
  const first = holder ?? nearest('first');
  const last = first && lastOf(first);
  if (holder !== undefined && (last === undefined || !/^name$/i.test(holder.name))) {
    return { holder, joinedHolder: undefined };
  }
  const joinedHolder = first && last && `${first.value} ${last.value}`;
  return { holder: undefined, joinedHolder };
}

/** The values of the card with this number, which are nearest to it and to no other one. */
function around(all: readonly Candidate[], number: Candidate): Surroundings {
  const nearest = createNearest(all, number);
  return { cvv: nearest('cvv'), ...expiryOf(nearest), ...holderOf(all, nearest) };
}

function isCard({ role, rank }: Candidate): boolean {
  return role === 'number' && rank > RANK.none;
}

/** The objects with a number, in which weak names of codes count. */
export function objectsWithNumber(all: readonly Candidate[]): ReadonlySet<Branch> {
  const objects = new Set<Branch>();
  for (const { role, branch, own } of all) {
    if (role === 'number') {
      objects.add(branch).add(own ?? branch);
    }
  }
  return objects;
}

function codeTest(all: readonly Candidate[]): (candidate: Candidate) => boolean {
  const objects = objectsWithNumber(all);
  return ({ role, strong, branch }) =>
    (role === 'cvv' || role === 'secret') && (strong || objects.has(branch));
}

/**
 * Finds the card in the leaves of a text by names and by nearness: the number with the best name, of several the first,
 * with the code, expiry and holder that are nearest to it and to no other number. Undefined without a number. Throws
 * `track_data_refused`, and what the readers of texts within the text throw.
 */
export function findCard(leaves: readonly Leaf[], text: string, level: Level): FoundCard | undefined {
  rejectTracks(text);
  const all = candidatesOf(leaves, text, level, undefined);
  const numbers = all.filter(({ role }) => role === 'number');
  const number = numbers.reduce<Candidate | undefined>(
    (best, each) => (each.rank > (best?.rank ?? RANK.none) ? each : best),
    undefined,
  );
  if (number === undefined) {
    return undefined;
  }
  const values = around(all, number);
  const isCode = codeTest(all);
  return {
    number,
    otherNumbers: numbers.filter((one) => one !== number),
    otherCodes: all.filter((one) => one !== values.cvv && isCode(one)),
    ...values,
  };
}

/**
 * The candidates among the leaves of a message; `members`: only those with a name of their own. Throws as {@link findCard}
 * does.
 */
export function candidatesIn(
  leaves: readonly Leaf[],
  text: string,
  level: 'outer' | 'members',
): readonly Candidate[] {
  rejectTracks(text);
  return candidatesOf(leaves, text, level, undefined);
}

/** One of several cards: all places of its number, and its values. */
export interface CardOfMany extends Surroundings {
  readonly numbers: readonly Candidate[];
}

/** The innermost of the branches around a candidate. */
function innermost({ branch, own }: Candidate): Branch {
  return own !== undefined && own.depth > branch.depth ? own : branch;
}

/** Candidates of one role whose innermost object with a number is the same, in order. */
interface Rivals {
  readonly branch: Branch;
  readonly candidates: Candidate[];
}

/** The index of the last number that begins before a place; -1 if there is none. */
function lastBefore(numbers: readonly Candidate[], place: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle]?.start ?? 0) < place) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

/** Each candidate with the numbers that it may belong to. */
function ownersOf(
  { branch, candidates }: Rivals,
  numbers: readonly Candidate[],
): readonly (readonly [Candidate, readonly Candidate[]])[] {
  const [first] = candidates;
  const isOne = numbers.every(({ value }) => value === numbers[0]?.value);
  if (first === undefined || isOne) {
    return candidates.map((each) => [each, numbers.slice(0, 1)]);
  }
  const isCode = first.role === 'cvv' || first.role === 'secret';
  if (candidates.length === 1 && !isCode) {
    return [[first, numbers]];
  }
  // In one object they follow their numbers, or precede them, and in an outer one a code is nobody's.
  const follows = first.start > (numbers[0]?.start ?? 0);
  return candidates.map((each) => {
    const number = numbers[lastBefore(numbers, each.start) + (follows ? 0 : 1)];
    const isApart = isCode && number?.branch !== branch;
    return [each, number === undefined || isApart ? [] : [number]];
  });
}

/** The numbers within each branch, in order. */
function numbersByBranch(numbers: readonly Candidate[]): ReadonlyMap<Branch, readonly Candidate[]> {
  const byBranch = new Map<Branch, Candidate[]>();
  for (const each of numbers) {
    for (let at: Branch | undefined = innermost(each); at !== undefined; at = at.up) {
      const within = byBranch.get(at);
      if (within === undefined) {
        byBranch.set(at, [each]);
      } else {
        within.push(each);
      }
    }
  }
  return byBranch;
}

/** All candidates but numbers by their role and the innermost branch with a number around them. */
function rivalsIn(
  all: readonly Candidate[],
  byBranch: ReadonlyMap<Branch, readonly Candidate[]>,
): Iterable<Rivals> {
  const rivals = new Map<Branch, Map<CardRole, Rivals>>();
  for (const each of all) {
    let branch: Branch | undefined = each.role === 'number' ? undefined : each.branch;
    while (branch !== undefined && !byBranch.has(branch)) {
      branch = branch.up;
    }
    if (branch === undefined) {
      continue;
    }
    const byRole = rivals.get(branch) ?? new Map<CardRole, Rivals>();
    const those = byRole.get(each.role) ?? { branch, candidates: [] };
    those.candidates.push(each);
    rivals.set(branch, byRole.set(each.role, those));
  }
  return [...rivals.values()].flatMap((byRole) => [...byRole.values()]);
}

/**
 * Finds all cards among candidates, each with its own code, expiry and holder: the values in the innermost object that holds
 * its number and no other one; in an object with several numbers those that stand beside it, and what is there only once.
 * Throws `body_too_large` for more numbers.
 */
export function findCards(
  all: readonly Candidate[],
  numbersMax: number,
): { readonly cards: readonly CardOfMany[]; readonly codes: readonly Candidate[] } {
  const found = all.filter(isCard);
  if (found.length > numbersMax) {
    throw new VaultError('body_too_large');
  }
  const byBranch = numbersByBranch(found);
  const others = new Map<string, Candidate[]>();
  for (const rivals of rivalsIn(all, byBranch)) {
    for (const [candidate, owners] of ownersOf(rivals, byBranch.get(rivals.branch) ?? [])) {
      for (const { value } of owners) {
        const those = others.get(value) ?? [];
        those.push(candidate);
        others.set(value, those);
      }
    }
  }
  const cards = [...Map.groupBy(found, ({ value }) => value)].flatMap(([value, numbers]) => {
    const [number] = numbers;
    return number === undefined
      ? []
      : [{ numbers, ...around([number, ...(others.get(value) ?? [])], number) }];
  });
  return { cards, codes: all.filter(codeTest(all)) };
}
