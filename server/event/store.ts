import { type RedisLink, script } from '../redis/client.ts';
import advanceOutboxText from '../redis/records/advance-outbox-1.lua' with { type: 'text' };
import { redisKeys } from '../redis/records/keys.ts';
import type { Bucket } from '../redis/records/name.ts';
import { NamedStore } from '../redis/records/named.ts';
import replaceFieldText from '../redis/records/replace-field-1.lua' with { type: 'text' };
import { readHash } from '../redis/records/scan.ts';
import { asBytes, asCount, asList, asText, isOk } from '../redis/reply.ts';
import countLeftOutText from './count-left-out-1.lua' with { type: 'text' };
import watchFenceText from './watch-fence-1.lua' with { type: 'text' };

const advanceOutbox = script(advanceOutboxText);
const countLeftOut = script(countLeftOutText);
const replaceField = script(replaceFieldText);
const watchFence = script(watchFenceText);

const SUBSCRIPTIONS_MAX = 20;
/** Elements of an outbox that are read at once. */
export const OUTBOX_STEP = 256;
/** The lifetime of the fence of a key whose creation is not finished. */
const NEW_FENCE_MS = 24 * 60 * 60 * 1_000;

/** How deliveries to a subscription go; times are ms since 1970. */
interface SubscriptionState {
  readonly failingMs: number | undefined;
  readonly pausedMs: number | undefined;
  readonly pausedBecause: string | undefined;
  readonly leftOut: number;
}

/** The same with the number of deliveries that wait. */
export interface SubscriptionProgress extends SubscriptionState {
  readonly waiting: number;
}

/** What has happened until its events are queued: changes of items of a bucket, or announced events of an account. */
export type Outbox = Bucket | { readonly aid: string };

/** What the outboxes of a key's buckets keep: nothing, changes, or readings too. */
export type Watched = 0 | 1 | 2;

/** Stores subscriptions, the positions up to which logs were read, and the outboxes of changes that no event was queued for. */
export class EventStore extends NamedStore {
  constructor(
    redis: RedisLink,
    private readonly buckets: number,
  ) {
    super(redis, redisKeys.subscriptions, SUBSCRIPTIONS_MAX);
  }

  /** Adds an account to those with subscriptions. */
  async enter(aid: string): Promise<void> {
    await this.redis.write('SADD', [redisKeys.eventAccounts, aid]);
  }

  async leave(aid: string): Promise<void> {
    await this.redis.write('SREM', [redisKeys.eventAccounts, aid]);
  }

  async hasEntered(aid: string): Promise<boolean> {
    return asCount(await this.redis.command('SISMEMBER', [redisKeys.eventAccounts, aid])) === 1;
  }

  /** Lists accounts that may have subscriptions. */
  async accounts(): Promise<readonly string[]> {
    return asList(await this.redis.command('SMEMBERS', [redisKeys.eventAccounts])).map(asText);
  }

  /** Returns a new version of the account's subscriptions: what is set under an older one has no effect any more. */
  async nextVersion(aid: string): Promise<number> {
    return asCount(await this.redis.write('HINCRBY', [redisKeys.eventState(aid), 'v', 1]));
  }

  async version(aid: string): Promise<number> {
    const found = await this.redis.command('HGET', [redisKeys.eventState(aid), 'v']);
    return found === null ? 0 : asCount(found);
  }

  /** Sets a position, unless it is set. */
  async begin(aid: string, name: 'a' | 'x', at: number): Promise<void> {
    await this.redis.write('HSETNX', [redisKeys.eventState(aid), name, at]);
  }

  /** Returns a position: `a` a sequence number of the security log, `x` a time of expiries in ms. */
  async position(aid: string, name: 'a' | 'x'): Promise<number | undefined> {
    const found = await this.redis.command('HGET', [redisKeys.eventState(aid), name]);
    return found === null ? undefined : asCount(found);
  }

  /** Moves a position; false if another server has. */
  async advance(aid: string, name: 'a' | 'x', from: number, to: number): Promise<boolean> {
    return isOk(await this.redis.run(replaceField, [redisKeys.eventState(aid)], [name, from, to]));
  }

  async state(aid: string, id: string): Promise<SubscriptionState> {
    const fields = [`f:${id}`, `p:${id}`, `w:${id}`, `l:${id}`];
    const [failing, paused, because, leftOut] = asList(
      await this.redis.command('HMGET', [redisKeys.eventState(aid), ...fields]),
    );
    return {
      failingMs: failing === null ? undefined : asCount(failing),
      pausedMs: paused === null ? undefined : asCount(paused),
      pausedBecause: because === null ? undefined : asText(because),
      leftOut: leftOut === null ? 0 : asCount(leftOut),
    };
  }

  async progress(aid: string, id: string): Promise<SubscriptionProgress> {
    const [state, waiting] = await Promise.all([
      this.state(aid, id),
      this.redis.command('ZCARD', [redisKeys.waitingEvents(aid, id)]),
    ]);
    return { ...state, waiting: asCount(waiting) };
  }

  /** Returns the number of deliveries to a subscription in the queue; the others wait in store, see `create-events`. */
  async queued(aid: string, id: string): Promise<number> {
    return asCount(await this.redis.command('ZCOUNT', [redisKeys.waitingEvents(aid, id), '(0', '+inf']));
  }

