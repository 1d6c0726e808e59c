import type { ProxyKind } from '../../workers/jobs/proxy/jobs.ts';
import type { Accounts } from '../account/accounts.ts';
import { isOutcomeUnknown } from '../call/outcome.ts';
import type { RetryPause } from '../call/retry-pause.ts';
import {
  type Concluded,
  logNamesOf,
  type ProxyJob,
  type ProxySending,
  recordFault,
  type TargetReply,
} from '../call/send.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { isTransient, withRetries } from '../core/concurrency.ts';
import { asVaultError } from '../core/error-cause.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyStore } from '../key/store.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import type { Account } from '../request/context.ts';
import { monthOf } from '../request/metering.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { AttemptEntry, JobBill, JobStore, StoredJob } from './store/jobs.ts';
import type { JobOutcome } from './store/list.ts';

/** The time limit of one attempt; below the time that a server has to finish its jobs when it stops. */
const ATTEMPT_MS = 20_000;
const WEBHOOK_MS = 10_000;
/** When a job is read again that another server works on. */
export const ELSEWHERE_MS = 1_000;
const NO_BYTES = new Uint8Array(0);
/** The outcome of a reply that was kept in case no better one comes. */
const LAST_REPLY = { kind: 'reply', statusCode: 0, headers: [] } as const;
const LAST_UNSTORED = { ...LAST_REPLY, kind: 'unstored' } as const;
/** Codes of attempts that another one could have followed. */
const HAS_RUN_OUT: ReadonlySet<ErrorCode> = new Set(['target_unreachable', 'target_timeout', 'overloaded']);

/** What the steps of jobs need. */
export interface StepParts {
  readonly crypto: Pick<Crypto, 'openJob' | 'openReport' | 'sealReport'>;
  readonly jobStore: Pick<JobStore, 'startAttempt' | 'endAttempt' | 'finish' | 'remove' | 'startReport'>;
  readonly thirdParties: Pick<ThirdParties, 'deliver'>;
  readonly keyStore: Pick<KeyStore, 'isGone'>;
  readonly accounts: Pick<Accounts, 'lookUp'>;
  readonly sending: ProxySending;
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly retryPause: RetryPause;
  /** Attempts of this process that are recorded, perhaps, and certainly not made. */
  readonly unsent: Set<string>;
}

/** The name of a job. */
export interface JobName {
  readonly aid: string;
  readonly id: string;
}

/** A job that has been read, and what names it in the log. Third parties know its id as `X-Vault-Request-Id`. */
interface Step {
  readonly place: JobName;
  readonly stored: StoredJob;
  readonly names: ReturnType<typeof logNamesOf>;
  /** What a request does; a call of a webhook has none. */
  readonly what?: ProxyKind;
}

/**
 * Takes the step of phase `send`: an attempt to send the request, or the end of it. Gives the ms until the next step,
 * undefined when there is none. Throws what may pass, and `integrity_failed`.
 */
export async function sendStep(
  parts: StepParts,
  place: JobName,
  stored: StoredJob,
): Promise<number | undefined> {
  const { crypto, sending, unsent, now } = parts;
  const { record, attempts: made, flight } = stored;
  const opened = await crypto.openJob({ place, job: record });
  const account = await ownerOf(parts, place, opened.facts.account);
  // A key that is deleted later takes the job with it, and the attempt below cannot be recorded any more.
  if (!account || (await parts.keyStore.isGone(place.aid, opened.facts.kid))) {
    return remove(parts, place, flight);
  }
  const job = { id: place.id, record, account, ...opened };
  const step = { place, stored, names: logNamesOf(job), what: job.facts.what };
  const { repeatable, attempts, what } = job.facts;
  const isUnknown = flight !== '' && !unsent.has(flight);
  if (made >= attempts || (isUnknown && !repeatable)) {
    return giveUp(parts, step, flight, isUnknown, 'overloaded');
  }
  try {
    await sending.admit(job, made);
  } catch (error) {
    if (error instanceof VaultError && error.status < 500) {
      return giveUp(parts, step, flight, isUnknown, error.code);
    }
    throw error;
  }
  const operation = what === 'network_token' ? 'network_token' : 'proxy_attempt';
  const nonce = await beginAttempt(parts, step, { month: monthOf(now()), operation });
  return nonce === undefined ? ELSEWHERE_MS : attempt(parts, job, step, nonce);
}

