import creditCardType from 'credit-card-type';
import { cardDigits } from './digits.ts';

/** Leading digits from `low` to `high`, both of `digits` digits; of all that match, the highest rank wins. */
interface BrandRange {
  readonly brand: string;
  readonly low: number;
  readonly high: number;
  readonly digits: number;
  readonly rank: number;
}

interface Segments {
  readonly starts: Int32Array;
  readonly brands: readonly (string | undefined)[];
}

const SPACE_DIGITS = 8;
const SPACE_SIZE = 10 ** SPACE_DIGITS;

function rangeOf(brand: string, pattern: number | readonly number[]): BrandRange {
  const [low, high] = typeof pattern === 'number' ? [pattern, pattern] : [pattern[0] ?? 0, pattern[1] ?? 0];
  const digits = String(low).length;
  return { brand, low, high, digits, rank: digits };
}

/**
 * What the package leaves out or gets wrong. Dankort (5019) would come out as Maestro; 4571, Visa and Dankort on
 * one card, stays Visa. RuPay shares 60 with Discover's 6011 and Hipercard's 606282, 65 with Discover, which
 * keeps all but the part it gave to RuPay, and 81 with UnionPay's 8100 to 8171; 353 and 356 stay JCB's, whose
 * network those cards run on. Mastercard claims the whole of 6 for Maestro: it ranks lowest, and counts only from
 * six digits on, or every card beginning with 6 would be called Maestro while it is typed.
 */
const CORRECTIONS: readonly BrandRange[] = [
  rangeOf('dankort', 5019),
  rangeOf('rupay', 60),
  rangeOf('rupay', 508),
  rangeOf('rupay', [6521, 6530]),
  rangeOf('rupay', [65310, 65314]),
  rangeOf('rupay', [81, 82]),
  { brand: 'maestro', low: 600000, high: 699999, digits: 6, rank: 1 },
];

/** Maestro's wide six-digit ranges contain the smaller ones of others: they rank as two digits at most. */
function packageRange(brand: string, pattern: number | readonly number[]): BrandRange {
  const range = rangeOf(brand, pattern);
  return brand === 'maestro' ? { ...range, rank: Math.min(range.rank, 2) } : range;
}

function brandRanges(): BrandRange[] {
  return [
    ...CORRECTIONS,
    ...creditCardType('').flatMap(({ type, patterns }) =>
      patterns.filter((pattern) => pattern !== 6).map((pattern) => packageRange(type, pattern)),
    ),
  ];
}

/** The matching range of highest rank, the earlier one among equals. */
function best(ranges: readonly BrandRange[], prefix: string): string | undefined {
  let winner: BrandRange | undefined;
  for (const range of ranges) {
    if (prefix.length < range.digits || range.rank <= (winner?.rank ?? 0)) {
      continue;
    }
    const lead = Number(prefix.slice(0, range.digits));
    if (lead >= range.low && lead <= range.high) {
      winner = range;
    }
  }
  return winner?.brand;
}

/** Cuts the space of eight leading digits into stretches of one brand each, for a binary search. */
function compile(ranges: readonly BrandRange[]): Segments {
  const cuts = new Set([0]);
  for (const { low, high, digits } of ranges) {
    const scale = 10 ** (SPACE_DIGITS - digits);
    cuts.add(low * scale);
    cuts.add((high + 1) * scale);
  }
  const starts = Int32Array.from([...cuts].filter((cut) => cut < SPACE_SIZE)).sort();
  return {
    starts,
    brands: [...starts].map((start) => best(ranges, String(start).padStart(SPACE_DIGITS, '0'))),
  };
}

const RANGES: readonly BrandRange[] = brandRanges();
const SEGMENTS = compile(RANGES);

/** The networks of all numbers in order, each stretch with its first eight digits: a small copy for browsers is built of it. */
export const BRAND_STRETCHES: readonly { readonly start: number; readonly brand: string | undefined }[] = [
  ...SEGMENTS.starts,
].map((start, at) => ({ start, brand: SEGMENTS.brands[at] }));

/**
 * The card network that a number's leading digits belong to: `visa`, `mastercard`, `american-express`, … as the
 * package credit-card-type spells them, and `dankort` and `rupay`. Spaces and dashes are ignored; neither length
 * nor check digit matter, so it also serves a number that is still being typed. Undefined when no range contains the
 * digits, or when the text has other characters.
 */
export function cardBrand(number: string): string | undefined {
  const digits = cardDigits(number);
  if (digits === undefined) {
    return undefined;
  }
  if (digits.length < SPACE_DIGITS) {
    return best(RANGES, digits);
  }
  let prefix = 0;
  for (let at = 0; at < SPACE_DIGITS; at++) {
    prefix = prefix * 10 + digits.charCodeAt(at) - 0x30;
  }
  let low = 0;
  let high = SEGMENTS.starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((SEGMENTS.starts[middle] ?? 0) <= prefix) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return SEGMENTS.brands[low];
}
