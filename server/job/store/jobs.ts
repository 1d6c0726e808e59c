import { VaultError } from '../../core/errors.ts';
import { type RedisLink, script } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { scanByScore } from '../../redis/records/scan.ts';
import { asBytes, asCount, asList, asOneOf, asOptionalBytes, asText, isOk } from '../../redis/reply.ts';
import beginAttemptText from './begin-attempt-n.lua' with { type: 'text' };
import cancelJobText from './cancel-job-4.lua' with { type: 'text' };
import createJobText from './create-job-2.lua' with { type: 'text' };
import endAttemptText from './end-attempt-1.lua' with { type: 'text' };
import finishJobText from './finish-job-4.lua' with { type: 'text' };
import {
  type EndedAttempt,
  type JobDetails,
  type JobKind,
  type JobOutcome,
  type JobPhase,
  type JobPosition,
  type JobState,
  placesOf,
  readDetails,
  readPage,
  readState,
} from './list.ts';
import prelude from './prelude.lua' with { type: 'text' };
import removeJobText from './remove-job-2.lua' with { type: 'text' };
import removeJobsText from './remove-jobs-1.lua' with { type: 'text' };
import removeKeyJobsText from './remove-key-jobs-1.lua' with { type: 'text' };
import repeatJobText from './repeat-job-4.lua' with { type: 'text' };
import startReportText from './start-report-1.lua' with { type: 'text' };
import trimJobsText from './trim-jobs-1.lua' with { type: 'text' };

const createJob = script(createJobText);
const startAttempt = script(prelude, beginAttemptText);
const endAttempt = script(prelude, endAttemptText);
const startReport = script(prelude, startReportText);
const finishJob = script(prelude, finishJobText);
const cancelJob = script(cancelJobText);
const repeatJob = script(repeatJobText);
const trimJobs = script(trimJobsText);
const removeJob = script(removeJobText);
const removeKeyJobs = script(removeKeyJobsText);
const removeJobs = script(removeJobsText);

/** The most jobs of one account. */
export const JOBS_MAX = 100_000;

/** How long the id of a removed job stays reserved: the lifetime of an Idempotency-Key. */
const RESERVED_MS = 24 * 60 * 60 * 1_000;
const LIST_STEP = 1_000;
const REMOVE_STEP = 500;

/** An accepted job; its record is encrypted. */
export interface NewJob {
  readonly id: string;
  /** The id of the key whose data it sends or stores. */
  readonly kid: string;
  /** `tell` for a report of what has happened already. */
  readonly phase: JobPhase;
  readonly kind: JobKind;
  readonly record: Uint8Array;
  /** Whether the creation may be repeated with the same id, as with an idempotency key. */
  readonly again: boolean;
}

/** The end of an attempt: whether the request may have been sent, and the encrypted report of its reply. */
export interface AttemptEnd {
  readonly sent: boolean;
  readonly report?: Uint8Array | undefined;
  readonly entry: AttemptEntry;
  /** When the next one is made, ms since 1970. */
  readonly nextMs: number;
}

/** How the attempt in flight has ended; undefined where nobody knows, or none is in flight. */
export type AttemptEntry = Omit<EndedAttempt, 'atMs'> | undefined;

/** The result of a creation; `place` is the number of jobs of the account, including this one. */
export type JobCreation =
  | { readonly kind: 'ok'; readonly place: number }
  | { readonly kind: 'exists' | 'full' };

/** A job as stored in Redis; its record is encrypted. */
export interface StoredJob {
  readonly phase: JobPhase;
  readonly record: Buffer;
  /** The id of its key; jobs of earlier versions have none here. */
  readonly kid: string | undefined;
  /** Attempts that were started in this phase. */
  readonly attempts: number;
  /** Whether an ended attempt may have reached the target. */
  readonly sent: boolean;
  /** The encrypted report of the last reply, unless a later attempt may have reached the target. */
  readonly last: Buffer | undefined;
  /** The nonce of the attempt in flight, or ''. If its process has stopped, the outcome is unknown. */
  readonly flight: string;
  /** When the next attempt is due, ms since 1970; undefined where it is due at once. */
  readonly nextMs: number | undefined;
}

/** How an attempt is billed, in a month (`YYYY-MM`). */
export interface JobBill {
  readonly month: string;
  readonly operation: 'proxy_attempt' | 'network_token';
}

