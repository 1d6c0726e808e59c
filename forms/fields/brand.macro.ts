/** The service's table of card networks as a short text. Macros run when the script is built. */
import creditCardType from 'credit-card-type';
import { BRAND_STRETCHES, cardBrand } from '../../server/domain/card/brand.ts';

/** Prefixes up to this length are listed one by one. */
const SHORT_DIGITS_MAX = 4;
const USUAL_GAPS = '4 8 12';

/** Differences of a network from 16 digits in groups of four with a verification code of three. */
export interface BrandShape {
  readonly lengths?: readonly number[];
  readonly gaps?: readonly number[];
  readonly code?: number;
}

/**
 * The table as texts. `names` are indexed by the base-36 numbers in the other two; see brand.ts, which parses them.
 */
export interface BrandTable {
  readonly names: readonly string[];
  /**
   * The segments of eight leading digits: the distance from the previous one in base 36, and the network: `0.4k:b…`.
   */
  readonly stretches: string;
  /** Shorter prefixes that determine a network, longer ones before shorter ones. */
  readonly leads: string;
  readonly shapes: Readonly<Record<string, BrandShape>>;
}

function stretchesOf(indexOf: (brand: string | undefined) => string): string {
  const parts: string[] = [];
  let last = 0;
  let previous = '';
  for (const { start, brand } of BRAND_STRETCHES) {
    const name = indexOf(brand);
    if (name !== previous) {
      parts.push(`${(start - last).toString(36)}:${name}`);
      [last, previous] = [start, name];
    }
  }
  return parts.join(' ');
}

/** Only prefixes with another network than the prefix one digit shorter. */
function leadsOf(indexOf: (brand: string | undefined) => string): string {
  const parts: string[] = [];
  const walk = (lead: string, inherited: string | undefined): void => {
    const brand = cardBrand(lead);
    if (brand !== inherited) {
      parts.push(`${lead}:${indexOf(brand)}`);
    }
    for (let digit = 0; lead.length < SHORT_DIGITS_MAX && digit <= 9; digit++) {
      walk(`${lead}${digit}`, brand);
    }
  };
  for (let digit = 0; digit <= 9; digit++) {
    walk(String(digit), undefined);
  }
  return parts.sort((one, other) => other.indexOf(':') - one.indexOf(':')).join(' ');
}

/** The networks whose shape is not the usual one. */
function shapes(): Record<string, BrandShape> {
  return Object.fromEntries(
    creditCardType('').flatMap(({ type, lengths, gaps, code }) => {
      const shape: BrandShape = {
        ...(lengths.join() === '16' ? {} : { lengths }),
        ...(gaps.join(' ') === USUAL_GAPS ? {} : { gaps }),
        ...(code.size === 3 ? {} : { code: code.size }),
      };
      return Object.keys(shape).length === 0 ? [] : [[type, shape]];
    }),
  );
}

/** Creates the table; the package itself would be three times as large. */
export function brandTable(): BrandTable {
  const names = [...new Set(BRAND_STRETCHES.map(({ brand }) => brand ?? ''))];
  const indexOf = (brand: string | undefined): string => names.indexOf(brand ?? '').toString(36);
  return { names, stretches: stretchesOf(indexOf), leads: leadsOf(indexOf), shapes: shapes() };
}
