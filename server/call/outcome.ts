/** What follows from one attempt to send a proxied request. */
import type { ErrorCode } from '../core/errors.ts';
import { parseRetryAfter, type RetryPause } from './retry-pause.ts';

/** How an attempt ended: with a reply, or without one and perhaps with the request sent. */
export type AttemptResult =
  | { readonly ok: true; readonly status: number; readonly retryAfter?: string | undefined }
  | Failed;

interface Failed {
  readonly ok: false;
  readonly code: FailureCode;
  readonly sent: boolean;
  /** `certificate`: the target is not who it should be, and will not be in a minute either. */
  readonly reason?: string | undefined;
}

type FailureCode = Extract<
  ErrorCode,
  'destination_refused' | 'target_unreachable' | 'target_timeout' | 'reply_too_large'
>;

/** What is known when an attempt is judged. */
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

/** What follows from an attempt. */
export type Verdict =
  /** The reply is the answer, whatever its status. */
  | { readonly kind: 'reply' }
  | { readonly kind: 'again'; readonly pauseMs: number }
  /** `unknown`: the target may have done what it was asked to. */
  | { readonly kind: 'failure'; readonly code: FailureCode; readonly unknown: boolean };

/**
 * Whether the outcome of a failed request is unknown: it may have been sent, and there is no reply. For a reply
 * that is too large, or a rejected destination, it is known.
 */
export function isOutcomeUnknown({ code, sent }: Pick<Failed, 'code' | 'sent'>): boolean {
  return sent && (code === 'target_unreachable' || code === 'target_timeout');
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