  /** Records that a call has failed, unless one before has. */
  async noteFailure(aid: string, id: string, nowMs: number): Promise<void> {
    await this.redis.write('HSETNX', [redisKeys.eventState(aid), `f:${id}`, nowMs]);
  }

  async noteSuccess(aid: string, id: string): Promise<void> {
    await this.redis.write('HDEL', [redisKeys.eventState(aid), `f:${id}`]);
  }

  /** Pauses a subscription; false if it is paused. */
  async pause(aid: string, id: string, nowMs: number, because: string): Promise<boolean> {
    const key = redisKeys.eventState(aid);
    const isPaused = asCount(await this.redis.write('HSETNX', [key, `p:${id}`, nowMs])) === 0;
    await (isPaused ? undefined : this.redis.write('HSET', [key, `w:${id}`, because]));
    return !isPaused;
  }

  /** Forgets how deliveries to a subscription went. */
  async resume(aid: string, id: string): Promise<void> {
    const fields = [`f:${id}`, `p:${id}`, `w:${id}`, `l:${id}`];
    await this.redis.write('HDEL', [redisKeys.eventState(aid), ...fields]);
  }

  /** Returns the names of keys whose buckets keep events, by id. */
  async keys(aid: string): Promise<ReadonlyMap<string, string>> {
    const fields = await readHash(this.redis, redisKeys.eventKeys(aid));
    return new Map(fields.map(({ field, value }) => [field, asText(value)]));
  }

  /** Lets the buckets of a key keep events. That of a key that is being created ends with a day, if its creation does not. */
  async watch(
    aid: string,
    { kid, user }: { readonly kid: string; readonly user: string },
    version: number,
    watched: Watched,
    isNew = false,
  ): Promise<void> {
    await this.redis.write('HSET', [redisKeys.eventKeys(aid), kid, user]);
    const args = [version, watched, isNew ? NEW_FENCE_MS : ''];
    await Promise.all(
      this.bucketsOf(kid).map((bucket) => this.redis.run(watchFence, [redisKeys.fence(bucket)], args)),
    );
  }

  async forgetKey(aid: string, kid: string): Promise<void> {
    await this.redis.write('HDEL', [redisKeys.eventKeys(aid), kid]);
  }

  bucketsOf(kid: string): readonly Bucket[] {
    return Array.from({ length: this.buckets }, (_, number) => ({ kid, number }));
  }

  /** Returns those of a key's buckets that have changes without an event. */
  async filled(kid: string): Promise<readonly Bucket[]> {
    const buckets = this.bucketsOf(kid);
    const lengths = await Promise.all(
      buckets.map((bucket) => this.redis.command('LLEN', [redisKeys.eventOutbox(bucket)])),
    );
    return buckets.filter((_, i) => asCount(lengths[i]) > 0);
  }

  /** Returns the first elements of an outbox: changes, see `bucket-prelude.lua`, or sealed events. */
  async readOutbox(outbox: Outbox): Promise<readonly Buffer[]> {
    return asList(await this.redis.command('LRANGE', [nameOf(outbox), 0, OUTBOX_STEP - 1])).map(asBytes);
  }

  /** Removes the first elements of an outbox; false if another server has. */
  async advanceOutbox(outbox: Outbox, elements: readonly Uint8Array[]): Promise<boolean> {
    const args = [elements.length, elements.at(-1) ?? ''];
    return isOk(await this.redis.run(advanceOutbox, [nameOf(outbox)], args));
  }

  /** Adds a sealed event that no log has. */
  async announce(aid: string, element: Uint8Array): Promise<void> {
    await this.redis.write('RPUSH', [nameOf({ aid }), element]);
  }

  /** Counts deliveries that paused subscriptions have left out, by the id of the subscription of each. */
  async countLeftOut(aid: string, subscriptions: readonly string[]): Promise<void> {
    for (const [id, { length }] of Map.groupBy(subscriptions, (subscription) => subscription)) {
      await this.redis.run(countLeftOut, [redisKeys.eventState(aid)], [id, length]);
    }
  }

  /** Removes the number of waiting events of a subscription, whose deliveries end by themselves. */
  async removeWaiting(aid: string, id: string): Promise<void> {
    await this.redis.write('UNLINK', [redisKeys.waitingEvents(aid, id)]);
  }

  /** Removes all but the subscriptions of a deleted account. */
  async removeAll(aid: string): Promise<void> {
    for (const id of await this.ids(aid)) {
      await this.removeWaiting(aid, id);
    }
    for (const kid of (await this.keys(aid)).keys()) {
      for (const bucket of this.bucketsOf(kid)) {
        await this.redis.write('UNLINK', [redisKeys.eventOutbox(bucket)]);
      }
    }
    await this.redis.write('UNLINK', [
      redisKeys.accountOutbox(aid),
      redisKeys.eventKeys(aid),
      redisKeys.eventState(aid),
    ]);
    await this.leave(aid);
  }
}

function nameOf(outbox: Outbox): string {
  return 'aid' in outbox ? redisKeys.accountOutbox(outbox.aid) : redisKeys.eventOutbox(outbox);
}
