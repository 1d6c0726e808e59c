import { isForbiddenCommand, mastersOf, type RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { scanNames } from '../../redis/records/scan.ts';
import { asList, asText } from '../../redis/reply.ts';
import { expiryMark, type Rewritten, rewriteFile } from '../../redis/rewrite.ts';

/** The outcome of a rewrite of all files: the worst of them. */
export type RewriteOutcome = Rewritten['kind'];

const OUTCOMES = ['no_file', 'ok', 'failed', 'refused'] as const;

/** What is known of verification codes in the append-only files. Times are ms since 1970. */
export interface RewriteState {
  /** Until when the last code that may exist expires; 0 if none ever did. */
  readonly until: number;
  /** When the last complete rewrite began; 0 before the first one. */
  readonly begun: number;
  /** The mark of all expiries before it; '' before the first one. */
  readonly mark: string;
  /** The newest dropped code, and the one that the last complete rewrite has covered. */
  readonly wanted: string;
  readonly covered: string;
  /** The outcome of the last attempt, by any server; undefined before the first one. */
  readonly outcome: RewriteOutcome | undefined;
}

/** Durable notes about what a rewrite of the append-only files has to remove, and the rewrite itself. */
export interface RewriteStore {
  read(): Promise<RewriteState>;
  /** Notes that codes may exist that expire up to this time. */
  expect(until: number): Promise<void>;
  /** A mark of all expiries so far, on all nodes. */
  mark(): Promise<string>;
  /** Makes Redis remove every expired code now; without a permission for SCAN, it removes them in its own time. */
  removeExpired(): Promise<void>;
  /** Rewrites the files of all masters, one at a time, since each copies its memory meanwhile. */
  rewrite(signal: AbortSignal): Promise<RewriteOutcome>;
  /** Notes the outcome; of a complete one also what it has covered, as read before it. */
  finish(outcome: RewriteOutcome, seen: Pick<RewriteState, 'begun' | 'mark' | 'wanted'>): Promise<void>;
  /** Takes the lease for one server; false while another one has it. */
  claim(server: string, ms: number): Promise<boolean>;
  /** Gives the lease back. */
  release(server: string): Promise<void>;
}

const FIELDS = ['until', 'begun', 'mark', 'wanted', 'covered', 'outcome'];

async function readState(redis: RedisLink): Promise<RewriteState> {
  const parts = asList(await redis.command('HMGET', [redisKeys.rewrite, ...FIELDS]));
  const [until, begun, mark = '', wanted = '', covered = '', outcome] = parts.map((part) =>
    part === null ? '' : asText(part),
  );
  return {
    ...{ until: Number(until), begun: Number(begun), mark, wanted, covered },
    outcome: OUTCOMES.find((known) => known === outcome),
  };
}

async function removeExpired(redis: RedisLink): Promise<void> {
  try {
    for await (const _ of scanNames(redis, '{*}s*')) {
      // Redis removes what has expired before it names the rest.
    }
  } catch (error) {
    if (!isForbiddenCommand(error)) {
      throw error;
    }
  }
}

async function rewriteAll(redis: RedisLink, signal: AbortSignal): Promise<RewriteOutcome> {
  let worst = 0;
  for (const node of mastersOf(redis)) {
    const { kind } = await rewriteFile(node, signal);
    worst = Math.max(worst, OUTCOMES.indexOf(kind));
  }
  return OUTCOMES[worst] ?? 'failed';
}

/**
 * Deletes a code before its time, and notes it: before the deletion, for a crash behind it, and again after it, for a
 * rewrite that began between the two. `id` differs for every call.
 */
export async function wantRewrite<T>(redis: RedisLink, id: string, remove: () => Promise<T>): Promise<T> {
  await redis.write('HSET', [redisKeys.rewrite, 'wanted', `${id} before`]);
  const reply = await remove();
  await redis.write('HSET', [redisKeys.rewrite, 'wanted', `${id} behind`]);
  return reply;
}

/** The notes of one Redis. */
export function createRewriteStore(redis: RedisLink): RewriteStore {
  return {
    read: () => readState(redis),
    async expect(until) {
      await redis.write('HSET', [redisKeys.rewrite, 'until', until]);
    },
    async mark() {
      const marks = await Promise.all(
        mastersOf(redis).map(async (node) => `${node.name} ${await expiryMark(node)}`),
      );
      return marks.sort().join(', ');
    },
    removeExpired: () => removeExpired(redis),
    rewrite: (signal) => rewriteAll(redis, signal),
    async finish(outcome, { begun, mark, wanted }) {
      const covered = outcome === 'ok' ? ['begun', begun, 'mark', mark, 'covered', wanted] : [];
      await redis.write('HSET', [redisKeys.rewrite, 'outcome', outcome, ...covered]);
    },
    async claim(server, ms) {
      return (await redis.write('SET', [redisKeys.rewriteLease, server, 'NX', 'PX', ms])) !== null;
    },
    async release(server) {
      const holder = await redis.command('GET', [redisKeys.rewriteLease]);
      if (holder !== null && asText(holder) === server) {
        await redis.write('DEL', [redisKeys.rewriteLease]);
      }
    },
  };
}
