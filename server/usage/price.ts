/**
 * An exact amount of money: `units` of the last of `places` decimals. Amounts are parsed from and formatted as decimal
 * texts; they are never floating point numbers.
 */
export interface Money {
  readonly units: bigint;
  readonly places: number;
}

/** Zero, the start of a sum. */
export const NO_MONEY: Money = { units: 0n, places: 0 };

/** Parses a price such as `0.0020`. All decimals are kept, including zeros. The text must have been checked. */
export function parseMoney(text: string): Money {
  const [whole = '', decimals = ''] = text.split('.');
  return { units: BigInt(whole + decimals), places: decimals.length };
}

/** The price of `count` operations; `count` is a whole number. */
export function timesMoney({ units, places }: Money, count: number): Money {
  return {
    units: units * BigInt(count),
    places,
  };
}

/** The units of an amount with more decimals. */
function atPlaces({ units, places }: Money, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - places);
}

/** The sum of two amounts, with the decimals of the one that has more. */
export function addMoney(a: Money, b: Money): Money {
  const places = Math.max(a.places, b.places);
  return { units: atPlaces(a, places) + atPlaces(b, places), places };
}

/** Formats an amount that is not negative, with all of its decimals: `12.3450`. */
export function formatMoney({ units, places }: Money): string {
  const digits = String(units).padStart(places + 1, '0');
  const point = digits.length - places;
  return places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
}
