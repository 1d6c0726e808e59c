import { type RedisLink, script } from '../redis/client.ts';
import advanceOutboxText from '../redis/records/advance-outbox-1.lua' with { type: 'text' };
import { TAG_BYTES } from '../redis/records/fence.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { Lease } from '../redis/records/lease.ts';
import type { Bucket } from '../redis/records/name.ts';
import { nameSinkBuckets } from '../redis/records/outbox.ts';
import { scanHash } from '../redis/records/scan.ts';
import { asBytes, asCount, asList, asOptionalBytes, asPairs, asText } from '../redis/reply.ts';
import advanceLogText from './advance-log-2.lua' with { type: 'text' };

const advanceLog = script(advanceLogText);
const advanceOutbox = script(advanceOutboxText);

const LOGS_STEP = 128;
const ENTRIES_STEP = 256;

export interface SinkBucket {
  readonly aid: string;
  readonly bucket: Bucket;
}

/** Entries of one item's log; undefined for a missing one. */
export interface UndeliveredPart {
  readonly token: string;
  /** The number of delivered entries before them. */
  readonly from: number;
  readonly entries: readonly (Buffer | undefined)[];
  /** This round reads no later entries. */
  readonly isLast: boolean;
}

export interface OutboxEntry {
  readonly token: string;
  readonly sequence: number;
  readonly entry: Buffer;
  /** The bytes in the outbox. */
  readonly stored: Buffer;
}

/** Stores the positions of the delivery, after each delivery: entries may be delivered twice, but none is missed. */
export class SinkStore {
  private readonly lease: Lease;

  constructor(private readonly redis: RedisLink) {
    this.lease = new Lease(redis, redisKeys.sinkLease);
  }

  /** Acquires or extends the lease of a server. False while another server has it. */
  async claim(server: string, ms: number): Promise<boolean> {
    return (await this.lease.claim(server, ms)) || this.lease.extend(server, ms);
  }

  release(server: string): Promise<void> {
    return this.lease.release(server);
  }

  /** Returns the sequence numbers of the last delivered entries of security logs, by account. */
  async positions(): Promise<ReadonlyMap<string, number>> {
    const pairs = asPairs(await this.redis.command('HGETALL', [redisKeys.sinkPositions]));
    return new Map(pairs.map(([aid, sequence]) => [asText(aid), asCount(sequence)]));
  }

  /** Records the last delivered entry of a security log. */
  async advance(aid: string, sequence: number): Promise<void> {
    await this.redis.write('HSET', [redisKeys.sinkPositions, aid, sequence]);
  }

  /** Removes the positions of deleted security logs. */
  async forget(aids: readonly string[]): Promise<void> {
    if (aids.length > 0) {
      await this.redis.write('HDEL', [redisKeys.sinkPositions, ...aids]);
    }
  }

  /** Names buckets that may have entries to deliver. */
  name(aid: string, kid: string, numbers: Iterable<number>): Promise<void> {
    return nameSinkBuckets(this.redis, aid, kid, numbers);
  }

  async buckets(): Promise<readonly SinkBucket[]> {
    const members = asList(await this.redis.command('SMEMBERS', [redisKeys.sinkBuckets])).map(asText);
    return members.map((member) => {
      const [aid = '', kid = '', number] = member.split(' ');
      return { aid, bucket: { kid, number: Number(number) } };
    });
  }

  /** Removes the name of a bucket, unless it has something to deliver. */
  async clear({ aid, bucket }: SinkBucket): Promise<void> {
    const { kid, number } = bucket;
    await this.redis.write('SREM', [redisKeys.sinkBuckets, `${aid} ${kid} ${number}`]);
    // A log is recorded before its bucket is named: either it is seen here, or the bucket is named after this.
    if ((await this.waiting(bucket)) > 0) {
      await this.name(aid, kid, [number]);
    }
  }

  /** Returns the number of undelivered logs of a bucket and of undelivered entries of removed logs. */
  async waiting(bucket: Bucket): Promise<number> {
    const counts = await Promise.all([
      this.redis.command('HLEN', [redisKeys.undelivered(bucket)]),
      this.redis.command('LLEN', [redisKeys.outbox(bucket)]),
    ]);
    return counts.map(asCount).reduce((sum, count) => sum + count, 0);
  }

  /** Yields the undelivered logs of a bucket, each with the number of its delivered entries. */
  async *logs(
    bucket: Bucket,
  ): AsyncGenerator<readonly { readonly token: string; readonly from: number }[], void, void> {
    for await (const fields of scanHash(this.redis, redisKeys.undelivered(bucket), LOGS_STEP)) {
      yield fields.map(({ field, value }) => ({ token: field, from: asCount(value) }));
    }
  }

  /** Returns entries after the first `from`, at most those of one step. None if the log was removed meanwhile. */
  async readLog(
    bucket: Bucket,
    token: string,
    from: number,
    upTo: 'all' | 'recorded',
  ): Promise<UndeliveredPart> {
    const item = redisKeys.item(bucket, token);
    const [recorded, field] = asList(await this.redis.command('HMGET', [item, 'r', 'n'])).map(
      asOptionalBytes,
    );
    const length = field && field.length > TAG_BYTES ? field.subarray(0, -TAG_BYTES) : field;
    const count = Number(length ?? 0);
    const end = upTo === 'all' ? count : Math.min(count, Number(recorded ?? 0));
    const last = Math.min(end, from + ENTRIES_STEP);
    const numbers = Array.from({ length: Math.max(0, last - from) }, (_, i) => from + 1 + i);
    if (numbers.length === 0) {
      return { token, from, entries: [], isLast: true };
    }
    const reply = asList(await this.redis.command('HMGET', [item, 'n', ...numbers]));
    const [now, ...entries] = reply.map(asOptionalBytes);
    if (now === undefined) {
      return { token, from, entries: [], isLast: true };
    }
    // A log whose recorded entries are missing would hold up all others: the rest waits for the next round.
    const isHollow = upTo === 'recorded' && entries.every((entry) => entry === undefined);
    return { token, from, entries, isLast: last === end || isHollow };
  }

  /** Records that a part was delivered, if it is still the same log. */
  async advanceLog(bucket: Bucket, { token, from, entries }: UndeliveredPart): Promise<void> {
    const keys = [redisKeys.item(bucket, token), redisKeys.undelivered(bucket)];
    const tag = entries.at(-1)?.subarray(-TAG_BYTES) ?? '';
    await this.redis.run(advanceLog, keys, [token, from, from + entries.length, tag]);
  }

  /** Returns the first entries of removed logs. */
  async readOutbox(bucket: Bucket): Promise<readonly OutboxEntry[]> {
    const range = [redisKeys.outbox(bucket), 0, ENTRIES_STEP - 1];
    return asList(await this.redis.command('LRANGE', range)).map((stored) => outboxEntryOf(asBytes(stored)));
  }

  async advanceOutbox(bucket: Bucket, entries: readonly OutboxEntry[]): Promise<void> {
    const last = entries.at(-1);
    if (last !== undefined) {
      await this.redis.run(advanceOutbox, [redisKeys.outbox(bucket)], [entries.length, last.stored]);
    }
  }
}

function outboxEntryOf(stored: Buffer): OutboxEntry {
  const end = 6 + stored.readUInt16LE(4);
  return {
    token: stored.toString('utf8', 6, end),
    sequence: stored.readUInt32LE(0),
    entry: stored.subarray(end),
    stored,
  };
}
