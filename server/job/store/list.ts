/** Reads jobs to show them: those that go on, and those that have ended. */
import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { asBytes, asList, asText } from '../../redis/reply.ts';

/** The next step of a job: `send` its request to the target, or `tell` the webhook the result (the stored names). */
export type JobPhase = 'send' | 'tell';

/** What a job does; the stored names are those of the API. */
export type JobKind = (typeof JOB_KINDS)[number];
export const JOB_KINDS = ['post', 'get', 'network_token', 'capture'] as const;

/** How a job has ended; `unknown` where its request may have arrived, and no reply came. */
export type JobOutcome = (typeof OUTCOMES)[number];
const OUTCOMES = ['done', 'failed', 'unknown', 'cancelled'] as const;

/** An attempt that has ended: when it began, how long it took, and the status or the error code that it ended with. */
export interface EndedAttempt {
  readonly atMs: number;
  readonly ms: number;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
}

/** A place in the listing of jobs, newest first: the time of creation, ms since 1970, and the id. */
export interface JobPosition {
  readonly createdMs: number;
  readonly id: string;
}

/** What is listed of a job without opening its record. */
export interface JobState extends JobPosition {
  readonly hasEnded: boolean;
  readonly phase: JobPhase;
  /** Undefined for jobs of earlier versions. */
  readonly kind: JobKind | undefined;
  readonly kid: string | undefined;
  /** Attempts that were begun in this phase. */
  readonly attempts: number;
  readonly isInFlight: boolean;
  /** Whether its report was asked for again after it had ended. */
  readonly isRepeated: boolean;
  /** Of its request; undefined before that is known, and for a capture. */
  readonly outcome: JobOutcome | undefined;
  readonly isUndelivered: boolean;
  readonly endedMs: number | undefined;
  readonly nextMs: number | undefined;
}

/** The rest of what is shown of a job. */
export interface JobDetails {
  /** The phase of the record, which may have begun after the state was read. */
  readonly phase: JobPhase;
  /** Encrypted. */
  readonly record: Buffer;
  readonly sent: readonly EndedAttempt[];
  readonly told: readonly EndedAttempt[];
}

/** The directories of an account's jobs, and the prefixes of the jobs in them: those that go on, and those that have ended. */
export function placesOf(aid: string): readonly (readonly [directory: string, prefix: string])[] {
  return [
    [redisKeys.jobDirectory(aid), redisKeys.job(aid, '')],
    [redisKeys.endedJobDirectory(aid), redisKeys.endedJob(aid, '')],
  ];
}

const ATTEMPT = /^(\d{1,15}),(\d{1,15}),(\d{3})?,([a-z_]{1,64})?$/;

