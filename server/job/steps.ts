import type { JobPlace, JobSummary, ProxyKind } from '../../workers/jobs/proxy/jobs.ts';
import type { Accounts } from '../account/accounts.ts';
import { attemptCode, isOutcomeUnknown, type RetryPause } from '../call/outcome.ts';
import {
  type CallSender,
  type Concluded,
  type LogNames,
  logNamesOf,
  type ProxyJob,
  recordFault,
  type TargetReply,
} from '../call/send.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { isTransient, withRetries } from '../core/concurrency.ts';
import { asVaultError } from '../core/error-cause.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Receivers } from '../event/receivers.ts';
import type { KeyStore } from '../key/store.ts';
import type { ThirdParties, WebhookRequest } from '../outbound/third-parties.ts';
import type { Account } from '../request/context.ts';
import { monthOf } from '../request/metering.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { AttemptEntry, JobBill, JobOutcome, JobStore, StoredJob } from './store/jobs.ts';

/** The time limit of one attempt; below the time that a server has to finish its jobs when it stops. */
const ATTEMPT_MS = 20_000;
const WEBHOOK_MS = 10_000;
/** The time after which a job that another server works on is read again, ms. */
export const ELSEWHERE_MS = 1_000;
const NO_BYTES = new Uint8Array(0);
/** The outcome of a kept reply after which no better one came. */
const LAST_REPLY = { kind: 'reply', statusCode: 0, headers: [] } as const;
const LAST_UNSTORED = { ...LAST_REPLY, kind: 'unstored' } as const;
/** Codes of attempts that could have been repeated. */
const HAS_RUN_OUT: ReadonlySet<ErrorCode> = new Set(['target_unreachable', 'target_timeout', 'overloaded']);

/** A job that was read, and its names in the log. Third parties receive its id as `X-Vault-Request-Id`. */
interface Step {
  readonly place: JobPlace;
  readonly stored: StoredJob;
  readonly names: LogNames;
  readonly what?: ProxyKind;
}

/** A job whose webhook is called, and its listed part. */
interface Told extends Step {
  readonly summary?: JobSummary | undefined;
}

interface Report {
  readonly record: Uint8Array;
  readonly outcome: Concluded['outcome'];
}

/**
 * Steps of jobs: attempts to send a request, then calls of its webhook. Jobs of a suspended account are left as they are, and leave
 * the queue: however many there are, they cost nothing until the account goes on.
 */
export class JobSteps {
  /** Attempts of this process that may be recorded, and were certainly not made. */
  private readonly unsent = new Set<string>();