/** The account of a job; undefined if it was deleted, also where another account has its name now. */
async function ownerOf(
  { accounts }: StepParts,
  { aid }: JobName,
  name: string,
): Promise<Account | undefined> {
  const account = await accounts.lookUp(name);
  return account?.aid === aid ? account : undefined;
}

async function remove({ jobStore }: StepParts, { aid, id }: JobName, flight: string): Promise<undefined> {
  await withRetries(() => jobStore.remove(aid, id, flight));
  return undefined;
}

/** Records an attempt before it is made; undefined if another server was faster. Its nonce makes a retry safe. */
async function beginAttempt(
  { jobStore, randomId, unsent, now }: StepParts,
  { place: { aid, id }, stored }: Step,
  bill?: JobBill,
): Promise<string | undefined> {
  const nonce = randomId();
  unsent.add(nonce);
  // One that was certainly not made has no outcome that nobody knows.
  const entry: AttemptEntry = unsent.has(stored.flight) ? { ms: 0, code: 'overloaded' } : undefined;
  const begin = { nowMs: now(), entry };
  const isOurs = await withRetries(() => jobStore.startAttempt(aid, id, stored, nonce, begin, bill));
  unsent.delete(nonce);
  unsent.delete(stored.flight);
  return isOurs ? nonce : undefined;
}

async function attempt(parts: StepParts, job: ProxyJob, step: Step, nonce: string): Promise<number> {
  const { jobStore, sending, unsent, now } = parts;
  const { aid, id } = step.place;
  const made = step.stored.attempts + 1;
  const startedAt = performance.now();
  const result = await withRetries(() => sending.attempt(job, made, ATTEMPT_MS), isTransient).catch(
    (error) => {
      // An attempt throws only before a byte is sent.
      unsent.add(nonce);
      throw error;
    },
  );
  const ms = Math.round(performance.now() - startedAt);
  const entry = result.ok ? { ms, status: result.status } : { ms, code: result.code };
  const verdict = sending.judge(job, result, made);
  if (verdict.kind !== 'again') {
    return result.ok
      ? startReport(parts, step, nonce, await conclude(parts, job, step, result), entry)
      : giveUp(parts, step, nonce, isOutcomeUnknown(result), result.code, entry);
  }
  const last = result.ok ? await conclude(parts, job, step, result) : undefined;
  const nextMs = now() + verdict.pauseMs;
  const over = { sent: result.ok || result.sent, report: last?.record, entry, nextMs };
  await withRetries(() => jobStore.endAttempt(aid, id, nonce, over));
  return verdict.pauseMs;
}

/** The report of a reply. What the vault cannot do right now is retried; any other error is the outcome. */
async function conclude(parts: StepParts, job: ProxyJob, step: Step, reply: TargetReply): Promise<Report> {
  try {
    const concluded = await withRetries(() => parts.sending.conclude(job, reply), isTransient);
    return await sealReport(parts, step, concluded);
  } catch (error) {
    recordFault(parts, step.names, error);
    // The target has answered: the outcome is known, whatever is wrong here.
    return sealReport(parts, step, failed(asVaultError(error).code));
  }
}

function failed(code: ErrorCode): Concluded {
  return { outcome: { kind: 'failure', code }, bytes: NO_BYTES };
}

/**
 * Ends a request without another attempt. Where the attempts have run out, the last reply is the outcome; a request that was
 * sent after it, or with `open` just now, makes it unknown.
 */
async function giveUp(
  parts: StepParts,
  step: Step,
  flight: string,
  open: boolean,
  code: ErrorCode,
  entry?: AttemptEntry,
): Promise<number> {
  const { last, sent } = step.stored;
  if (last !== undefined && !open && HAS_RUN_OUT.has(code)) {
    const outcome = step.what === 'get' ? LAST_UNSTORED : LAST_REPLY;
    return startReport(parts, step, flight, { record: last, outcome }, entry);
  }
  const isUnknown = open || (sent && last === undefined);
  const report = await sealReport(parts, step, failed(isUnknown ? 'outcome_unknown' : code));
  return startReport(parts, step, flight, report, entry);
}

