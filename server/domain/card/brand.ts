import creditCardType from 'credit-card-type';
import { cardDigits } from './digits.ts';

/** Numbers whose first `digits` digits are from `low` to `high`. The highest rank wins. */
interface BrandRange {
  readonly brand: string;
  readonly low: number;
  readonly high: number;
  readonly digits: number;
  readonly rank: number;
}

/** Sorted starts of segments of eight-digit prefixes, with their brands. */
interface Segments {
  readonly starts: Int32Array;
  readonly brands: readonly (string | undefined)[];
}

const SPACE_DIGITS = 8;
const SPACE_SIZE = 10 ** SPACE_DIGITS;

/** A range of prefixes; a longer prefix has a higher rank. */
function rangeOf(brand: string, pattern: number | readonly number[]): BrandRange {
  const [low, high] = typeof pattern === 'number' ? [pattern, pattern] : [pattern[0] ?? 0, pattern[1] ?? 0];
  const digits = String(low).length;
  return { brand, low, high, digits, rank: digits };
}

/**
 * Corrections of the package. Dankort (5019) would be recognised as Maestro; 4571, Visa and Dankort on one card,
 * remains Visa. RuPay shares 60 with Discover's 6011 and Hipercard's 606282, 65 with Discover, which keeps all but
 * the part it gave to RuPay, and 81 with UnionPay's 8100 to 8171; 353 and 356 remain JCB, whose network those cards
 * use. Mastercard claims all of 6 for Maestro: that range has the lowest rank and needs six digits, otherwise every
 * card that starts with 6 would be called Maestro while it is typed.
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

/** Maestro's wide six-digit ranges contain smaller ones of other brands, so they rank like two digits at most. */
function packageRange(brand: string, pattern: number | readonly number[]): BrandRange {
  const range = rangeOf(brand, pattern);
  return brand === 'maestro' ? { ...range, rank: Math.min(range.rank, 2) } : range;
}

/** The brand of the matching range with the highest rank, the first one of several. */
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

/** Splits the space of eight leading digits into segments of one brand each, for a binary search. */
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

const RANGES: readonly BrandRange[] = [
  ...CORRECTIONS,
  ...creditCardType('').flatMap(({ type, patterns }) =>
    patterns.filter((pattern) => pattern !== 6).map((pattern) => packageRange(type, pattern)),
  ),
];
const SEGMENTS = compile(RANGES);

/** All segments in ascending order. The build of the forms makes a small copy for browsers of it. */
export const BRAND_STRETCHES: readonly { readonly start: number; readonly brand: string | undefined }[] = [
  ...SEGMENTS.starts,
].map((start, at) => ({ start, brand: SEGMENTS.brands[at] }));

/**
 * The card network of a number in the spelling of the package credit-card-type, and `dankort` and `rupay`. Spaces and
 * dashes are ignored. Length and check digit are not checked, so it also works while a number is typed. Undefined if no
 * range matches, or for other characters.
 */
export function cardBrand(number: string): string | undefined {
  const digits = cardDigits(number);
  if (digits === undefined) {
    return undefined;
  }
  if (digits.length < SPACE_DIGITS) {
    return best(RANGES, digits);
  }
  const prefix = Number(digits.slice(0, SPACE_DIGITS));
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
