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

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d';

/** The three forms of RFC 9110, section 5.6.7; the last one does not say that it is in GMT. */
const DATE = new RegExp(
  `^(?:${DAY}, \\d{2} ${MONTH} \\d{4} ${TIME} GMT|` +
    `${LONG_DAY}, \\d{2}-${MONTH}-\\d{2} ${TIME} GMT|` +
    `${DAY} ${MONTH} [ \\d]\\d ${TIME} \\d{4})$`,
);

/**
 * Reads the header `Retry-After`, seconds or an HTTP date in any of its three forms, as milliseconds from `nowMs`
 * on; 0 for a date that has passed. Undefined for anything else, which is no reason to wait.
 */
export function parseRetryAfter(text: string, nowMs: number): number | undefined {
  if (/^\d+$/.test(text)) {
    return Number(text) * 1000;
  }
  const time = DATE.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
  return Number.isNaN(time) ? undefined : Math.max(0, time - nowMs);
}