/** Jobs of accounts. Each change names the state that was read; of two concurrent changes one returns false. */
export interface JobStore {
  /** With `again` the result is `exists` also for a day after the job was removed. */
  create(aid: string, job: NewJob, nowMs: number): Promise<JobCreation>;
  read(aid: string, id: string): Promise<StoredJob | undefined>;
  /** Records an attempt before it is made, and bills it; `entry`: how the one in flight ended. False if the job is no longer as `seen`. */
  startAttempt(
    aid: string,
    id: string,
    seen: Pick<StoredJob, 'phase' | 'attempts' | 'flight'>,
    nonce: string,
    begin: { readonly nowMs: number; readonly entry?: AttemptEntry },
    bill?: JobBill,
  ): Promise<boolean>;
  /** Records that an attempt has ended and another will follow; false if it is not the one in flight. */
  endAttempt(aid: string, id: string, nonce: string, attempt: AttemptEnd): Promise<boolean>;
  /** Moves from phase `send`, with `flight` as read, to phase `tell` with a new record and no attempts. */
  startReport(
    aid: string,
    id: string,
    flight: string,
    report: { readonly record: Uint8Array; readonly outcome: JobOutcome; readonly entry: AttemptEntry },
  ): Promise<boolean>;
  /** Ends the job if `flight` is as read; from then on it is only listed. */
  finish(
    aid: string,
    id: string,
    flight: string,
    end: { readonly nowMs: number; readonly isDelivered: boolean; readonly entry: AttemptEntry },
  ): Promise<boolean>;
  /** Ends a job of which no attempt was begun, and replaces its request by `record`. */
  cancel(aid: string, id: string, record: Uint8Array, nowMs: number): Promise<'ok' | 'started' | 'gone'>;
  /** Lets an ended job begin its phase `tell` again; gives its place as a creation does. */
  repeat(
    aid: string,
    id: string,
    nowMs: number,
  ): Promise<
    { readonly kind: 'ok'; readonly place: number } | { readonly kind: 'gone' | 'cancelled' | 'full' }
  >;
  /** The jobs at and behind a place, newest first, at most `max`; the jobs of the place itself come first. */
  page(
    aid: string,
    from: JobPosition | undefined,
    beforeMs: number,
    max: number,
  ): Promise<readonly JobState[]>;
  /** One job; undefined if there is none of this id. */
  find(aid: string, id: string): Promise<JobState | undefined>;
  /** The rest of what is shown of jobs, in the same order; undefined for one that is gone by now. */
  details(aid: string, jobs: readonly JobState[]): Promise<readonly (JobDetails | undefined)[]>;
  /** The lengths of the records of jobs in bytes, in the same order. */
  lengths(aid: string, jobs: readonly JobState[]): Promise<readonly number[]>;
  /** Removes jobs that ended before a time. */
  trim(aid: string, beforeMs: number): Promise<void>;
  /** Removes the job if `flight` is as read. */
  remove(aid: string, id: string, flight: string): Promise<boolean>;
  /** Ids of the account's jobs, oldest first, in chunks. Jobs may be added and removed at the same time. */
  list(aid: string): AsyncGenerator<readonly string[]>;
  /** Removes the jobs of a key, in every phase, in chunks; gives their ids. */
  removeOfKey(aid: string, kid: string): AsyncGenerator<readonly string[]>;
  /** Removes all jobs of an account, in chunks. */
  removeAll(aid: string): Promise<void>;
}

function asAttempts(part: unknown): number {
  const attempts = asCount(part);
  if (!Number.isSafeInteger(attempts) || attempts < 0) {
    throw new VaultError('integrity_failed');
  }
  return attempts;
}

function asPhase(part: unknown): JobPhase {
  const phase = asText(part);
  if (phase === 'send' || phase === 'tell') {
    return phase;
  }
  throw new VaultError('integrity_failed');
}

async function readJob(redis: RedisLink, aid: string, id: string): Promise<StoredJob | undefined> {
  const [phase, record, attempts, flight, sent, last, kid, next] = asList(
    await redis.command('HMGET', [redisKeys.job(aid, id), 'p', 'r', 'n', 'f', 'o', 'l', 'i', 'x']),
  );
  return phase === null && record === null
    ? undefined
    : {
        phase: asPhase(phase),
        record: asBytes(record),
        attempts: asAttempts(attempts),
        flight: asText(flight),
        sent: sent !== null,
        last: asOptionalBytes(last),
        kid: kid === null ? undefined : asText(kid),
        nextMs: next === null ? undefined : asAttempts(next),
      };
}

async function* removeOfKey(
  redis: RedisLink,
  aid: string,
  kid: string,
): AsyncGenerator<readonly string[], void, void> {
  for (const [directory, prefix] of placesOf(aid)) {
    for await (const ids of scanByScore(redis, directory, LIST_STEP)) {
      yield asList(await redis.run(removeKeyJobs, [directory], [prefix, kid, ...ids])).map(asText);
    }
  }
}

function entryText(entry: AttemptEntry): string {
  return entry === undefined ? '' : `${entry.ms},${entry.status ?? ''},${entry.code ?? ''}`;
}

/** The keys of the scripts that end a job or begin it again. */
function bothOf(aid: string, id: string): string[] {
  return [
    ...[redisKeys.job(aid, id), redisKeys.jobDirectory(aid)],
    ...[redisKeys.endedJob(aid, id), redisKeys.endedJobDirectory(aid)],
  ];
}

