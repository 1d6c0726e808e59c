import type { DescribedJob } from '../../workers/jobs/proxy/jobs.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import type { NetworkTokenRequester, ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Receivers } from '../event/receivers.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import { outsideScope } from '../request/permission.ts';
import { bodyTimeOf } from '../schema/body-time.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { ProxyJobs } from './jobs.ts';
import type { JobQueue } from './queue.ts';
import type { Job, JobKind, JobStatus, Redelivered, RedeliverJobs } from './schema.ts';
import type { EndedAttempt, JobDetails, JobPosition, JobState, JobStore } from './store/jobs.ts';

/** Filter of a listing: times in ms since 1970, `after` inclusive, `before` exclusive. */
interface JobQuery {
  readonly status?: JobStatus | undefined;
  readonly kind?: JobKind | undefined;
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly next_token?: string | undefined;
}

const STEP = 256;
/** The most reports that one request delivers again, and how many at once. */
const REPEAT_MAX = 1_000;
const REPEAT_STEP = 50;
/** Maximum number of jobs that one request reads: a page of a narrow filter may be short, or empty, and have a next one. */
const READ_MAX = 2_048;
/** Bytes of the records of one page together; one alone may have more. */
const BYTES_MAX = 4 * 1_048_576;
const NO_BYTES = new Uint8Array(0);
const ID = /^[A-Za-z0-9_-]{22}$/;

/** A part of a listing: its matching jobs, and the position after it. */
interface Found {
  readonly states: readonly JobState[];
  readonly next: JobPosition | undefined;
}

