/** The delay before a call to a third party is retried. */

const FIRST_MS = 500;
/** No pause is longer, whatever the other side asks for. */
const MAX_MS = 60_000;
/** The random part of a pause, at most, so that calls which failed together are not repeated together. */
const JITTER = 0.5;

/**
 * The pause after the `attempt`-th failed attempt (1, 2, ...), in whole milliseconds: `firstMs`, doubling each
 * time, lengthened by up to a half by `random` (from 0 up to 1), at most 60 s. Until the bound is met, each
 * pause is longer than the one before. Where the other side asked for more (`retryAfterMs`), it is what was asked
 * for, still at most 60 s.
 */
export function pauseMs(
  attempt: number,
  random: number,
  retryAfterMs = 0,
  firstMs: number = FIRST_MS,
): number {
  const step = Math.min(firstMs * 2 ** (attempt - 1), MAX_MS / (1 + JITTER));
  return Math.min(MAX_MS, Math.ceil(Math.max(step * (1 + JITTER * random), retryAfterMs)));
}

/** The pause after the `attempt`-th failed attempt, at least what the other side asked for. */
export type RetryPause = (attempt: number, retryAfterMs?: number) => number;

/** Pauses as {@link pauseMs} gives them; the first is half a second by default. */
export function createRetryPause(random: () => number, firstMs?: number): RetryPause {
  return (attempt, retryAfterMs) => pauseMs(attempt, random(), retryAfterMs, firstMs);
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const MONTH = `(?<month>${MONTHS.join('|')})`;
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)';

/** The three forms of RFC 9110, section 5.6.7; all of them are in GMT. */
const DATES = [
  `${DAY}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT`,
  `${LONG_DAY}, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT`,
  `${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * Reads the header `Retry-After`, seconds or an HTTP date in any of its three forms, as milliseconds from `nowMs`
 * on; 0 for a date that has passed. Undefined for anything else, which is no reason to wait.
 */
export function parseRetryAfter(text: string, nowMs: number): number | undefined {
  if (/^\d+$/.test(text)) {
    return Number(text) * 1000;
  }
  const date = DATES.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  return date === undefined ? undefined : Math.max(0, timeOf(date, nowMs) - nowMs);
}

function timeOf(groups: Record<string, string>, nowMs: number): number {
  const [year = 0, day = 0, hour = 0, minute = 0, second = 0] = [
    'year',
    'day',
    'hour',
    'minute',
    'second',
  ].map((name) => Number(groups[name]));
  const month = MONTHS.indexOf(groups['month'] ?? '');
  const wholeYear = groups['year']?.length === 2 ? century(year, nowMs) : year;
  return Date.UTC(wholeYear, month, day, hour, minute, second);
}

/** The year that two digits mean: never more than 50 years ahead. */
function century(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
