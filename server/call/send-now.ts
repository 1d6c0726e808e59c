import { pause } from '../core/concurrency.ts';
import { isFault } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';
import type { OutboundResult } from '../outbound/call.ts';
import type { AccountContext } from '../request/context.ts';
import type { SentMark } from '../request/idempotency.ts';
import { isOutcomeUnknown } from './outcome.ts';
import type { ProxyParts } from './prepare.ts';
import type { ProxyJob, TargetReply } from './send.ts';

/** The time limit of all attempts of a synchronous request together. */
const SYNCHRONOUS_MS = 20_000;

/** The result of the attempts of a request so far, with those of earlier calls under its Idempotency-Key. */
interface Course {
  hasSent: boolean;
  /** A request was sent, and neither it nor a later one was answered. */
  isUnknown: boolean;
  last: TargetReply | undefined;
}

/**
 * Makes all attempts of a synchronous request and gives the last reply, unless a later request may have arrived. Rejects
 * with the code of the last attempt, or `outcome_unknown`; an error of a request that was sent names its job.
 */
export async function sendNow(
  parts: ProxyParts,
  ctx: AccountContext,
  job: ProxyJob,
  sent: SentMark | undefined,
): Promise<TargetReply> {
  const before = sent?.before ?? false;
  const course: Course = { hasSent: before, isUnknown: before, last: undefined };
  try {
    return await sendAll(parts, ctx, job, course, sent);
  } catch (error) {
    if (!course.hasSent) {
      await sent?.clear();
      throw error;
    }
    throw error instanceof VaultError ? sentAs(job, error) : error;
  }
}

async function sendAll(
  parts: ProxyParts,
  ctx: AccountContext,
  job: ProxyJob,
  course: Course,
  sent: SentMark | undefined,
): Promise<TargetReply> {
  const { sending, now } = parts;
  const endsAt = now() + SYNCHRONOUS_MS;
  for (let made = 1; ; made++) {
    await countAttempt(parts, ctx, job, made, sent);
    const result = await sending.attempt(job, made, endsAt - now());
    follow(course, result);
    const verdict = sending.judge(job, result, made);
    if (verdict.kind !== 'again' || now() + verdict.pauseMs >= endsAt) {
      if (course.last) {
        return course.last;
      }
      const code = result.ok ? 'internal' : result.code;
      throw new VaultError(course.isUnknown && code !== 'target_timeout' ? 'outcome_unknown' : code);
    }
    await pause(verdict.pauseMs);
  }
}

/** Counts an attempt of a synchronous request before a byte of it is sent, and the first as begun under its Idempotency-Key. */
async function countAttempt(
  { thirdParties, metering, sending }: ProxyParts,
  ctx: AccountContext,
  job: ProxyJob,
  made: number,
  sent: SentMark | undefined,
): Promise<void> {
  if (made === 1) {
    const mark = sent?.set(thirdParties.contentOf(job.request));
    await Promise.all([metering.settleAhead(ctx, 'proxy_attempt'), mark]);
  } else {
    await sending.admit(job, made - 1);
    metering.count(ctx, 'proxy_attempt');
    await metering.settle(ctx);
  }
}

function follow(course: Course, result: OutboundResult): void {
  if (result.ok) {
    Object.assign(course, { hasSent: true, isUnknown: false, last: result });
  } else if (isOutcomeUnknown(result)) {
    Object.assign(course, { hasSent: true, isUnknown: true, last: undefined });
  } else {
    course.hasSent ||= result.sent;
  }
}

/** The error of a request that was sent, with the id by which the third party knows it. */
export function sentAs({ id }: ProxyJob, error: VaultError): VaultError {
  const { code, field, retryAfterSeconds } = error;
  const cause = isFault(error) ? error : undefined;
  return new VaultError(code, { field, retryAfterSeconds, sentAs: id, cause });
}
