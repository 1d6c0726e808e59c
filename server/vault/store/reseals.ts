import { type RedisLink, script } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { Lease } from '../../redis/records/lease.ts';
import { asList, asText, isOk } from '../../redis/reply.ts';
import noteResealText from './note-reseal-2.lua' with { type: 'text' };

const noteReseal = script(noteResealText);

/** The progress of a reseal, as it was last noted. */
export interface ResealState {
  /** The generation that items are sealed under. */
  readonly gen: number;
  /** Items of older generations when it began. */
  readonly total: number;
  readonly done: number;
  /** ms since 1970; undefined while it is not complete. */
  readonly finishedAt: number | undefined;
}

const FIELDS = ['gen', 'total', 'done', 'finished'];

/** Notes the progress of the reseals of keys, and which server does each. */
export class ResealStore {
  constructor(private readonly redis: RedisLink) {}

  async read(aid: string, kid: string): Promise<ResealState | undefined> {
    const parts = asList(await this.redis.command('HMGET', [redisKeys.reseal(aid, kid), ...FIELDS]));
    const [gen, total, done, finished] = parts.map((part) => (part === null ? undefined : asText(part)));
    return gen === undefined
      ? undefined
      : {
          gen: Number(gen),
          total: Number(total),
          done: Number(done),
          finishedAt: finished === undefined ? undefined : Number(finished),
        };
  }

  /** Notes the progress of a run; false if it has lost its claim. */
  async write(
    aid: string,
    kid: string,
    run: string,
    { gen, total, done, finishedAt }: ResealState,
  ): Promise<boolean> {
    const keys = [redisKeys.reseal(aid, kid), redisKeys.resealLease(aid, kid)];
    return isOk(await this.redis.run(noteReseal, keys, [run, gen, total, done, finishedAt ?? '']));
  }

  /** The claim to a key, which one run has at a time. */
  leaseOf(aid: string, kid: string): Lease {
    return new Lease(this.redis, redisKeys.resealLease(aid, kid));
  }

  /** Forgets the reseal of a deleted key; a run of it ends when it next extends its claim. */
  async removeOfKey(aid: string, kid: string): Promise<void> {
    // The claim first: without it nothing is noted.
    await this.redis.write('UNLINK', [redisKeys.resealLease(aid, kid)]);
    await this.redis.write('UNLINK', [redisKeys.reseal(aid, kid)]);
  }
}
