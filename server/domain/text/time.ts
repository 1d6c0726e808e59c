/** Date, time of day, fraction, sign and amount of the offset. An unencoded plus in a query arrives as a space. */
const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.\d{1,18})?(?:[Zz]|([-+ ])(\d\d):(\d\d))$/;
const MINUTE_MS = 60_000;

/**
 * Parses a time of RFC 3339 with its zone to ms since 1970; a fraction is cut off. Undefined for other texts and for
 * times that do not exist: 30 February, hour 24, second 60.
 */
export function parseFilterTime(text: string): number | undefined {
  const [, date, time, sign, hours, minutes] = RFC_3339.exec(text) ?? [];
  const local = Date.parse(`${date}T${time}Z`);
  if (Number.isNaN(local) || formatExpiry(local) !== `${date}T${time}Z`) {
    return undefined;
  }
  const offset = sign === undefined ? 0 : Number(hours) * 60 + Number(minutes);
  if (Number(hours ?? 0) > 23 || Number(minutes ?? 0) > 59) {
    return undefined;
  }
  return sign === '-' ? local + offset * MINUTE_MS : local - offset * MINUTE_MS;
}

/** RFC 3339 text of a time in ms since 1970, in UTC with milliseconds: `2024-02-29T12:00:00.123Z`. */
export function formatStoredAt(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same to the second: `2024-02-29T12:00:00Z`. */
export function formatExpiry(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

const SECOND = 1000;
const DAY = 86400 * SECOND;
/** The longest accepted duration in ms: ten years with three leap days. */
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

/** The sum of the units of one notation; undefined if the text does not match. */
function total(pattern: RegExp, units: readonly number[], text: string): number | undefined {
  const groups = pattern.exec(text)?.slice(1);
  if (groups === undefined || groups.every((digits) => digits === undefined)) {
    return undefined;
  }
  return groups.reduce((sum, digits, index) => sum + Number(digits ?? 0) * (units[index] ?? 0), 0);
}

/**
 * Parses a duration: units from long to short (`45m`, `24h60m60s`, `2d`, `1w`), or ISO 8601 in whole numbers (`PT10M`,
 * `P1D`; a month is 30 days, a year 365). Any zero (`0`, `0s`, `P0T`, `PT0S`) is `'forever'`. Undefined for everything
 * else, such as signs, fractions and mixed notations, and over `DURATION_MS_MAX`.
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

/** Requirement for durations, as the rest of a sentence. */
export const DURATION_EXPECTED = 'must be a duration such as `45m`, `P1D` or `0`, at most ten years';

/**
 * The end of a period that begins now: the next whole second at or after it, ms since 1970; null for never. Undefined
 * for an invalid duration.
 */
export function endOf(ttl: string, now: number): number | null | undefined {
  const duration = parseDuration(ttl);
  return typeof duration === 'number' ? Math.ceil((now + duration) / SECOND) * SECOND : duration && null;
}