async function trim(redis: RedisLink, aid: string, beforeMs: number): Promise<void> {
  const [directory, prefix] = [redisKeys.endedJobDirectory(aid), redisKeys.endedJob(aid, '')];
  for (let kept = 0; ; ) {
    const args = [prefix, beforeMs, REMOVE_STEP, kept];
    const [seen = 0, stayed = 0] = asList(await redis.run(trimJobs, [directory], args)).map(asCount);
    kept += stayed;
    if (seen < REMOVE_STEP) {
      return;
    }
  }
}

/** What shows jobs. */
function createJobReader(redis: RedisLink): Pick<JobStore, 'page' | 'find' | 'details' | 'lengths'> {
  return {
    page: (aid, from, beforeMs, max) => readPage(redis, aid, from, beforeMs, max),
    async find(aid, id) {
      const place = { id, createdMs: undefined };
      // A report that is repeated in between moves the job back.
      return (
        (await readState(redis, aid, place, false)) ??
        (await readState(redis, aid, place, true)) ??
        readState(redis, aid, place, false)
      );
    },
    details: (aid, jobs) => Promise.all(jobs.map((job) => readDetails(redis, aid, job))),
    lengths: (aid, jobs) =>
      Promise.all(
        jobs.map(async ({ id, hasEnded }) => {
          const key = hasEnded ? redisKeys.endedJob(aid, id) : redisKeys.job(aid, id);
          return asCount(await redis.command('HSTRLEN', [key, 'r']));
        }),
      ),
  };
}

/** The jobs of one Redis. */
export function createJobStore(redis: RedisLink): JobStore {
  return {
    async create(aid, { id, kid, phase, kind, record, again }, nowMs) {
      const keys = [redisKeys.job(aid, id), redisKeys.jobDirectory(aid)];
      const args = [id, record, nowMs, JOBS_MAX, again ? '1' : '', kid, phase, kind];
      const word = asText(await redis.run(createJob, keys, args));
      return word === 'exists' || word === 'full' ? { kind: word } : { kind: 'ok', place: Number(word) };
    },
    read: (aid, id) => readJob(redis, aid, id),
    async startAttempt(aid, id, seen, nonce, { nowMs, entry }, bill) {
      const keys = [redisKeys.job(aid, id), ...(bill ? [redisKeys.usage(aid, bill.month)] : [])];
      const args = [
        seen.phase,
        seen.attempts,
        seen.flight,
        nonce,
        bill?.operation ?? '',
        nowMs,
        entryText(entry),
      ];
      return isOk(await redis.run(startAttempt, keys, args));
    },
    async endAttempt(aid, id, nonce, { sent, report = '', entry, nextMs }) {
      const args = [nonce, sent ? '1' : '', report, entryText(entry), nextMs];
      return isOk(await redis.run(endAttempt, [redisKeys.job(aid, id)], args));
    },
    async startReport(aid, id, flight, { record, outcome, entry }) {
      const args = [flight, record, outcome, entryText(entry)];
      return isOk(await redis.run(startReport, [redisKeys.job(aid, id)], args));
    },
    async finish(aid, id, flight, { nowMs, isDelivered, entry }) {
      const args = [id, flight, RESERVED_MS, nowMs, isDelivered ? '1' : '', entryText(entry)];
      return isOk(await redis.run(finishJob, bothOf(aid, id), args));
    },
    async cancel(aid, id, record, nowMs) {
      const reply = await redis.run(cancelJob, bothOf(aid, id), [id, record, RESERVED_MS, nowMs]);
      return asOneOf(reply, ['ok', 'started', 'gone']);
    },
    async repeat(aid, id, nowMs) {
      const word = asText(await redis.run(repeatJob, bothOf(aid, id), [id, JOBS_MAX, nowMs]));
      return word === 'gone' || word === 'cancelled' || word === 'full'
        ? { kind: word }
        : { kind: 'ok', place: Number(word) };
    },
    ...createJobReader(redis),
    trim: (aid, beforeMs) => trim(redis, aid, beforeMs),
    async remove(aid, id, flight) {
      const keys = [redisKeys.job(aid, id), redisKeys.jobDirectory(aid)];
      return isOk(await redis.run(removeJob, keys, [id, flight, RESERVED_MS]));
    },
    list: (aid) => scanByScore(redis, redisKeys.jobDirectory(aid), LIST_STEP),
    removeOfKey: (aid, kid) => removeOfKey(redis, aid, kid),
    async removeAll(aid) {
      for (const [directory, prefix] of placesOf(aid)) {
        while (asCount(await redis.run(removeJobs, [directory], [prefix, REMOVE_STEP])) > 0) {
          // Each call removes one chunk.
        }
      }
    },
  };
}
