import { VaultError } from '../../core/errors.ts';
import { isEventId } from '../../core/event-types.ts';
import { type RedisLink, script } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { scanByScore } from '../../redis/records/scan.ts';
import {
  asBytes,
  asCount,
  asList,
  asOneOf,
  asOptionalBytes,
  asPairs,
  asText,
  isOk,
} from '../../redis/reply.ts';
import beginAttemptText from './begin-attempt-n.lua' with { type: 'text' };
import cancelJobText from './cancel-job-4.lua' with { type: 'text' };
import createEventsText from './create-events-3.lua' with { type: 'text' };
import createJobText from './create-job-2.lua' with { type: 'text' };
import endAttemptText from './end-attempt-1.lua' with { type: 'text' };
import finishJobText from './finish-job-4.lua' with { type: 'text' };
import nextEventsText from './next-events-2.lua' with { type: 'text' };
import prelude from './prelude.lua' with { type: 'text' };
import queuedEventsText from './queued-events-1.lua' with { type: 'text' };
import removeJobText from './remove-job-2.lua' with { type: 'text' };
import removeJobsText from './remove-jobs-1.lua' with { type: 'text' };
import removeKeyJobsText from './remove-key-jobs-1.lua' with { type: 'text' };
import repeatJobText from './repeat-job-4.lua' with { type: 'text' };
import startReportText from './start-report-1.lua' with { type: 'text' };
import trimJobsText from './trim-jobs-1.lua' with { type: 'text' };

const createJob = script(createJobText);
const createEvents = script(createEventsText);
const nextEvents = script(nextEventsText);
const queuedEvents = script(queuedEventsText);
const startAttempt = script(prelude, beginAttemptText);
const endAttempt = script(prelude, endAttemptText);
const startReport = script(prelude, startReportText);
const finishJob = script(prelude, finishJobText);
const cancelJob = script(prelude, cancelJobText);
const repeatJob = script(repeatJobText);
const trimJobs = script(trimJobsText);
const removeJob = script(removeJobText);
const removeKeyJobs = script(removeKeyJobsText);
const removeJobs = script(removeJobsText);

export const JOBS_MAX = 100_000;
/** Deliveries of events that wait for one subscription. */
const WAITING_EVENTS_MAX = 100_000;
/**
 * Deliveries of a subscription in the queue at once, which are those that a server runs and lets wait, and while its receiver fails:
 * others wait in store and cost nothing.
 */
const EVENTS_QUEUED = 24;
const FAILING_EVENTS_QUEUED = 4;
/** Deliveries of events of an account that have ended and are listed, of all its subscriptions. */
const ENDED_EVENTS_MAX = 10_000;

/** The time for which the id of a removed job stays reserved: the lifetime of an Idempotency-Key. */
const RESERVED_MS = 24 * 60 * 60 * 1_000;
const LIST_STEP = 1_000;
const REMOVE_STEP = 500;

/** What `create-events` replies of deliveries that have no place in the queue. */
const UNPLACED = [undefined, 'left_out', 'paused'] as const;

/** The next step of a job: `send` its request to the target, `tell` the webhook the result, or deliver an `event` (the stored names). */
export type JobPhase = (typeof PHASES)[number];
const PHASES = ['send', 'tell', 'event'] as const;

/** The kind of a job; the stored names are those of the API. */
export type JobKind = (typeof JOB_KINDS)[number];
const JOB_KINDS = ['post', 'get', 'network_token', 'capture', 'event'] as const;

/** The outcome of a job; `unknown` where its request may have arrived, and no reply came. */
export type JobOutcome = (typeof OUTCOMES)[number];
const OUTCOMES = ['done', 'failed', 'unknown', 'cancelled'] as const;

/** The outcome of an attempt: its duration, and the status or the error code. */
interface AttemptOutcome {
  readonly ms: number;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
}

/** The outcome of the attempt in flight; undefined if it is unknown, or none is in flight. */
export type AttemptEntry = AttemptOutcome | undefined;

/** An attempt that has ended, with the time at which it began. */
export interface EndedAttempt extends AttemptOutcome {
  readonly atMs: number;
}

/** A place in the listing of jobs, newest first: the time of creation, ms since 1970, and the id. */
export interface JobPosition {
  readonly createdMs: number;
  readonly id: string;
}

