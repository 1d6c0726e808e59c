import { mastersOf, type RedisLink } from '../../redis/client.ts';
import { isForbiddenCommand } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { Lease } from '../../redis/records/lease.ts';
import { scanNames } from '../../redis/records/scan.ts';
import { asList, asText } from '../../redis/reply.ts';
import { expiryMark, type Rewritten, rewriteFile } from '../../redis/rewrite.ts';

/** The outcome of a rewrite of all files: the worst of them. */
export type RewriteOutcome = Rewritten['kind'];

const OUTCOMES = ['no_file', 'ok', 'failed', 'refused'] as const;

/** The state of expired verification codes in the append-only files. Times are ms since 1970. */
export interface RewriteState {
  /** Latest expiry of a code that may exist; 0 before the first one. */
  readonly until: number;
  /** Start of the last complete rewrite; 0 before the first one. */
  readonly begun: number;
  /** The mark of all expiries before it; '' before the first one. */
  readonly mark: string;
  /** The newest dropped code, and the newest one that a complete rewrite has covered. */
  readonly wanted: string;
  readonly covered: string;
  /** The outcome of the last attempt, by any server; undefined before the first one. */
  readonly outcome: RewriteOutcome | undefined;
}

const FIELDS = ['until', 'begun', 'mark', 'wanted', 'covered', 'outcome'];

/** Durable notes about the expired codes that a rewrite of the append-only files has to remove, and the rewrite itself. */
export class RewriteStore {
  /** Which server rewrites. */
  readonly lease: Lease;

  constructor(private readonly redis: RedisLink) {
    this.lease = new Lease(redis, redisKeys.rewriteLease);
  }

  async read(): Promise<RewriteState> {
    const parts = asList(await this.redis.command('HMGET', [redisKeys.rewrite, ...FIELDS]));
    const [until, begun, mark = '', wanted = '', covered = '', outcome] = parts.map((part) =>
      part === null ? '' : asText(part),
    );
    return {
      ...{ until: Number(until), begun: Number(begun), mark, wanted, covered },
      outcome: OUTCOMES.find((known) => known === outcome),
    };
  }

  /** Notes that codes may exist that expire up to this time. */
  async expect(until: number): Promise<void> {
    await this.redis.write('HSET', [redisKeys.rewrite, 'until', until]);
  }

  /** Returns a mark of all expiries so far, on all nodes. */
  async mark(): Promise<string> {
    const marks = await Promise.all(
      mastersOf(this.redis).map(async (node) => `${node.name} ${await expiryMark(node)}`),
    );
    return marks.sort().join(', ');
  }

  /** Makes Redis remove every expired code now; without a permission for SCAN, it removes them in its own time. */
  async removeExpired(): Promise<void> {
    try {
      for await (const _ of scanNames(this.redis, '{*}s*')) {
        // Redis removes expired keys before it names the others.
      }
    } catch (error) {
      if (!isForbiddenCommand(error)) {
        throw error;
      }
    }
  }

  /** Rewrites the files of all masters, one at a time, since each copies its memory meanwhile. */
  async rewrite(signal: AbortSignal): Promise<RewriteOutcome> {
    let worst = 0;
    for (const node of mastersOf(this.redis)) {
      const { kind } = await rewriteFile(node, signal);
      worst = Math.max(worst, OUTCOMES.indexOf(kind));
    }
    return OUTCOMES[worst] ?? 'failed';
  }

  /** Notes the outcome, and for a complete rewrite also the state that was read before it, which it covers. */
  async finish(outcome: RewriteOutcome, begun: number, mark: string, wanted: string): Promise<void> {
    const covered = outcome === 'ok' ? ['begun', begun, 'mark', mark, 'covered', wanted] : [];
    await this.redis.write('HSET', [redisKeys.rewrite, 'outcome', outcome, ...covered]);
  }
}

/**
 * Deletes a code before its expiry, and notes it: before the deletion in case of a crash after it, and again after it in
 * case a rewrite began between the two. `id` differs for every call.
 */
export async function wantRewrite<T>(redis: RedisLink, id: string, remove: () => Promise<T>): Promise<T> {
  await redis.write('HSET', [redisKeys.rewrite, 'wanted', `${id} before`]);
  const reply = await remove();
  await redis.write('HSET', [redisKeys.rewrite, 'wanted', `${id} behind`]);
  return reply;
}
