import { VaultError } from '../core/errors.ts';
import beginJobText from './lua/job/begin-job-n.lua' with { type: 'text' };
import createJobText from './lua/job/create-job-2.lua' with { type: 'text' };
import endJobText from './lua/job/end-job-1.lua' with { type: 'text' };
import removeJobText from './lua/job/remove-job-2.lua' with { type: 'text' };
import removeJobsText from './lua/job/remove-jobs-1.lua' with { type: 'text' };
import tellJobText from './lua/job/tell-job-1.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const createJob = script(createJobText);
const beginJob = script(beginJobText);
const endJob = script(endJobText);
const tellJob = script(tellJobText);
const removeJob = script(removeJobText);
const removeJobs = script(removeJobsText);

/** How many jobs an account may have at once. */
export const JOBS_MAX = 100_000;

/** As long as a repeat under an Idempotency-Key counts as one. */
const TAKEN_MS = 24 * 60 * 60 * 1_000;
const LIST_STEP = 1_000;
const REMOVE_STEP = 500;

/** What a job does next: send the request to its target, or tell the webhook what became of it. */
export type JobPhase = 'send' | 'tell';

/** A job that was accepted, its record sealed. */
export interface NewJob {
  readonly id: string;
  readonly record: Uint8Array;
  readonly again: boolean;
}

/** How an attempt ended: whether the request may have left, and the sealed report of its reply. */
export interface Over {
  readonly sent: boolean;
  readonly report?: Uint8Array | undefined;
}

/** What became of a creation; `place`: which of the account's jobs it is, counted from 1. */
export type Created = { readonly kind: 'ok'; readonly place: number } | { readonly kind: 'exists' | 'full' };

/** A job as it lies in Redis, its record sealed. */
export interface StoredJob {
  readonly phase: JobPhase;
  readonly record: Buffer;
  /** Attempts that were begun in this phase. */
  readonly attempts: number;
  /** Whether an attempt that is over may have reached the target. */
  readonly sent: boolean;
  /** The sealed report of the last reply, unless something was sent behind it. */
  readonly last: Buffer | undefined;
  /** Nonce of the attempt in flight, '' for none. One that nobody makes any more has an unknown outcome. */
  readonly flight: string;
}

/** What an attempt is counted as, in the usage of a month (`YYYY-MM`). */
export interface JobBill {
  readonly month: string;
  readonly operation: 'proxy_attempt' | 'network_token';
}

/** Jobs of accounts. Each change names what was read, so that of two that meet one is refused. */
export interface JobStore {
  /**
   * `again`: the same id may be created again, by a caller who has not heard of it. Then `exists` is the answer
   * for a day after the job was removed.
   */
  create(aid: string, job: NewJob, nowMs: number): Promise<Created>;
  read(aid: string, id: string): Promise<StoredJob | undefined>;
  /**
   * Notes an attempt, and counts it for the bill, before it is made; false when the job is not as `seen` any more.
   */
  begin(
    aid: string,
    id: string,
    seen: Pick<StoredJob, 'phase' | 'attempts' | 'flight'>,
    nonce: string,
    bill?: JobBill,
  ): Promise<boolean>;
  /** The attempt is over and another will follow; false when it is not the one in flight. */
  end(aid: string, id: string, nonce: string, over: Over): Promise<boolean>;
  /** From phase `send`, with `flight` as read, to phase `tell` with its record and no attempt made. */
  tell(aid: string, id: string, flight: string, record: Uint8Array): Promise<boolean>;
  /** Removes the job, if `flight` is as read. */
  remove(aid: string, id: string, flight: string): Promise<boolean>;
  /** Ids of the account's jobs, oldest first, a chunk at a time; jobs may come and go meanwhile. */
  list(aid: string): AsyncGenerator<readonly string[]>;
  removeAll(aid: string): Promise<void>;
}

function asPhase(word: string): JobPhase {
  if (word === 'send' || word === 'tell') {
    return word;
  }
  throw new VaultError('integrity_failed');
}

function asAttempts(part: unknown): number {
  const attempts = count(part);
  if (!Number.isSafeInteger(attempts) || attempts < 0) {
    throw new VaultError('integrity_failed');
  }
  return attempts;
}

/** Ids with their scores; RESP3 nests each id with its score, RESP2 gives one flat list. */
function toEntries(reply: unknown): { readonly id: string; readonly at: string }[] {
  const parts = list(reply).flat().map(String);
  return parts.flatMap((id, i) => (i % 2 === 0 ? [{ id, at: parts[i + 1] ?? '' }] : []));
}

export function createJobStore(redis: RedisLink): JobStore {
  const isOk = async (reply: Promise<unknown>): Promise<boolean> => text(await reply) === 'ok';

  async function* listIds(aid: string): AsyncGenerator<readonly string[]> {
    const key = redisKeys.jobDirectory(aid);
    let from = '-inf';
    // The ids that were given out and have the score to go on from: several may have come in one ms.
    let given = new Set<string>();
    for (;;) {
      const limit = LIST_STEP + given.size;
      const page = toEntries(
        await redis.command('ZRANGE', [key, from, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES']),
      );
      const fresh = page.filter(({ id }) => !given.has(id));
      if (fresh.length > 0) {
        yield fresh.map(({ id }) => id);
      }
      const last = page.at(-1);
      if (page.length < limit || last === undefined) {
        return;
      }
      from = last.at;
      given = new Set(page.filter(({ at }) => at === from).map(({ id }) => id));
    }
  }

  return {
    async create(aid, { id, record, again }, nowMs) {
      const keys = [redisKeys.job(aid, id), redisKeys.jobDirectory(aid)];
      const args = [id, record, nowMs, JOBS_MAX, again ? '1' : ''];
      const word = text(await redis.run(createJob, keys, args));
      return word === 'exists' || word === 'full' ? { kind: word } : { kind: 'ok', place: Number(word) };
    },
    async read(aid, id) {
      const [phase, record, attempts, flight, sent, last] = list(
        await redis.command('HMGET', [redisKeys.job(aid, id), 'p', 'r', 'n', 'f', 'o', 'l']),
      );
      if (phase === null && record === null) {
        return undefined;
      }
      return {
        phase: asPhase(text(phase)),
        record: bytes(record),
        attempts: asAttempts(attempts),
        flight: text(flight),
        sent: sent !== null,
        last: last === null ? undefined : bytes(last),
      };
    },
    begin(aid, id, seen, nonce, bill) {
      const keys = [redisKeys.job(aid, id), ...(bill ? [redisKeys.usage(aid, bill.month)] : [])];
      const args = [seen.phase, seen.attempts, seen.flight, nonce, bill?.operation ?? ''];
      return isOk(redis.run(beginJob, keys, args));
    },
    end: (aid, id, nonce, { sent, report = '' }) =>
      isOk(redis.run(endJob, [redisKeys.job(aid, id)], [nonce, sent ? '1' : '', report])),
    tell: (aid, id, flight, record) => isOk(redis.run(tellJob, [redisKeys.job(aid, id)], [flight, record])),
    remove(aid, id, flight) {
      const keys = [redisKeys.job(aid, id), redisKeys.jobDirectory(aid)];
      return isOk(redis.run(removeJob, keys, [id, flight, TAKEN_MS]));
    },
    list: listIds,
    async removeAll(aid) {
      const args = [redisKeys.job(aid, ''), REMOVE_STEP];
      while (count(await redis.run(removeJobs, [redisKeys.jobDirectory(aid)], args)) > 0) {
        // The next part.
      }
    },
  };
}