/** The state of a job, which is listed without opening its record. */
export interface JobState extends JobPosition {
  readonly hasEnded: boolean;
  readonly phase: JobPhase;
  /** Undefined for jobs of earlier versions. */
  readonly kind: JobKind | undefined;
  readonly kid: string | undefined;
  readonly attempts: number;
  readonly isInFlight: boolean;
  /** Its report was requested again after it had ended. */
  readonly isRepeated: boolean;
  /** The outcome of its request; undefined before it is known, and for a capture. */
  readonly outcome: JobOutcome | undefined;
  readonly isUndelivered: boolean;
  readonly endedMs: number | undefined;
  readonly nextMs: number | undefined;
}

export interface JobDetails {
  /** The phase of the record, which may have begun after the state was read. */
  readonly phase: JobPhase;
  /** Encrypted. */
  readonly record: Buffer;
  readonly sent: readonly EndedAttempt[];
  readonly told: readonly EndedAttempt[];
}

/** An accepted job; its record is encrypted. */
export interface NewJob {
  readonly id: string;
  /** The id of the key whose data it sends or stores. */
  readonly kid: string;
  /** `tell` for a report of a capture. */
  readonly phase: JobPhase;
  readonly kind: JobKind;
  readonly record: Uint8Array;
  /** The creation may be repeated with the same id, as with an idempotency key. */
  readonly again: boolean;
}

/** A delivery of an event to a subscription; its record is encrypted. */
export interface NewEventJob {
  /** Equal for the same event and subscription; begins with `EVENT_ID`. */
  readonly id: string;
  readonly subscription: string;
  readonly record: Uint8Array;
}

/** The end of an attempt: whether the request may have been sent, and the encrypted report of its reply. */
export interface AttemptEnd {
  readonly sent: boolean;
  readonly report?: Uint8Array | undefined;
  readonly entry: AttemptEntry;
  /** The time of the next one, ms since 1970. */
  readonly nextMs: number;
}

/** The result of a creation or repetition; `place` is the number of jobs of the account, including this one. */
type JobPlacement<Failure extends string> =
  | { readonly kind: 'ok'; readonly place: number }
  | { readonly kind: Failure };

/** A job as stored in Redis; its record is encrypted. */
export interface StoredJob {
  readonly phase: JobPhase;
  readonly record: Buffer;
  /** The id of its key; jobs of earlier versions have none here. */
  readonly kid: string | undefined;
  /** Attempts that were started in this phase. */
  readonly attempts: number;
  /** An ended attempt may have reached the target. */
  readonly sent: boolean;
  /** The encrypted report of the last reply, unless a later attempt may have reached the target. */
  readonly last: Buffer | undefined;
  /** The nonce of the attempt in flight, or ''. If its process has stopped, the outcome is unknown. */
  readonly flight: string;
  /** The time of the next attempt, ms since 1970; undefined where it is due at once. */
  readonly nextMs: number | undefined;
  /** The outcome of its request; undefined before it is known, and for a capture. */
  readonly outcome: JobOutcome | undefined;
  /** The id of the subscription of a delivery. */
  readonly subscription: string | undefined;
}

/** The operation as which an attempt is billed, in a month (`YYYY-MM`). */
export interface JobBill {
  readonly month: string;
  readonly operation: 'proxy_attempt' | 'network_token';
}

/** The store of jobs of accounts. Each change names the state that was read; of two concurrent changes one returns false. */
export class JobStore {
  constructor(private readonly redis: RedisLink) {}

  /** Stores a job. With `again` the result is `exists` also for a day after the job was removed. */
  async create(
    aid: string,
    { id, kid, phase, kind, record, again }: NewJob,
    nowMs: number,
  ): Promise<JobPlacement<'exists' | 'full'>> {
    const args = [id, record, nowMs, JOBS_MAX, again ? '1' : '', kid, phase, kind];
    const word = asText(await this.redis.run(createJob, openKeysOf(aid, id), args));
    return word === 'exists' || word === 'full' ? { kind: word } : { kind: 'ok', place: Number(word) };
  }

