/**
 * Durations as callers and settings write them. Available libraries accept some invalid input as unlimited or as one
 * second; this parser rejects everything that it does not know.
 */
const SECOND = 1000;
const DAY = 86_400 * SECOND;

/** Ten years with their three leap days: the longest duration that is accepted, in milliseconds. */
export const DURATION_MS_MAX = 3653 * DAY;

/** A duration in milliseconds, or without an end. */
export type Duration = number | 'forever';

// One optional group per unit, longest first, so that order and repetition are checked by the pattern.
const SHORT = /^(?:(\d{1,12})w)?(?:(\d{1,12})d)?(?:(\d{1,12})h)?(?:(\d{1,12})m)?(?:(\d{1,12})s)?$/;
const SHORT_UNITS = [7 * DAY, DAY, 3600 * SECOND, 60 * SECOND, SECOND];

const ISO =
  /^P(?:(\d{1,12})Y)?(?:(\d{1,12})M)?(?:(\d{1,12})W)?(?:(\d{1,12})D)?(?:T(?=\d)(?:(\d{1,12})H)?(?:(\d{1,12})M)?(?:(\d{1,12})S)?)?$/;
const ISO_UNITS = [365 * DAY, 30 * DAY, 7 * DAY, DAY, 3600 * SECOND, 60 * SECOND, SECOND];

// Zeros without a unit, which existing clients send to mean "never expires".
const ZEROS: ReadonlySet<string> = new Set(['0', 'P0T', 'P0T0']);

/** The sum of the units of one notation; undefined if the text does not match it. */
function total(pattern: RegExp, units: readonly number[], text: string): number | undefined {
  const groups = pattern.exec(text)?.slice(1);
  if (groups === undefined || groups.every((digits) => digits === undefined)) {
    return undefined;
  }
  return groups.reduce((sum, digits, index) => sum + Number(digits ?? 0) * (units[index] ?? 0), 0);
}

/**
 * Parses a duration: units from long to short (`45m`, `24h60m60s`, `1h30m`, `2d`, `1w`), or ISO 8601 in whole numbers
 * (`PT10M`, `P1D`, `P1W`; a month is 30 days, a year 365). Any zero (`0`, `0s`, `P0T`, `P0T0`, `PT0S`, `P0D`) is
 * `'forever'`. Undefined for everything else: empty text, spaces, signs, fractions, a number without a unit, mixed
 * notations, and durations over `DURATION_MS_MAX`.
 */
export function parseDuration(text: string): Duration | undefined {
  if (ZEROS.has(text)) {
    return 'forever';
  }
  const milliseconds = total(SHORT, SHORT_UNITS, text) ?? total(ISO, ISO_UNITS, text);
  if (milliseconds === undefined || milliseconds > DURATION_MS_MAX) {
    return undefined;
  }
  return milliseconds === 0 ? 'forever' : milliseconds;
}

/** What a duration must be, as the rest of a sentence about it. */
export const DURATION_EXPECTED = 'must be a duration such as `45m`, `P1D` or `0`, at most ten years';

/**
 * When what begins now ends: the next whole second at or after its time, ms since 1970; null for never. Undefined as
 * `parseDuration`.
 */
export function endOf(ttl: string, now: number): number | null | undefined {
  const duration = parseDuration(ttl);
  return typeof duration === 'number' ? Math.ceil((now + duration) / SECOND) * SECOND : duration && null;
}
