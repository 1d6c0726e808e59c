/** Asynchronous requests and webhooks as their account sees them: listed, cancelled, and reported again. */
import type { DescribedJob } from '../../workers/jobs/proxy/jobs.ts';
import type { ProxyRequester } from '../call/send.ts';
import { bindParts } from '../core/bind.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import { outsideScope } from '../request/permission.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { ProxyJobs } from './jobs.ts';
import type { Job, JobKind, JobStatus } from './schema.ts';
import type { JobStore } from './store/jobs.ts';
import type { EndedAttempt, JobDetails, JobPosition, JobState } from './store/list.ts';

/** What a listing is asked for; times in ms since 1970, `after` inclusive, `before` exclusive. */
interface JobQuery {
  readonly status?: JobStatus | undefined;
  readonly kind?: JobKind | undefined;
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly next_token?: string | undefined;
}

interface ListingParts {
  readonly crypto: Pick<Crypto, 'describeJobs' | 'sealReport'>;
  readonly jobStore: JobStore;
  readonly keys: Pick<KeyOpener, 'find'>;
  readonly jobs: Pick<ProxyJobs, 'wake'>;
  /** Removes a job, `aid.id`, from the queue. */
  readonly dequeue: (name: string) => Promise<void>;
  readonly cursors: Cursors;
  readonly metering: Pick<MeteringService, 'count'>;
  readonly requesters: readonly ProxyRequester[];
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'jobRetentionMs'>;
}

const STEP = 256;
/** Jobs that one request looks at; a page of a narrow filter may be short, or empty, and have a next one. */
const LOOKED_MAX = 2_048;
/** What the records of one page may have together; one alone may have more. */
const BYTES_MAX = 4 * 1_048_576;
const NO_BYTES = new Uint8Array(0);
const ID = /^[A-Za-z0-9_-]{22}$/;

/** The listing of jobs. */
export type JobListing = ReturnType<typeof createJobListing>;

/** Makes the listing of jobs of a server. */
export function createJobListing(parts: ListingParts) {
  return bindParts(parts, { list, listAll, read, cancel, redeliver, trim });
}

/** How far a job is. */
function statusOf({
  hasEnded,
  phase,
  kind,
  attempts,
  isInFlight,
  isUndelivered,
  isRepeated,
  outcome,
}: JobState): JobStatus {
  if (!hasEnded) {
    const isBegun = attempts > 0 || isInFlight;
    return phase === 'send'
      ? isBegun
        ? 'sending'
        : 'waiting'
      : isBegun || isRepeated || kind !== 'capture'
        ? 'reporting'
        : 'waiting';
  }
  // Earlier versions did not record how a request had ended.
  const known = outcome ?? (kind === 'capture' ? 'done' : 'unknown');
  return known === 'done' && isUndelivered ? 'failed' : known;
}

/** When an ended job is not listed any more. */
function isOver({ now, settings }: ListingParts, { hasEnded, endedMs }: JobState): boolean {
  const { jobRetentionMs } = settings;
  return hasEnded && jobRetentionMs !== 0 && (endedMs ?? 0) + jobRetentionMs <= now();
}