/** Lists, cancels and redelivers asynchronous requests and webhooks of accounts. */
export class JobListing {
  constructor(
    private readonly store: JobStore,
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly jobs: ProxyJobs,
    private readonly queue: JobQueue,
    private readonly receivers: Receivers,
    private readonly requesters: readonly NetworkTokenRequester[],
    private readonly metering: Metering,
    private readonly recordEvent: RecordEvent,
    private readonly cursors: Cursors,
    private readonly settings: ServiceSettings,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Returns a page of jobs, newest first. Rejects with `cursor_invalid`. */
  async list(
    ctx: AccountContext,
    query: JobQuery,
    limit: number,
  ): Promise<{ readonly jobs: readonly Job[]; readonly nextToken: string | undefined }> {
    const { account } = ctx;
    const { status, kind, after, before, next_token: token } = query;
    const scope = [account.aid, 'GET /v1/proxy/job', status, kind, after, before];
    const from = token === undefined ? undefined : (this.cursors.verify(scope, token) as JobPosition); // signed below
    const found = await this.look(account, await this.kidsOf(account), query, from, limit);
    const states = await this.short(account.aid, found.states);
    const last = states.at(-1);
    const next = states.length < found.states.length ? last : found.next;
    const jobs = await this.show(account.aid, states);
    this.metering.count(ctx, 'list');
    const place = next && { createdMs: next.createdMs, id: next.id };
    return { jobs, nextToken: place && this.cursors.sign(scope, place) };
  }

  async listAll(ctx: AccountContext, query: JobQuery): Promise<ReadableStream<Uint8Array>> {
    const stream = await listStreamOf(this.readAll(ctx.account, query));
    this.metering.count(ctx, 'list');
    return stream;
  }

  /** Returns one job. Rejects with `job_not_found`. */
  async read({ account }: AccountContext, id: string): Promise<Job> {
    return this.shownNow(account, await this.find(account, id));
  }

  /** Ends a job of which nothing was begun, once. Rejects with `job_not_found` and `job_started`. */
  async cancel({ account }: AccountContext, id: string): Promise<void> {
    const { aid } = account;
    const state = await this.find(account, id);
    if (state.outcome === 'cancelled') {
      return;
    }
    const [detail] = await this.store.details(aid, [state]);
    if (statusOf(state) !== 'waiting' || detail?.phase !== state.phase) {
      throw new VaultError('job_started');
    }
    const outcome = { kind: 'failure', code: 'job_cancelled' } as const;
    // The request is removed with the data of the item; its listed part stays.
    const report = { place: { aid, id }, job: detail.record, outcome, content: NO_BYTES };
    const record = state.phase === 'send' ? await this.crypto.sealReport(report) : detail.record;
    if ((await this.store.cancel(aid, id, record, this.now())) !== 'ok') {
      throw new VaultError('job_started');
    }
    this.recordEvent('job_cancelled', { job: id, account: account.name });
    // An entry that stays in the queue does nothing.
    await this.queue.remove(`${aid}.${id}`).catch(() => undefined);
  }

  /** Delivers the same report again. Rejects with `job_not_found`, `job_not_finished`, `job_cancelled` and `jobs_full`. */
  async redeliver({ account }: AccountContext, id: string): Promise<Job> {
    const { aid } = account;
    const state = await this.find(account, id);
    if (!state.hasEnded) {
      throw new VaultError('job_not_finished');
    }
    const repeated = await this.store.repeat(aid, state, this.now());
    if (repeated.kind === 'gone') {
      // Another request won the race, or the job has expired.
      const isGone = (await this.store.find(aid, id)) === undefined;
      throw new VaultError(isGone ? 'job_not_found' : 'job_not_finished');
    }
    if (repeated.kind !== 'ok') {
      throw new VaultError(repeated.kind === 'full' ? 'jobs_full' : 'job_cancelled');
    }
    const shown = await this.shownNow(account, await this.find(account, id));
    this.recordEvent('job_redelivered', { job: id, account: account.name });
    // A new name: the queue may still hold the one that has just ended.
    this.jobs.wake(aid, `${id}.${this.randomId()}`, repeated.place);
    return shown;
  }

  /**
   * Delivers the reports of jobs again, newest first, at most REPEAT_MAX, from `next_token` on. Rejects with `cursor_invalid`, and
   * with `jobs_full` if there is no room for any.
   */
  async redeliverAll({ account }: AccountContext, query: RedeliverJobs): Promise<Redelivered> {
    const { aid } = account;
    const { status = 'failed', kind, next_token: token } = query;
    const [after, before] = [bodyTimeOf('after', query.after), bodyTimeOf('before', query.before)];
    const scope = [aid, 'POST /v1/proxy/job/redeliver', status, kind, after, before];
    const place = 'body.next_token';
    const from = token === undefined ? undefined : (this.cursors.verify(scope, token, place) as JobPosition); // signed below
    const kids = await this.kidsOf(account);
    const found = await this.look(account, kids, { status, kind, after, before }, from, REPEAT_MAX);
    let { next } = found;
    let redelivered = 0;
    for (let at = 0; at < found.states.length; at += REPEAT_STEP) {
      const step = found.states.slice(at, at + REPEAT_STEP);
      const repeats = await Promise.all(step.map((state) => this.store.repeat(aid, state, this.now())));
      for (const [i, repeated] of repeats.entries()) {
        const id = step[i]?.id ?? '';
        if (repeated.kind === 'ok') {
          redelivered += 1;
          this.recordEvent('job_redelivered', { job: id, account: account.name });
          this.jobs.wake(aid, `${id}.${this.randomId()}`, repeated.place);
        }
      }
      const refused = step[repeats.findIndex(({ kind: result }) => result === 'full')];
      if (refused !== undefined) {
        if (redelivered === 0) {
          throw new VaultError('jobs_full');
        }
        next = placeBefore(refused);
        break;
      }
    }
    const end = next && { createdMs: next.createdMs, id: next.id };
    return { redelivered, ...(end === undefined ? {} : { next_token: this.cursors.sign(scope, end) }) };
  }

  async trim(aid: string): Promise<void> {
    if (this.settings.jobRetentionMs > 0) {
      await this.store.trim(aid, this.now() - this.settings.jobRetentionMs);
    }
  }

  private async *readAll(account: Account, query: JobQuery): AsyncGenerator<readonly Job[]> {
    const kids = await this.kidsOf(account);
    let next: JobPosition | undefined;
    do {
      const found: Found = await this.look(account, kids, query, next, STEP);
      for (let left = found.states; left.length > 0; ) {
        const states = await this.short(account.aid, left);
        yield await this.show(account.aid, states);
        left = left.slice(states.length);
      }
      next = found.next;
    } while (next !== undefined);
  }

  /** Reads jobs from a place on, until enough match or many were read. */
  private async look(
    { aid }: Account,
    kids: ReadonlySet<string> | undefined,
    query: JobQuery,
    from: JobPosition | undefined,
    max: number,
  ): Promise<Found> {
    const { status, kind, after = 0, before = Number.MAX_SAFE_INTEGER } = query;
    const isWanted = (state: JobState): boolean =>
      (status === undefined || statusOf(state) === status) &&
      (kind === undefined || state.kind === kind) &&
      isWithin(kids, state) &&
      !this.isExpired(state);
    const states: JobState[] = [];
    let place = from;
    for (let read = 0; read < READ_MAX; ) {
      const page = await this.store.page(aid, place, before, STEP);
      for (const state of page) {
        if (state.createdMs < after) {
          return { states, next: undefined };
        }
        if (isWanted(state)) {
          if (states.length === max) {
            return { states, next: place };
          }
          states.push(state);
        }
        place = { createdMs: state.createdMs, id: state.id };
      }
      read += page.length;
      if (page.length < STEP) {
        return { states, next: undefined };
      }
    }
    return { states, next: place };
  }

  /** Returns the jobs of these states, without those that are gone or damaged, which verification reports. */
  private async show(aid: string, states: readonly JobState[]): Promise<readonly Job[]> {
    const details = await this.store.details(aid, states);
    const found = states.flatMap((state, i) => {
      const detail = details[i];
      return detail === undefined ? [] : [{ state, detail }];
    });
    if (found.length === 0) {
      return [];
    }
    const described = await this.crypto.describeJobs({
      aid,
      jobs: found.map(({ state: { id }, detail: { phase } }) => ({ id, phase })),
      records: found.map(({ detail }) => detail.record),
    });
    const urls = described.some((job) => job?.subscription !== undefined)
      ? await this.receivers.urls(aid)
      : undefined;
    return found.flatMap(({ state, detail }, i) => {
      const job = described[i];
      const webhookUrl = job?.webhookUrl ?? urls?.get(job?.subscription ?? '');
      return job == null ? [] : [shownOf(this.requesters, state, detail, { ...job, webhookUrl })];
    });
  }

  /** Returns the first of these jobs whose records have a bounded length together, and one at least. */
  private async short(aid: string, states: readonly JobState[]): Promise<readonly JobState[]> {
    const lengths = await this.store.lengths(aid, states);
    let bytes = 0;
    const end = lengths.findIndex((length, i) => {
      bytes += length;
      return i > 0 && bytes > BYTES_MAX;
    });
    return end < 0 ? states : states.slice(0, end);
  }

  /** Returns the state of a job that its caller may see; `job_not_found` for any other. */
  private async find(account: Account, id: string): Promise<JobState> {
    const state = ID.test(id) ? await this.store.find(account.aid, id) : undefined;
    if (state === undefined || this.isExpired(state)) {
      throw new VaultError('job_not_found');
    }
    if (!isWithin(await this.kidsOf(account), state)) {
      throw outsideScope(account, 'this key');
    }
    return state;
  }

  private async shownNow({ aid }: Account, state: JobState): Promise<Job> {
    const [job] = await this.show(aid, [state]);
    if (job === undefined) {
      const isGone = (await this.store.find(aid, state.id)) === undefined;
      throw new VaultError(isGone ? 'job_not_found' : 'integrity_failed');
    }
    return job;
  }

  /** Returns the ids of the vault keys that a caller is limited to; undefined for all. */
  private async kidsOf(account: Account): Promise<ReadonlySet<string> | undefined> {
    return account.credential?.keys === undefined
      ? undefined
      : new Set(await Array.fromAsync(this.keys.each(account), ({ kid }) => kid));
  }

  private isExpired({ hasEnded, endedMs }: JobState): boolean {
    const { jobRetentionMs } = this.settings;
    return hasEnded && jobRetentionMs !== 0 && (endedMs ?? 0) + jobRetentionMs <= this.now();
  }
}

/** Tells whether the vault key of a job is among those that a caller is limited to. */
function isWithin(kids: ReadonlySet<string> | undefined, { kid }: JobState): boolean {
  return kids === undefined || (kid !== undefined && kids.has(kid));
}

function shownOf(
  requesters: readonly NetworkTokenRequester[],
  state: JobState,
  { sent, told }: JobDetails,
  described: DescribedJob,
): Job {
  const { what, actor = '', requesterId, token, reference, webhookUrl } = described;
  const requester = requesters.find(({ id }) => id === requesterId)?.url;
  const called = state.kind === 'event' ? webhookUrl : requester;
  const host = described.host ?? (called === undefined ? requesterId : new URL(called).host) ?? '';
  const { id, kind = what ?? 'post', createdMs, endedMs, nextMs, hasEnded, phase } = state;
  const isNext = !hasEnded && phase !== 'send' && nextMs !== undefined && !state.isInFlight;
  return {
    ...{ id, kind, status: statusOf(state), host },
    ...(token === undefined ? {} : { token }),
    ...(reference === undefined ? {} : { reference }),
    attempts: sent.map(attemptOf),
    ...(webhookUrl === undefined
      ? {}
      : {
          webhook: {
            ...{ url: webhookUrl, attempts: told.map(attemptOf) },
            ...(isNext ? { next_at: timeOf(nextMs) } : {}),
          },
        }),
    ...{ actor, created_at: timeOf(createdMs) },
    ...(hasEnded && endedMs !== undefined ? { finished_at: timeOf(endedMs) } : {}),
  };
}

function statusOf(state: JobState): JobStatus {
  // These have no request, only the call of a webhook.
  const isReport = state.kind === 'capture' || state.kind === 'event';
  const { outcome = isReport ? 'done' : 'unknown' } = state;
  if (state.hasEnded) {
    return outcome === 'done' && state.isUndelivered ? 'failed' : outcome;
  }
  const isBegun = state.attempts > 0 || state.isInFlight;
  if (state.phase === 'send') {
    return isBegun ? 'sending' : 'waiting';
  }
  return isBegun || state.isRepeated || !isReport ? 'reporting' : 'waiting';
}

/** The position just before a job in a listing, newest first, so that the next page begins with it: ids have one length. */
function placeBefore({ createdMs, id }: JobPosition): JobPosition {
  return { createdMs, id: `${id}~` };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function attemptOf({ atMs, ms, status, code }: EndedAttempt) {
  return {
    ...{ at: timeOf(atMs), ms },
    ...(status === undefined ? {} : { status_code: status }),
    ...(code === undefined ? {} : { error: code }),
  };
}
