/** The operator's prices: decimal texts by billable operation, and one for all others. */
export interface PriceTable {
  readonly currency: string;
  readonly prices: Readonly<Record<string, string>>;
  readonly default: string;
}
/**
 * Exact sums of money: decimal texts in, decimal texts out, whole numbers in between. No price is ever a floating
 * point number.
 */

/** An amount: `units` counts the last of `places` decimals. */
export interface Money {
  readonly units: bigint;
  readonly places: number;
}

export const NO_MONEY: Money = { units: 0n, places: 0 };

/** Reads a price such as `0.0020`; its decimals are kept, zeros included. The text was checked when it was read in. */
export function parseMoney(text: string): Money {
  const [whole = '', decimals = ''] = text.split('.');
  return { units: BigInt(whole + decimals), places: decimals.length };
}

/** What so many of something cost; `count` is a whole number. */
export function timesMoney({ units, places }: Money, count: number): Money {
  return {
    units: units * BigInt(count),
    places,
  };
}

function atPlaces({ units, places }: Money, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - places);
}

/** The sum of two amounts, with the decimals of the one that has more. */
export function addMoney(a: Money, b: Money): Money {
  const places = Math.max(a.places, b.places);
  return { units: atPlaces(a, places) + atPlaces(b, places), places };
}

/** Writes an amount that is not negative as decimal text with all of its places: `12.3450`. */
export function formatMoney({ units, places }: Money): string {
  const digits = String(units).padStart(places + 1, '0');
  const point = digits.length - places;
  return places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
}