/** Ids of the vault keys that a caller is limited to; undefined for all. */
async function kidsOf(
  { keys }: ListingParts,
  { aid, credential }: Account,
): Promise<ReadonlySet<string> | undefined> {
  if (credential?.keys === undefined) {
    return undefined;
  }
  const found = [...credential.keys].map((user) =>
    recover(keys.find({ aid }, user), 'key_not_found', undefined),
  );
  return new Set((await Promise.all(found)).flatMap((key) => (key === undefined ? [] : [key.kid])));
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

/** A job as callers see it. */
function shownOf(
  { requesters }: ListingParts,
  state: JobState,
  { sent, told }: JobDetails,
  described: DescribedJob,
): Job {
  const { what, actor = '', requesterId, token, reference, webhookUrl } = described;
  const requester = requesters.find(({ id }) => id === requesterId)?.url;
  const host = described.host ?? (requester === undefined ? requesterId : new URL(requester).host) ?? '';
  const { id, kind = what ?? 'post', createdMs, endedMs, nextMs, hasEnded, phase } = state;
  const isNext = !hasEnded && phase === 'tell' && nextMs !== undefined && !state.isInFlight;
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

/** The jobs of these states; those that are gone or damaged are left out, which verification reports. */
async function show(parts: ListingParts, aid: string, states: readonly JobState[]): Promise<readonly Job[]> {
  const details = await parts.jobStore.details(aid, states);
  const found = states.flatMap((state, i) => {
    const detail = details[i];
    return detail === undefined ? [] : [{ state, detail }];
  });
  if (found.length === 0) {
    return [];
  }
  const described = await parts.crypto.describeJobs({
    aid,
    jobs: found.map(({ state: { id }, detail: { phase } }) => ({ id, phase })),
    records: found.map(({ detail }) => detail.record),
  });
  return found.flatMap(({ state, detail }, i) => {
    const job = described[i];
    return job == null ? [] : [shownOf(parts, state, detail, job)];
  });
}

/** The first of these jobs, as many as have records of a bounded length together, and one at least. */
async function short(
  { jobStore }: ListingParts,
  aid: string,
  states: readonly JobState[],
): Promise<readonly JobState[]> {
  const lengths = await jobStore.lengths(aid, states);
  let bytes = 0;
  const end = lengths.findIndex((length, i) => {
    bytes += length;
    return i > 0 && bytes > BYTES_MAX;
  });
  return end < 0 ? states : states.slice(0, end);
}

/** A part of a listing: the jobs in it that are wanted, and where it goes on. */
interface Found {
  readonly states: readonly JobState[];
  readonly next: JobPosition | undefined;
}

/** Looks at jobs from a place on, until enough are wanted or many were looked at. */
async function look(
  parts: ListingParts,
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
    (kids === undefined || (state.kid !== undefined && kids.has(state.kid))) &&
    !isOver(parts, state);
  const states: JobState[] = [];
  let place = from;
  for (let looked = 0; looked < LOOKED_MAX; ) {
    const page = await parts.jobStore.page(aid, place, before, STEP);
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
    looked += page.length;
    if (page.length < STEP) {
      return { states, next: undefined };
    }
  }
  return { states, next: place };
}

/** A page of jobs, newest first. Rejects with `cursor_invalid`. */
async function list(
  parts: ListingParts,
  ctx: AccountContext,
  query: JobQuery,
  limit: number,
): Promise<{ readonly jobs: readonly Job[]; readonly nextToken: string | undefined }> {
  const { cursors, metering } = parts;
  const { account } = ctx;
  const { status, kind, after, before, next_token: token } = query;
  const scope = [account.aid, 'GET /v1/proxy/job', status, kind, after, before];
  const from = token === undefined ? undefined : (cursors.verify(scope, token) as JobPosition); // signed below
  const found = await look(parts, account, await kidsOf(parts, account), query, from, limit);
  // Reports may be long: what is opened at once is bounded.
  const states = await short(parts, account.aid, found.states);
  const last = states.at(-1);
  const next = states.length < found.states.length ? last : found.next;
  const jobs = await show(parts, account.aid, states);
  metering.count(ctx, 'list');
  const place = next && { createdMs: next.createdMs, id: next.id };
  return { jobs, nextToken: place && cursors.sign(scope, place) };
}

async function* readAll(
  parts: ListingParts,
  account: Account,
  query: JobQuery,
): AsyncGenerator<readonly Job[]> {
  const kids = await kidsOf(parts, account);
  let next: JobPosition | undefined;
  do {
    const found: Found = await look(parts, account, kids, query, next, STEP);
    for (let left = found.states; left.length > 0; ) {
      const states = await short(parts, account.aid, left);
      yield await show(parts, account.aid, states);
      left = left.slice(states.length);
    }
    next = found.next;
  } while (next !== undefined);
}

/** All jobs, newest first, as the JSON text of a list. */
async function listAll(
  parts: ListingParts,
  ctx: AccountContext,
  query: JobQuery,
): Promise<ReadableStream<Uint8Array>> {
  const stream = await listStreamOf(readAll(parts, ctx.account, query));
  parts.metering.count(ctx, 'list');
  return stream;
}

/** The state of a job that its caller may see; `job_not_found` for any other. */
async function find(parts: ListingParts, account: Account, id: string): Promise<JobState> {
  const state = ID.test(id) ? await parts.jobStore.find(account.aid, id) : undefined;
  if (state === undefined || isOver(parts, state)) {
    throw new VaultError('job_not_found');
  }
  const kids = await kidsOf(parts, account);
  if (kids !== undefined && (state.kid === undefined || !kids.has(state.kid))) {
    throw outsideScope('this key');
  }
  return state;
}

async function shownNow(parts: ListingParts, { aid }: Account, state: JobState): Promise<Job> {
  const [job] = await show(parts, aid, [state]);
  if (job === undefined) {
    const isGone = (await parts.jobStore.find(aid, state.id)) === undefined;
    throw new VaultError(isGone ? 'job_not_found' : 'integrity_failed');
  }
  return job;
}

/** One job. Rejects with `job_not_found`. */
async function read(parts: ListingParts, { account }: AccountContext, id: string): Promise<Job> {
  return shownNow(parts, account, await find(parts, account, id));
}

/** Ends a job of which nothing was begun, once. Rejects with `job_not_found` and `job_started`. */
async function cancel(parts: ListingParts, { account }: AccountContext, id: string): Promise<void> {
  const { crypto, jobStore, dequeue, recordEvent, now } = parts;
  const { aid } = account;
  const state = await find(parts, account, id);
  if (state.outcome === 'cancelled') {
    return;
  }
  const [detail] = await jobStore.details(aid, [state]);
  if (statusOf(state) !== 'waiting' || detail?.phase !== state.phase) {
    throw new VaultError('job_started');
  }
  const outcome = { kind: 'failure', code: 'job_cancelled' } as const;
  // The request goes, and with it the data of the item; what is listed of it stays.
  const report = { place: { aid, id }, job: detail.record, outcome, content: NO_BYTES };
  const record = state.phase === 'send' ? await crypto.sealReport(report) : detail.record;
  const word = await jobStore.cancel(aid, id, record, now());
  if (word !== 'ok') {
    throw new VaultError('job_started');
  }
  recordEvent('job_cancelled', { job: id, account: account.name });
  // One that stays in the queue finds nothing to do.
  await dequeue(`${aid}.${id}`).catch(() => undefined);
}

/**
 * Delivers the report of an ended job again: the same body under the same id. Rejects with `job_not_found`,
 * `job_not_finished`, `job_cancelled` and `jobs_full`.
 */
async function redeliver(parts: ListingParts, { account }: AccountContext, id: string): Promise<Job> {
  const { jobStore, jobs, recordEvent, now, randomId } = parts;
  const { aid } = account;
  if (!(await find(parts, account, id)).hasEnded) {
    throw new VaultError('job_not_finished');
  }
  const repeated = await jobStore.repeat(aid, id, now());
  switch (repeated.kind) {
    case 'cancelled':
      throw new VaultError('job_cancelled');
    case 'full':
      throw new VaultError('jobs_full');
    case 'gone':
      // Another request was faster, or its time was over in between.
      throw new VaultError(
        (await jobStore.find(aid, id)) === undefined ? 'job_not_found' : 'job_not_finished',
      );
    case 'ok': {
      const state = await find(parts, account, id);
      const shown = await shownNow(parts, account, state);
      recordEvent('job_redelivered', { job: id, account: account.name });
      // A name of its own: the queue may still hold the one that has just ended.
      jobs.wake(aid, `${id}.${randomId()}`, repeated.place);
      return shown;
    }
  }
}

/** Removes the jobs of an account whose time is over. */
async function trim({ jobStore, now, settings }: ListingParts, aid: string): Promise<void> {
  if (settings.jobRetentionMs > 0) {
    await jobStore.trim(aid, now() - settings.jobRetentionMs);
  }
}