/** The attempts of a history; what no server writes is left out. */
function attemptsOf(text: string): readonly EndedAttempt[] {
  return text.split(';').flatMap((entry) => {
    const [, at, ms, status, code] = ATTEMPT.exec(entry) ?? [];
    return at === undefined
      ? []
      : [
          {
            atMs: Number(at),
            ms: Number(ms),
            status: status === undefined ? undefined : Number(status),
            code,
          },
        ];
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

/** The state of a job; undefined for one that is gone, and for the reservation of an id. */
export async function readState(
  redis: RedisLink,
  aid: string,
  { id, createdMs }: { readonly id: string; readonly createdMs: number | undefined },
  hasEnded: boolean,
): Promise<JobState | undefined> {
  const key = hasEnded ? redisKeys.endedJob(aid, id) : redisKeys.job(aid, id);
  const parts = asList(await redis.command('HMGET', [key, ...STATE_FIELDS]));
  const [phase, kind, kid, attempts, flight, outcome, ended, next, created, undelivered, repeated] = parts;
  const knownPhase = oneOf(phase, ['send', 'tell'] as const);
  if (knownPhase === undefined) {
    return undefined;
  }
  const madeMs = createdMs ?? numberOf(created) ?? (await placedMs(redis, aid, id, hasEnded));
  return {
    ...{ id, createdMs: madeMs, hasEnded, phase: knownPhase },
    ...{ kind: oneOf(kind, JOB_KINDS), kid: kid === null ? undefined : asText(kid) },
    attempts: numberOf(attempts) ?? 0,
    isInFlight: flight !== null && asText(flight) !== '',
    isUndelivered: undelivered !== null,
    isRepeated: repeated !== null,
    ...{ outcome: oneOf(outcome, OUTCOMES), endedMs: numberOf(ended), nextMs: numberOf(next) },
  };
}

/** When a job of an earlier version was created: only its directory says it. */
async function placedMs(redis: RedisLink, aid: string, id: string, hasEnded: boolean): Promise<number> {
  const directory = hasEnded ? redisKeys.endedJobDirectory(aid) : redisKeys.jobDirectory(aid);
  const score = await redis.command('ZSCORE', [directory, id]);
  return score === null ? 0 : Number(String(score));
}

/** The first places of a directory at or behind one, newest first. */
async function placesFrom(
  redis: RedisLink,
  directory: string,
  from: JobPosition | undefined,
  beforeMs: number,
  max: number,
): Promise<readonly JobPosition[]> {
  const start = from === undefined ? `(${beforeMs}` : String(from.createdMs);
  const found: JobPosition[] = [];
  for (let offset = 0; found.length < max; offset += max) {
    const args = [directory, start, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, max, 'WITHSCORES'];
    // RESP3 nests each member with its score; RESP2 gives one flat list.
    const flat = asList(await redis.command('ZRANGE', args))
      .flat()
      .map(String);
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const place = { id: flat[at] ?? '', createdMs: Number(flat[at + 1]) };
      if (from === undefined || place.createdMs < from.createdMs || place.id < from.id) {
        found.push(place);
      }
    }
    if (flat.length < 2 * max) {
      break;
    }
  }
  return found;
}

function newestFirst(a: JobPosition, b: JobPosition): number {
  return b.createdMs - a.createdMs || (a.id < b.id ? 1 : -1);
}

/**
 * The jobs behind a place, or those created before a time, newest first; one that is gone since stands there without an
 * outcome, so that a page goes on behind it.
 */
export async function readPage(
  redis: RedisLink,
  aid: string,
  from: JobPosition | undefined,
  beforeMs: number,
  max: number,
): Promise<readonly JobState[]> {
  const [open = [], ended = []] = await Promise.all(
    placesOf(aid).map(([directory]) => placesFrom(redis, directory, from, beforeMs, max)),
  );
  // One that has ended in between is in both.
  const going = new Set(open.map(({ id }) => id));
  const places = [
    ...open.map((place) => ({ ...place, hasEnded: false })),
    ...ended.filter(({ id }) => !going.has(id)).map((place) => ({ ...place, hasEnded: true })),
  ];
  const page = places.sort(newestFirst).slice(0, max);
  const states = await Promise.all(
    page.map(
      async (place) =>
        (await readState(redis, aid, place, place.hasEnded)) ??
        // It has moved since its directory was read, or it is gone.
        readState(redis, aid, place, !place.hasEnded),
    ),
  );
  return states.map((state, i) => state ?? goneOf(page[i]));
}

/** Stands for a job that is gone, so that a page goes on behind it. */
function goneOf(place: JobPosition | undefined): JobState {
  return {
    ...{
      id: place?.id ?? '',
      createdMs: place?.createdMs ?? 0,
      hasEnded: true,
      phase: 'tell',
      kind: undefined,
    },
    ...{
      kid: undefined,
      attempts: 0,
      isInFlight: false,
      isUndelivered: false,
      isRepeated: false,
      outcome: undefined,
      endedMs: 0,
      nextMs: undefined,
    },
  };
}

/** The rest of what is shown of a job, also where it has moved since its state was read; undefined if it is gone. */
export async function readDetails(
  redis: RedisLink,
  aid: string,
  { id, hasEnded }: JobState,
): Promise<JobDetails | undefined> {
  return (await detailsAt(redis, aid, id, hasEnded)) ?? (await detailsAt(redis, aid, id, !hasEnded));
}

async function detailsAt(
  redis: RedisLink,
  aid: string,
  id: string,
  hasEnded: boolean,
): Promise<JobDetails | undefined> {
  const key = hasEnded ? redisKeys.endedJob(aid, id) : redisKeys.job(aid, id);
  const [stored, record, sent, told] = asList(await redis.command('HMGET', [key, 'p', 'r', 'h', 't']));
  const phase = oneOf(stored, ['send', 'tell'] as const);
  const textOf = (part: unknown): string => (part === null || part === undefined ? '' : asText(part));
  return phase === undefined || record === null
    ? undefined
    : { phase, record: asBytes(record), sent: attemptsOf(textOf(sent)), told: attemptsOf(textOf(told)) };
}