  /**
   * Stores deliveries of events, each unless it is stored already. Its subscription is paused instead where too many wait for it.
   * Returns the place in the queue of each one that has one, `left_out` for one whose subscription is paused, and `paused` for one
   * that has paused it.
   */
  async createEvents(
    aid: string,
    jobs: readonly NewEventJob[],
    nowMs: number,
  ): Promise<readonly (number | 'left_out' | 'paused' | undefined)[]> {
    const keys = [
      redisKeys.eventState(aid),
      redisKeys.eventJobDirectory(aid),
      redisKeys.endedEventJobDirectory(aid),
    ];
    const prefixes = [
      redisKeys.eventJob(aid, ''),
      redisKeys.endedEventJob(aid, ''),
      redisKeys.waitingEvents(aid, ''),
    ];
    const rest = jobs.flatMap(({ id, subscription, record }) => [id, subscription, record]);
    const limits = [WAITING_EVENTS_MAX, ENDED_EVENTS_MAX, EVENTS_QUEUED, FAILING_EVENTS_QUEUED];
    const args = [nowMs, ...limits, ...prefixes, ...rest];
    const places = asList(await this.redis.run(createEvents, keys, args)).map(Number);
    return places.map((place) => (place > 0 ? place : UNPLACED[-place]));
  }

  /** Lists ids of the account's subscriptions. */
  async subscriptions(aid: string): Promise<readonly string[]> {
    return asList(await this.redis.command('HKEYS', [redisKeys.subscriptions(aid)])).map(asText);
  }

  /** Takes deliveries of a subscription that wait in store for the queue, at least `least` of them. Returns their ids. */
  async nextEvents(aid: string, subscription: string, least = 0): Promise<readonly string[]> {
    const keys = [redisKeys.eventState(aid), redisKeys.waitingEvents(aid, subscription)];
    const args = [subscription, EVENTS_QUEUED, least];
    return asList(await this.redis.run(nextEvents, keys, args)).map(asText);
  }

