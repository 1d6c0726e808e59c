/** Rates, as the makers of endpoints and accounts write them. */

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;
export const RATE_PATTERN = '^([1-9]\\d{0,5})/([smh])$';
const RATE = new RegExp(RATE_PATTERN);

export const RATE_EXPECTED = 'must be a number of requests per `s`, `m` or `h`, such as `20/m`';

/** Reads a rate such as `20/m`, a number of requests in a period; undefined for another text. */
export function parseRate(text: string): { readonly count: number; readonly periodMs: number } | undefined {
  const [, count, unit] = RATE.exec(text) ?? [];
  return count === undefined
    ? undefined
    : { count: Number(count), periodMs: UNITS_MS[unit as keyof typeof UNITS_MS] }; // By the pattern.
}
