import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { OutboundFailure } from '../outbound/call.ts';

export type AttemptResult =
  | { readonly ok: true; readonly status: number; readonly retryAfter?: string | undefined }
  | OutboundFailure;

export interface AttemptState {
  /** Attempts made, this one included. */
  readonly made: number;
  readonly attempts: number;
  /** The request may be sent again after an unknown outcome. */
  readonly repeatable: boolean;
  /** ms since 1970. */
  readonly now: number;
  readonly pause: RetryPause;
}

export type Verdict =
  /** The reply is final, with any status. */
  | { readonly kind: 'reply' }
  | { readonly kind: 'again'; readonly pauseMs: number }
  /** `unknown`: the target may have processed the request. */
  | { readonly kind: 'failure'; readonly code: OutboundFailure['code']; readonly unknown: boolean };

/** Tells whether a failed request may have been sent, and has no reply; a too large or rejected one has a known outcome. */
export function isOutcomeUnknown({ code, sent }: OutboundFailure): boolean {
  return sent && (code === 'target_unreachable' || code === 'target_timeout');
}

export function errorOf(code: ErrorCode, isUnknown: boolean): VaultError {
  return new VaultError(isUnknown && code !== 'target_timeout' ? 'outcome_unknown' : code);
}

/** The code of a failed attempt as its caller gets it: a request that was sent was not unreachable. */
export function attemptCode(failure: OutboundFailure): ErrorCode {
  return errorOf(failure.code, isOutcomeUnknown(failure)).code;
}

/** Tells whether a status calls for another attempt: 429, and 500 or higher. */
export function asksForRepeat(status: number): boolean {
  return status === 429 || status >= 500;
}

/**
 * Judges an attempt. Requests are sent again after 429 or 5xx, if no byte was sent, and, where `repeatable`, after an unknown
 * outcome; never after a rejected destination or certificate, and at most `attempts` times. The last reply is then final.
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
  // The request of a too large reply has arrived, and a repeat would have the same reply.
  const isFinal =
    code === 'destination_refused' || code === 'reply_too_large' || (!sent && reason === 'certificate');
  const unknown = isOutcomeUnknown(attempt);
  return isFinal || isLast || (unknown && !state.repeatable)
    ? { kind: 'failure', code, unknown }
    : { kind: 'again', pauseMs: state.pause(state.made) };
}

const FIRST_MS = 500;
/** The longest pause, even if the target requests more. */
const MAX_MS = 60_000;
/** The largest random part of a pause, so that calls which failed together are not repeated together. */
const JITTER = 0.5;

/**
 * The pause after the `attempt`-th failed attempt (1, 2, ...), in whole milliseconds, at most 60 s: `firstMs`, doubling each
 * time, lengthened by up to a half by `random` (from 0 up to 1), or `retryAfterMs` if that is longer.
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

/** The pause after the `attempt`-th failed attempt, at least `retryAfterMs`. */
export type RetryPause = (attempt: number, retryAfterMs?: number) => number;

/** Creates randomised pauses; the first is half a second by default. */
export function createRetryPause(random: () => number, firstMs?: number): RetryPause {
  return (attempt, retryAfterMs) => pauseMs(attempt, random(), retryAfterMs, firstMs);
}

/** Seconds from each call of a webhook to the next: the eighth is about a day after the first. */
const WEBHOOK_PAUSES_S = [1, 5, 30, 300, 1_800, 14_400, 69_900] as const;
const WEBHOOK_JITTER = 0.1;

/** The pause after the `attempt`-th failed call of a webhook, in whole milliseconds, lengthened by up to a tenth by `random`. */
export function webhookPauseMs(attempt: number, random: number): number {
  const seconds = WEBHOOK_PAUSES_S[attempt - 1] ?? WEBHOOK_PAUSES_S[WEBHOOK_PAUSES_S.length - 1] ?? 0;
  return Math.ceil(seconds * 1_000 * (1 + WEBHOOK_JITTER * random));
}

/** Creates randomised pauses between the calls of a webhook. */
export function createWebhookPause(random: () => number): RetryPause {
  return (attempt) => webhookPauseMs(attempt, random());
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

/** Parses `Retry-After`, seconds or an HTTP date, as milliseconds from `nowMs` on; 0 for a past date, undefined if invalid. */
export function parseRetryAfter(text: string, nowMs: number): number | undefined {
  if (/^\d+$/.test(text)) {
    return Number(text) * 1000;
  }
  const time = DATE.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
  return Number.isNaN(time) ? undefined : Math.max(0, time - nowMs);
}