  async read(aid: string, id: string): Promise<StoredJob | undefined> {
    const names = ['p', 'r', 'n', 'f', 'o', 'l', 'i', 'x', 'v', 's'];
    const fields = asList(await this.redis.command('HMGET', [keyOf(aid, id, false), ...names]));
    const [phase, record, attempts, flight, sent, last, kid, next, outcome, waiting] = fields;
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
          outcome: oneOf(outcome, OUTCOMES),
          subscription:
            waiting === null ? undefined : asText(waiting).slice(redisKeys.waitingEvents(aid, '').length),
        };
  }

  /** Records an attempt before it is made, and bills it; `entry`: how the one in flight ended. False if the job is no longer as `seen`. */
  async startAttempt(
    aid: string,
    id: string,
    seen: Pick<StoredJob, 'phase' | 'attempts' | 'flight'>,
    nonce: string,
    { nowMs, entry }: { readonly nowMs: number; readonly entry?: AttemptEntry },
    bill?: JobBill,
  ): Promise<boolean> {
    const keys = [keyOf(aid, id, false), ...(bill ? [redisKeys.usage(aid, bill.month)] : [])];
    const { phase, attempts, flight } = seen;
    const args = [phase, attempts, flight, nonce, bill?.operation ?? '', nowMs, entryText(entry)];
    return isOk(await this.redis.run(startAttempt, keys, args));
  }

  /** Records that an attempt has ended and another will follow; false if it is not the one in flight. */
  async endAttempt(
    aid: string,
    id: string,
    nonce: string,
    { sent, report, entry, nextMs }: AttemptEnd,
  ): Promise<boolean> {
    const args = [nonce, sent ? '1' : '', report ?? '', entryText(entry), nextMs];
    return isOk(await this.redis.run(endAttempt, [keyOf(aid, id, false)], args));
  }

  /** Moves from phase `send`, with `flight` as read, to phase `tell` with a new record and no attempts. */
  async startReport(
    aid: string,
    id: string,
    flight: string,
    report: { readonly record: Uint8Array; readonly outcome: JobOutcome; readonly entry: AttemptEntry },
  ): Promise<boolean> {
    const args = [flight, report.record, report.outcome, entryText(report.entry)];
    return isOk(await this.redis.run(startReport, [keyOf(aid, id, false)], args));
  }

  /** Ends the job if `flight` is as read; from then on it is only listed. */
  async finish(
    aid: string,
    id: string,
    flight: string,
    end: { readonly nowMs: number; readonly isDelivered: boolean; readonly entry: AttemptEntry },
  ): Promise<boolean> {
    const args = [id, flight, RESERVED_MS, end.nowMs, end.isDelivered ? '1' : '', entryText(end.entry)];
    return isOk(await this.redis.run(finishJob, allKeysOf(aid, id), args));
  }

  /** Ends a job of which no attempt was begun, and replaces its request by `record`. */
  async cancel(aid: string, id: string, record: Uint8Array, nowMs: number) {
    const reply = await this.redis.run(cancelJob, allKeysOf(aid, id), [id, record, RESERVED_MS, nowMs]);
    return asOneOf(reply, ['ok', 'started', 'gone']);
  }

  /** Lets a job that ended as it was read begin its phase `tell` again; returns its place as a creation does. */
  async repeat(
    aid: string,
    { id, endedMs }: Pick<JobState, 'id' | 'endedMs'>,
    nowMs: number,
  ): Promise<JobPlacement<'gone' | 'cancelled' | 'full'>> {
    const args = [id, JOBS_MAX, nowMs, endedMs ?? ''];
    const word = asText(await this.redis.run(repeatJob, allKeysOf(aid, id), args));
    return word === 'gone' || word === 'cancelled' || word === 'full'
      ? { kind: word }
      : { kind: 'ok', place: Number(word) };
  }

  /** Returns at most `max` jobs after a place, or created before a time, newest first. See `goneOf`. */
  async page(
    aid: string,
    from: JobPosition | undefined,
    beforeMs: number,
    max: number,
  ): Promise<readonly JobState[]> {
    const [jobs = [], events = [], endedJobs = [], endedEvents = []] = await Promise.all(
      placesOf(aid).map(([directory]) => this.placesFrom(directory, from, beforeMs, max)),
    );
    const [open, ended] = [jobs.concat(events), endedJobs.concat(endedEvents)];
    // One that has ended in between is in both.
    const running = new Set(open.map(({ id }) => id));
    const page = [...open, ...ended.filter(({ id }) => !running.has(id))].sort(newestFirst).slice(0, max);
    const read = async (place: JobPosition) =>
      (await this.stateAt(aid, place, !running.has(place.id))) ??
      // It has moved since its directory was read, or it is gone.
      (await this.stateAt(aid, place, running.has(place.id))) ??
      goneOf(place);
    return Promise.all(page.map(read));
  }

  /** Returns one job; undefined if there is none of this id. */
  async find(aid: string, id: string): Promise<JobState | undefined> {
    const place = { id, createdMs: undefined };
    // A report that is repeated in between moves the job back.
    return (
      (await this.stateAt(aid, place, false)) ??
      (await this.stateAt(aid, place, true)) ??
      this.stateAt(aid, place, false)
    );
  }

  /** Returns the details of jobs, in the same order; undefined for one that is gone by now. */
  details(aid: string, jobs: readonly JobState[]): Promise<readonly (JobDetails | undefined)[]> {
    // A job may have moved since its state was read.
    const read = async ({ id, hasEnded }: JobState) =>
      (await this.detailsAt(aid, id, hasEnded)) ?? this.detailsAt(aid, id, !hasEnded);
    return Promise.all(jobs.map(read));
  }

  lengths(aid: string, jobs: readonly JobState[]): Promise<readonly number[]> {
    return Promise.all(
      jobs.map(async ({ id, hasEnded }) =>
        asCount(await this.redis.command('HSTRLEN', [keyOf(aid, id, hasEnded), 'r'])),
      ),
    );
  }

  async trim(aid: string, beforeMs: number): Promise<void> {
    for (const [directory, prefix] of endedPlacesOf(aid)) {
      for (let kept = 0, seen = REMOVE_STEP; seen === REMOVE_STEP; ) {
        const args = [prefix, beforeMs, REMOVE_STEP, kept];
        const [read = 0, stayed = 0] = asList(await this.redis.run(trimJobs, [directory], args)).map(asCount);
        kept += stayed;
        seen = read;
      }
    }
  }

  /** Removes the job if `flight` is as read. */
  async remove(aid: string, id: string, flight: string): Promise<boolean> {
    return isOk(await this.redis.run(removeJob, openKeysOf(aid, id), [id, flight, RESERVED_MS]));
  }

  /**
   * Lists ids of the account's jobs, oldest first, in chunks, and of those deliveries of events that do not wait in store. Jobs may be
   * added and removed at the same time.
   */
  async *list(aid: string): AsyncGenerator<readonly string[], void, void> {
    yield* scanByScore(this.redis, redisKeys.jobDirectory(aid), LIST_STEP);
    const prefixes = [redisKeys.eventJob(aid, ''), redisKeys.waitingEvents(aid, '')];
    for await (const ids of scanByScore(this.redis, redisKeys.eventJobDirectory(aid), LIST_STEP)) {
      const args = [...prefixes, ...ids];
      yield asList(await this.redis.run(queuedEvents, [redisKeys.subscriptions(aid)], args)).map(asText);
    }
  }

  /** Removes the jobs of a key, in every phase, in chunks, and yields their ids. */
  async *removeOfKey(aid: string, kid: string): AsyncGenerator<readonly string[], void, void> {
    for (const [directory, prefix] of placesOf(aid)) {
      for await (const ids of scanByScore(this.redis, directory, LIST_STEP)) {
        yield asList(await this.redis.run(removeKeyJobs, [directory], [prefix, kid, ...ids])).map(asText);
      }
    }
  }

  /** Removes all jobs of an account, in chunks. */
  async removeAll(aid: string): Promise<void> {
    for (const [directory, prefix] of placesOf(aid)) {
      while (asCount(await this.redis.run(removeJobs, [directory], [prefix, REMOVE_STEP])) > 0) {
        // Each call removes one chunk.
      }
    }
  }

  /** Reads the state of a job; undefined for one that is gone, and for the reservation of an id. */
  private async stateAt(
    aid: string,
    { id, createdMs }: { readonly id: string; readonly createdMs: number | undefined },
    hasEnded: boolean,
  ): Promise<JobState | undefined> {
    const fields = await this.redis.command('HMGET', [keyOf(aid, id, hasEnded), ...STATE_FIELDS]);
    const [phase, kind, kid, attempts, flight, outcome, ended, next, created, undelivered, repeated] =
      asList(fields);
    const knownPhase = oneOf(phase, PHASES);
    if (knownPhase === undefined) {
      return undefined;
    }
    return {
      id,
      createdMs: createdMs ?? numberOf(created) ?? (await this.placedMs(aid, id, hasEnded)),
      hasEnded,
      phase: knownPhase,
      kind: oneOf(kind, JOB_KINDS),
      kid: kid === null ? undefined : asText(kid),
      attempts: numberOf(attempts) ?? 0,
      isInFlight: flight !== null && asText(flight) !== '',
      isUndelivered: undelivered !== null,
      isRepeated: repeated !== null,
      outcome: oneOf(outcome, OUTCOMES),
      endedMs: numberOf(ended),
      nextMs: numberOf(next),
    };
  }

  /** Reads when a job of an earlier version was created: only its directory says it. */
  private async placedMs(aid: string, id: string, hasEnded: boolean): Promise<number> {
    const score = await this.redis.command('ZSCORE', [directoryOf(aid, id, hasEnded), id]);
    return score === null ? 0 : Number(String(score));
  }

  /** Reads the first places of a directory at or after one, newest first. */
  private async placesFrom(
    directory: string,
    from: JobPosition | undefined,
    beforeMs: number,
    max: number,
  ): Promise<readonly JobPosition[]> {
    const start = from === undefined ? `(${beforeMs}` : String(from.createdMs);
    const found: JobPosition[] = [];
    for (let offset = 0; found.length < max; offset += max) {
      const args = [directory, start, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, max, 'WITHSCORES'];
      const pairs = asPairs(await this.redis.command('ZRANGE', args));
      const places = pairs.map(([id, score]) => ({ id: String(id), createdMs: Number(score) }));
      found.push(
        ...places.filter(
          ({ id, createdMs }) => from === undefined || createdMs < from.createdMs || id < from.id,
        ),
      );
      if (places.length < max) {
        break;
      }
    }
    return found;
  }

  private async detailsAt(aid: string, id: string, hasEnded: boolean): Promise<JobDetails | undefined> {
    const fields = await this.redis.command('HMGET', [keyOf(aid, id, hasEnded), 'p', 'r', 'h', 't']);
    const [stored, record, sent, told] = asList(fields);
    const phase = oneOf(stored, PHASES);
    return phase === undefined || record === null
      ? undefined
      : { phase, record: asBytes(record), sent: attemptsOf(sent), told: attemptsOf(told) };
  }
}

