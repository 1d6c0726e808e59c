/** Outcomes of attempts to send a proxied request, and the pause before the next one. */
import { type ErrorCode, VaultError } from '../core/errors.ts';

/** The end of an attempt: with a reply, or without one and perhaps with the request sent. */
export type AttemptResult =
  | { readonly ok: true; readonly status: number; readonly retryAfter?: string | undefined }
  | Failed;

interface Failed {
  readonly ok: false;
  readonly code: FailureCode;
  readonly sent: boolean;
  /** `certificate`: the target could not prove its name, and another attempt would not change that. */
  readonly reason?: string | undefined;
}

type FailureCode = Extract<
  ErrorCode,
  'destination_refused' | 'target_unreachable' | 'target_timeout' | 'reply_too_large'
>;

/** State of a request when an attempt is judged. */
export interface AttemptState {
  /** Attempts made, this one included. */
  readonly made: number;
  readonly attempts: number;
  /** Whether the request may be sent again after an unknown outcome. */
  readonly repeatable: boolean;
  /** ms since 1970. */
  readonly now: number;
  readonly pause: RetryPause;
}

/** The next step after an attempt. */
export type Verdict =
  /** The reply is the answer, whatever its status. */
  | { readonly kind: 'reply' }
  | { readonly kind: 'again'; readonly pauseMs: number }
  /** `unknown`: the target may have processed the request. */
  | { readonly kind: 'failure'; readonly code: FailureCode; readonly unknown: boolean };

/**
 * Whether the outcome of a failed request is unknown: it may have been sent, and there is no reply. For a reply
 * that is too large, or a rejected destination, it is known.
 */
export function isOutcomeUnknown({ code, sent }: Pick<Failed, 'code' | 'sent'>): boolean {
  return sent && (code === 'target_unreachable' || code === 'target_timeout');
}

/** The error of a call whose last attempt has failed. */
export function errorOf(code: ErrorCode, isUnknown: boolean): VaultError {
  return new VaultError(isUnknown && code !== 'target_timeout' ? 'outcome_unknown' : code);
}

/** Whether a status asks for another attempt: 429, and everything from 500 on. */
export function asksForRepeat(status: number): boolean {
  return status === 429 || status >= 500;
}

/**
 * Judges an attempt. Sent again are requests that were answered with 429 or 5xx, those of which not one byte left,
 * and, where `repeatable`, those whose outcome is unknown; never one whose destination or certificate is rejected,
 * and none beyond `attempts`. The last reply is the answer then.
 */
export function judgeAttempt(attempt: AttemptResult, state: AttemptState): Verdict {
  const isLast = state.made >= state.attempts;
  if (attempt.ok) {
    if (isLast || !asksForRepeat(attempt.status)) {
      return { kind: 'reply' };
    }
    const asked =
      attempt.retryAfter === undefined ? undefined : parseRetryAfter(attempt.retryAfter, state.now);
    return { kind: 'again', pauseMs: state.pause(state.made, asked) };
  }
  const { code, sent, reason } = attempt;
  // A reply that is too large was given: the request has arrived, and a repeat would bring the same.
  const isFinal =
    code === 'destination_refused' || code === 'reply_too_large' || (!sent && reason === 'certificate');
  const unknown = isOutcomeUnknown(attempt);
  return isFinal || isLast || (unknown && !state.repeatable)
    ? { kind: 'failure', code, unknown }
    : { kind: 'again', pauseMs: state.pause(state.made) };
}

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

/** Makes pauses of {@link pauseMs}; the first is half a second by default. */
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
