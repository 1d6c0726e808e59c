import { VaultError } from '../core/errors.ts';
import beginAttemptText from './lua/job/begin-attempt-n.lua' with { type: 'text' };
import createJobText from './lua/job/create-job-2.lua' with { type: 'text' };
import endAttemptText from './lua/job/end-attempt-1.lua' with { type: 'text' };
import removeJobText from './lua/job/remove-job-2.lua' with { type: 'text' };
import removeJobsText from './lua/job/remove-jobs-1.lua' with { type: 'text' };
import removeKeyJobsText from './lua/job/remove-key-jobs-1.lua' with { type: 'text' };
import startReportText from './lua/job/start-report-1.lua' with { type: 'text' };
import { type RedisLink, script } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';
import { asBytes, asCount, asList, asOptionalBytes, asText, isOk } from './redis/reply.ts';
import { scanByScore } from './redis/scan.ts';

const createJob = script(createJobText);
const startAttempt = script(beginAttemptText);
const endAttempt = script(endAttemptText);
const startReport = script(startReportText);
const removeJob = script(removeJobText);
const removeKeyJobs = script(removeKeyJobsText);
const removeJobs = script(removeJobsText);

/** The most jobs of one account. */
export const JOBS_MAX = 100_000;

/** How long the id of a removed job stays reserved: the lifetime of an Idempotency-Key. */
const RESERVED_MS = 24 * 60 * 60 * 1_000;
const LIST_STEP = 1_000;
const REMOVE_STEP = 500;

/** The next step of a job: `send` its request to the target, or `tell` the webhook the result (the stored names). */
export type JobPhase = 'send' | 'tell';

/** An accepted job; its record is encrypted. */
export interface NewJob {
  readonly id: string;
  /** The id of the key whose data it sends or stores. */
  readonly kid: string;
  /** `tell` for a report of what has happened already. */
  readonly phase: JobPhase;
  readonly record: Uint8Array;
  /** Whether the creation may be repeated with the same id, as with an idempotency key. */
  readonly again: boolean;
}

/** The end of an attempt: whether the request may have been sent, and the encrypted report of its reply. */
export interface AttemptEnd {
  readonly sent: boolean;
  readonly report?: Uint8Array | undefined;
}

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
  /** Records an attempt before it is made, and bills it; false if the job is no longer as `seen`. */
  startAttempt(
    aid: string,
    id: string,
    seen: Pick<StoredJob, 'phase' | 'attempts' | 'flight'>,
    nonce: string,
    bill?: JobBill,
  ): Promise<boolean>;
  /** Records that an attempt has ended and another will follow; false if it is not the one in flight. */
  endAttempt(aid: string, id: string, nonce: string, attempt: AttemptEnd): Promise<boolean>;
  /** Moves from phase `send`, with `flight` as read, to phase `tell` with a new record and no attempts. */
  startReport(aid: string, id: string, flight: string, record: Uint8Array): Promise<boolean>;
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
  const [phase, record, attempts, flight, sent, last, kid] = asList(
    await redis.command('HMGET', [redisKeys.job(aid, id), 'p', 'r', 'n', 'f', 'o', 'l', 'i']),
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
      };
}

async function* removeOfKey(
  redis: RedisLink,
  aid: string,
  kid: string,
): AsyncGenerator<readonly string[], void, void> {
  const directory = redisKeys.jobDirectory(aid);
  for await (const ids of scanByScore(redis, directory, LIST_STEP)) {
    const removed = await redis.run(removeKeyJobs, [directory], [redisKeys.job(aid, ''), kid, ...ids]);
    yield asList(removed).map(asText);
  }
}

/** The jobs of one Redis. */
export function createJobStore(redis: RedisLink): JobStore {
  return {
    async create(aid, { id, kid, phase, record, again }, nowMs) {
      const keys = [redisKeys.job(aid, id), redisKeys.jobDirectory(aid)];
      const args = [id, record, nowMs, JOBS_MAX, again ? '1' : '', kid, phase];
      const word = asText(await redis.run(createJob, keys, args));
      return word === 'exists' || word === 'full' ? { kind: word } : { kind: 'ok', place: Number(word) };
    },
    read: (aid, id) => readJob(redis, aid, id),
    async startAttempt(aid, id, seen, nonce, bill) {
      const keys = [redisKeys.job(aid, id), ...(bill ? [redisKeys.usage(aid, bill.month)] : [])];
      const args = [seen.phase, seen.attempts, seen.flight, nonce, bill?.operation ?? ''];
      return isOk(await redis.run(startAttempt, keys, args));
    },
    async endAttempt(aid, id, nonce, { sent, report = '' }) {
      return isOk(await redis.run(endAttempt, [redisKeys.job(aid, id)], [nonce, sent ? '1' : '', report]));
    },
    async startReport(aid, id, flight, record) {
      return isOk(await redis.run(startReport, [redisKeys.job(aid, id)], [flight, record]));
    },
    async remove(aid, id, flight) {
      const keys = [redisKeys.job(aid, id), redisKeys.jobDirectory(aid)];
      return isOk(await redis.run(removeJob, keys, [id, flight, RESERVED_MS]));
    },
    list: (aid) => scanByScore(redis, redisKeys.jobDirectory(aid), LIST_STEP),
    removeOfKey: (aid, kid) => removeOfKey(redis, aid, kid),
    async removeAll(aid) {
      const args = [redisKeys.job(aid, ''), REMOVE_STEP];
      while (asCount(await redis.run(removeJobs, [redisKeys.jobDirectory(aid)], args)) > 0) {
        // Each call removes one chunk.
      }
    },
  };
}