  constructor(
    private readonly store: JobStore,
    private readonly keyStore: KeyStore,
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly accounts: Accounts,
    private readonly sender: CallSender,
    private readonly receivers: Receivers,
    private readonly recordEvent: RecordEvent,
    private readonly webhookPause: RetryPause,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Executes the step of phase `send`. Returns the ms until the next one, undefined for none. Throws transient errors. */
  async send(place: JobPlace, stored: StoredJob): Promise<number | undefined> {
    const { record, attempts: made, flight } = stored;
    const opened = await this.crypto.openJob({ place, job: record });
    const account = await this.ownerOf(place, opened.facts.account);
    if (account?.isSuspended === true) {
      return undefined;
    }
    // A key that is deleted later takes the job with it, and the attempt below cannot be recorded any more.
    if (!account || (await this.keyStore.isGone(place.aid, opened.facts.kid))) {
      return this.remove(place, flight);
    }
    const job = { id: place.id, record, account, ...opened };
    const step = { place, stored, names: logNamesOf(job), what: job.facts.what };
    const { repeatable, attempts, what } = job.facts;
    const isUnknown = flight !== '' && !this.unsent.has(flight);
    if (made >= attempts || (isUnknown && !repeatable)) {
      return this.giveUp(step, flight, isUnknown, 'overloaded');
    }
    try {
      await this.sender.admit(job, made);
    } catch (error) {
      if (error instanceof VaultError && error.status < 500) {
        return this.giveUp(step, flight, isUnknown, error.code);
      }
      throw error;
    }
    const operation = what === 'network_token' ? 'network_token' : 'proxy_attempt';
    const nonce = await this.beginAttempt(step, { month: monthOf(this.now()), operation });
    return nonce === undefined ? ELSEWHERE_MS : this.attempt(job, step, nonce);
  }

  /** Executes the step of phase `tell`: a call of the webhook. Returns the ms until the next one, undefined when it is done. */
  async tell(place: JobPlace, stored: StoredJob): Promise<number | undefined> {
    const { aid, id } = place;
    const { facts, secret, body } = await this.crypto.openReport({ place, report: stored.record });
    const { url, maxAttempts } = facts;
    const names = { request_id: facts.requestId, job: id, account: facts.account };
    const account = await this.ownerOf(place, facts.account);
    if (account?.isSuspended === true) {
      return undefined;
    }
    const isGone = stored.kid !== undefined && (await this.keyStore.isGone(aid, stored.kid));
    if (!account || isGone) {
      this.recordEvent('webhook_abandoned', names);
      return this.remove(place, stored.flight);
    }
    const told = { place, stored, names, summary: facts.summary };
    if (stored.attempts >= maxAttempts) {
      this.recordEvent('webhook_abandoned', names);
      return this.finish(told, stored.flight, false, undefined);
    }
    // Webhooks share no connection with requests.
    const owner = `${aid}/webhook/${facts.summary?.actor ?? ''}`;
    const call = { owner, id, url, secret, body, hosts: account.hosts };
    return (await this.callWebhook(told, call, maxAttempts)).nextMs;
  }

  /** Executes a delivery of an event: one call of its receiver. Returns as `tell` does. */
  async event(place: JobPlace, stored: StoredJob): Promise<number | undefined> {
    const { aid, id } = place;
    const { crypto, receivers } = this;
    const { subscription, account: name, event } = await crypto.openEvent({ place, record: stored.record });
    const account = await this.ownerOf(place, name);
    if (account?.isSuspended === true) {
      return undefined;
    }
    const receiver = account && (await receivers.find(aid, subscription, event));
    if (account === undefined || receiver === undefined) {
      return this.remove(place, stored.flight);
    }
    const names = { request_id: event.data.request_id ?? '', job: id, account: name };
    if (stored.attempts >= receiver.maxAttempts) {
      this.recordEvent('webhook_abandoned', names);
      return this.finish({ place, stored, names }, stored.flight, false, undefined);
    }
    const waitMs = await receivers.acquire(aid, subscription);
    if (waitMs !== undefined) {
      return waitMs;
    }
    let delivered: boolean | undefined;
    try {
      const { url, secret, metadata, maxAttempts } = receiver;
      const body = Buffer.from(JSON.stringify({ ...event, ...(metadata === undefined ? {} : { metadata }) }));
      const owner = `${aid}/event/${subscription}`;
      const call = { owner, id: event.id, url, secret, body, hosts: account.hosts };
      const called = await this.callWebhook({ place, stored, names }, call, maxAttempts);
      delivered = called.delivered;
      return called.nextMs;
    } finally {
      await receivers.release(aid, subscription, delivered);
    }
  }

  /** Calls a webhook once, and records how that ended. `delivered` is undefined if another server has won the race. */
  private async callWebhook(
    told: Told,
    call: Omit<WebhookRequest, 'timestampSeconds' | 'deadlineMs'>,
    maxAttempts: number,
  ): Promise<{ readonly nextMs: number | undefined; readonly delivered?: boolean }> {
    const { place, stored, names } = told;
    const nonce = await this.beginAttempt(told);
    if (nonce === undefined) {
      return { nextMs: ELSEWHERE_MS };
    }
    const timestampSeconds = Math.floor(this.now() / 1_000);
    const startedAt = performance.now();
    const outcome = await this.thirdParties.deliver({ ...call, timestampSeconds, deadlineMs: WEBHOOK_MS });
    const made = stored.attempts + 1;
    const ms = Math.round(performance.now() - startedAt);
    const { delivered } = outcome;
    const entry = 'status' in outcome ? { ms, status: outcome.status } : { ms, code: attemptCode(outcome) };
    const reason = 'status' in outcome ? undefined : outcome.reason;
    this.recordEvent('webhook_attempt', { ...names, attempt: made, delivered, ...entry, reason });
    if (!delivered && made < maxAttempts) {
      const waitMs = this.webhookPause(made);
      const over = { sent: true, entry, nextMs: this.now() + waitMs };
      await withRetries(() => this.store.endAttempt(place.aid, place.id, nonce, over));
      return { nextMs: waitMs, delivered };
    }
    if (!delivered) {
      this.recordEvent('webhook_abandoned', names);
    }
    return { nextMs: await this.finish(told, nonce, delivered, entry), delivered };
  }

  /** Returns the account of a job; undefined if it was deleted, even if another account has its name now. */
  private async ownerOf({ aid }: JobPlace, name: string): Promise<Account | undefined> {
    const account = await this.accounts.lookUp(name);
    return account?.aid === aid ? account : undefined;
  }

  private async remove({ aid, id }: JobPlace, flight: string): Promise<undefined> {
    await withRetries(() => this.store.remove(aid, id, flight));
    return undefined;
  }

  /** Records an attempt before it is made; undefined if another server has won the race. Its nonce makes a retry safe. */
  private async beginAttempt(
    { place: { aid, id }, stored }: Step,
    bill?: JobBill,
  ): Promise<string | undefined> {
    const nonce = this.randomId();
    this.unsent.add(nonce);
    // The outcome of an attempt that was certainly not made is known.
    const entry: AttemptEntry = this.unsent.has(stored.flight) ? { ms: 0, code: 'overloaded' } : undefined;
    const begin = { nowMs: this.now(), entry };
    const isOurs = await withRetries(() => this.store.startAttempt(aid, id, stored, nonce, begin, bill));
    this.unsent.delete(nonce);
    this.unsent.delete(stored.flight);
    return isOurs ? nonce : undefined;
  }

  private async attempt(job: ProxyJob, step: Step, nonce: string): Promise<number> {
    const { aid, id } = step.place;
    const made = step.stored.attempts + 1;
    const startedAt = performance.now();
    const result = await withRetries(() => this.sender.attempt(job, made, ATTEMPT_MS), isTransient).catch(
      (error) => {
        // An attempt throws only before a byte is sent.
        this.unsent.add(nonce);
        throw error;
      },
    );
    const ms = Math.round(performance.now() - startedAt);
    const entry = result.ok ? { ms, status: result.status } : { ms, code: attemptCode(result) };
    const verdict = this.sender.judge(job, result, made);
    if (verdict.kind !== 'again') {
      return result.ok
        ? this.startReport(step, nonce, await this.conclude(job, step, result), entry)
        : this.giveUp(step, nonce, isOutcomeUnknown(result), result.code, entry);
    }
    const last = result.ok ? await this.conclude(job, step, result) : undefined;
    const nextMs = this.now() + verdict.pauseMs;
    const over = { sent: result.ok || result.sent, report: last?.record, entry, nextMs };
    await withRetries(() => this.store.endAttempt(aid, id, nonce, over));
    return verdict.pauseMs;
  }

  /** Returns the report of a reply. Transient errors of the vault are retried; any other error is the outcome. */
  private async conclude(job: ProxyJob, step: Step, reply: TargetReply): Promise<Report> {
    try {
      const concluded = await withRetries(() => this.sender.conclude(job, reply), isTransient);
      return await this.sealReport(step, concluded);
    } catch (error) {
      recordFault(this.recordEvent, step.names, error);
      // The target has answered: the outcome is known.
      return this.sealReport(step, failed(asVaultError(error).code));
    }
  }

  /**
   * Ends a request without another attempt. After the last attempt, the last reply is the outcome, which a request that was
   * sent after it, or with `open` just now, makes unknown.
   */
  private async giveUp(
    step: Step,
    flight: string,
    open: boolean,
    code: ErrorCode,
    entry?: AttemptEntry,
  ): Promise<number> {
    const { last, sent } = step.stored;
    if (last !== undefined && !open && HAS_RUN_OUT.has(code)) {
      const outcome = step.what === 'get' ? LAST_UNSTORED : LAST_REPLY;
      return this.startReport(step, flight, { record: last, outcome }, entry);
    }
    const isUnknown = open || (sent && last === undefined);
    const report = await this.sealReport(step, failed(isUnknown ? 'outcome_unknown' : code));
    return this.startReport(step, flight, report, entry);
  }

  private async sealReport({ place, stored }: Step, { outcome, bytes: content }: Concluded): Promise<Report> {
    const report = { place, job: stored.record, outcome, content };
    return { record: await withRetries(() => this.crypto.sealReport(report), isTransient), outcome };
  }

  /** Replaces the request with its card data by its report. */
  private async startReport(
    { place: { aid, id }, names }: Step,
    flight: string,
    { record, outcome }: Report,
    entry: AttemptEntry,
  ): Promise<number> {
    const over = { record, outcome: outcomeOf(outcome), entry };
    const isOurs = await withRetries(() => this.store.startReport(aid, id, flight, over));
    if (!isOurs) {
      return ELSEWHERE_MS;
    }
    const code = outcome.kind === 'failure' ? outcome.code : undefined;
    this.recordEvent('proxy_finished', { ...names, outcome: outcome.kind, code });
    return 0;
  }

  /** Ends a job, and announces the end of one that has failed; deliveries of events announce nothing. */
  private async finish(
    { place: { aid, id }, stored, summary }: Told,
    flight: string,
    isDelivered: boolean,
    entry: AttemptEntry,
  ): Promise<undefined> {
    const hasFailed = !isDelivered || stored.outcome === 'failed' || stored.outcome === 'unknown';
    if (hasFailed && stored.phase !== 'event') {
      const { actor, token, reference } = summary ?? {};
      const data = { id, token, reference, actor };
      const { kid } = stored;
      // Before the end is recorded: an event may be repeated, but must not be lost.
      await withRetries(() => this.receivers.announce(aid, `job ${id}`, { type: 'job.failed', data, kid }));
    }
    const end = { nowMs: this.now(), isDelivered, entry };
    await withRetries(() => this.store.finish(aid, id, flight, end));
    return undefined;
  }
}

function failed(code: ErrorCode): Concluded {
  return { outcome: { kind: 'failure', code }, bytes: NO_BYTES };
}

/** The outcome of a request, as its job is listed. */
function outcomeOf(outcome: Concluded['outcome']): JobOutcome {
  if (outcome.kind === 'failure') {
    return outcome.code === 'outcome_unknown' ? 'unknown' : 'failed';
  }
  return outcome.kind === 'unstored' ? 'failed' : 'done';
}