function asAttempts(part: unknown): number {
  const attempts = asCount(part);
  if (!Number.isSafeInteger(attempts) || attempts < 0) {
    throw new VaultError('integrity_failed');
  }
  return attempts;
}

function asPhase(part: unknown): JobPhase {
  const phase = oneOf(part, PHASES);
  if (phase === undefined) {
    throw new VaultError('integrity_failed');
  }
  return phase;
}

function entryText(entry: AttemptEntry): string {
  return entry === undefined ? '' : `${entry.ms},${entry.status ?? ''},${entry.code ?? ''}`;
}

function keyOf(aid: string, id: string, hasEnded: boolean): string {
  if (isEventId(id)) {
    return hasEnded ? redisKeys.endedEventJob(aid, id) : redisKeys.eventJob(aid, id);
  }
  return hasEnded ? redisKeys.endedJob(aid, id) : redisKeys.job(aid, id);
}

function directoryOf(aid: string, id: string, hasEnded: boolean): string {
  if (isEventId(id)) {
    return hasEnded ? redisKeys.endedEventJobDirectory(aid) : redisKeys.eventJobDirectory(aid);
  }
  return hasEnded ? redisKeys.endedJobDirectory(aid) : redisKeys.jobDirectory(aid);
}

function openKeysOf(aid: string, id: string): string[] {
  return [keyOf(aid, id, false), directoryOf(aid, id, false)];
}

