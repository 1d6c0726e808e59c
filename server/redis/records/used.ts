import { type RedisLink, script } from '../client.ts';
import { asText } from '../reply.ts';
import { NamedStore } from './named.ts';
import { readHash } from './scan.ts';
import touchText from './touch-record-2.lua' with { type: 'text' };

const touch = script(touchText);

/** Stores encrypted records of one kind, and when each was used last. */
export class UsedStore extends NamedStore {
  constructor(
    redis: RedisLink,
    hashOf: (aid: string) => string,
    private readonly usesOf: (aid: string) => string,
  ) {
    super(redis, hashOf);
  }

  /** Removes a record and the time of its last use; returns false if it did not exist. */
  override async remove(aid: string, id: string): Promise<boolean> {
    const isRemoved = await super.remove(aid, id);
    await this.redis.write('HDEL', [this.usesOf(aid), id]);
    return isRemoved;
  }

  /** Returns the time of the last use, ms since 1970; undefined if there was none. */
  async lastUse(aid: string, id: string): Promise<number | undefined> {
    return asUse(await this.redis.command('HGET', [this.usesOf(aid), id]));
  }

  /** Returns the times of the last uses of all records of an account, by id. */
  async lastUses(aid: string): Promise<ReadonlyMap<string, number | undefined>> {
    const uses = await readHash(this.redis, this.usesOf(aid));
    return new Map(uses.map(({ field, value }) => [field, asUse(value)]));
  }

  async touch(aid: string, id: string, usedMs: number): Promise<void> {
    await this.redis.run(touch, [this.hashOf(aid), this.usesOf(aid)], [id, usedMs]);
  }
}

/** Reads the time of a last use; undefined for what no server writes. */
function asUse(value: unknown): number | undefined {
  const text = value === null ? '' : asText(value);
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