/** How a request has ended, as its job is listed. */
function outcomeOf(outcome: Concluded['outcome']): JobOutcome {
  if (outcome.kind === 'failure') {
    return outcome.code === 'outcome_unknown' ? 'unknown' : 'failed';
  }
  return outcome.kind === 'unstored' ? 'failed' : 'done';
}

/** The outcome of a request, and its report. */
interface Report {
  readonly record: Uint8Array;
  readonly outcome: Concluded['outcome'];
}

async function sealReport(
  parts: StepParts,
  { place, stored }: Step,
  { outcome, bytes: content }: Concluded,
): Promise<Report> {
  const report = { place, job: stored.record, outcome, content };
  return { record: await withRetries(() => parts.crypto.sealReport(report), isTransient), outcome };
}

/** Replaces the request, and with it the card data, by its report. */
async function startReport(
  { jobStore, recordEvent }: StepParts,
  { place: { aid, id }, names }: Step,
  flight: string,
  { record, outcome }: Report,
  entry: AttemptEntry,
): Promise<number> {
  const over = { record, outcome: outcomeOf(outcome), entry };
  const isOurs = await withRetries(() => jobStore.startReport(aid, id, flight, over));
  if (!isOurs) {
    return ELSEWHERE_MS;
  }
  const code = outcome.kind === 'failure' ? outcome.code : undefined;
  recordEvent('proxy_finished', { ...names, outcome: outcome.kind, code });
  return 0;
}

/** Takes the step of phase `tell`: a call of the webhook. Gives the ms until the next one, undefined when it is done. */
export async function tellStep(
  parts: StepParts,
  place: JobName,
  stored: StoredJob,
): Promise<number | undefined> {
  const { crypto, jobStore, thirdParties, recordEvent, now, retryPause } = parts;
  const { aid, id } = place;
  const { facts, secret, body } = await crypto.openReport({ place, report: stored.record });
  const { url, maxAttempts } = facts;
  const names = { request_id: facts.requestId, job: id, account: facts.account };
  const account = await ownerOf(parts, place, facts.account);
  const isGone = stored.kid !== undefined && (await parts.keyStore.isGone(aid, stored.kid));
  if (!account || isGone) {
    recordEvent('webhook_abandoned', names);
    return remove(parts, place, stored.flight);
  }
  if (stored.attempts >= maxAttempts) {
    recordEvent('webhook_abandoned', names);
    return finish(parts, place, stored.flight, false, undefined);
  }
  const nonce = await beginAttempt(parts, { place, stored, names });
  if (nonce === undefined) {
    return ELSEWHERE_MS;
  }
  const timestampSeconds = Math.floor(now() / 1_000);
  // Webhooks share no connection with requests.
  const owner = `${aid}/webhook/${facts.summary?.actor ?? ''}`;
  const call = { owner, id, url, secret, body, hosts: account.hosts, timestampSeconds };
  const startedAt = performance.now();
  const outcome = await thirdParties.deliver({ ...call, deadlineMs: WEBHOOK_MS });
  const made = stored.attempts + 1;
  const ms = Math.round(performance.now() - startedAt);
  const entry = 'status' in outcome ? { ms, status: outcome.status } : { ms, code: outcome.code };
  recordEvent('webhook_attempt', { ...names, attempt: made, ms, ...outcome });
  if (!outcome.delivered && made < maxAttempts) {
    const waitMs = retryPause(made);
    const over = { sent: true, entry, nextMs: now() + waitMs };
    await withRetries(() => jobStore.endAttempt(aid, id, nonce, over));
    return waitMs;
  }
  if (!outcome.delivered) {
    recordEvent('webhook_abandoned', names);
  }
  return finish(parts, place, nonce, outcome.delivered, entry);
}

async function finish(
  { jobStore, now }: StepParts,
  { aid, id }: JobName,
  flight: string,
  isDelivered: boolean,
  entry: AttemptEntry,
): Promise<undefined> {
  const end = { nowMs: now(), isDelivered, entry };
  await withRetries(() => jobStore.finish(aid, id, flight, end));
  return undefined;
}