/** The keys of the scripts that end a job or begin it again. */
function allKeysOf(aid: string, id: string): string[] {
  return [...openKeysOf(aid, id), keyOf(aid, id, true), directoryOf(aid, id, true)];
}

type Place = readonly [directory: string, prefix: string];

/** The directories of an account's jobs that have ended, and the prefixes of the jobs in them. */
function endedPlacesOf(aid: string): readonly Place[] {
  return [
    [redisKeys.endedJobDirectory(aid), redisKeys.endedJob(aid, '')],
    [redisKeys.endedEventJobDirectory(aid), redisKeys.endedEventJob(aid, '')],
  ];
}

/** The directories of all jobs of an account, those in flight first. */
function placesOf(aid: string): readonly Place[] {
  return [
    [redisKeys.jobDirectory(aid), redisKeys.job(aid, '')],
    [redisKeys.eventJobDirectory(aid), redisKeys.eventJob(aid, '')],
    ...endedPlacesOf(aid),
  ];
}

const ATTEMPT = /^(\d{1,15}),(\d{1,15}),(\d{3})?,([a-z_]{1,64})?$/;

/** The attempts of a history; entries that no server writes are left out. */
function attemptsOf(part: unknown): readonly EndedAttempt[] {
  const text = part === null || part === undefined ? '' : asText(part);
  return text.split(';').flatMap((entry) => {
    const [, at, ms, word, code] = ATTEMPT.exec(entry) ?? [];
    const status = word === undefined ? undefined : Number(word);
    return at === undefined ? [] : [{ atMs: Number(at), ms: Number(ms), status, code }];
  });
}

const STATE_FIELDS = ['p', 'w', 'i', 'n', 'f', 'v', 'z', 'x', 'c', 'u', 'd'];

function numberOf(part: unknown): number | undefined {
  const number = part === null ? Number.NaN : Number(asText(part));
  return Number.isSafeInteger(number) ? number : undefined;
}

function oneOf<Word extends string>(part: unknown, words: readonly Word[]): Word | undefined {
  const text = part === null ? undefined : asText(part);
  return words.find((word) => word === text);
}

function newestFirst(a: JobPosition, b: JobPosition): number {
  return b.createdMs - a.createdMs || (a.id < b.id ? 1 : -1);
}

/** A placeholder for a job that is gone, so that a page continues after it. */
function goneOf({ id, createdMs }: JobPosition): JobState {
  return {
    ...{ id, createdMs, hasEnded: true, phase: 'tell', kind: undefined, kid: undefined, attempts: 0 },
    ...{ isInFlight: false, isUndelivered: false, isRepeated: false },
    ...{ outcome: undefined, endedMs: 0, nextMs: undefined },
  };
}
