import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import type { Bucket } from '../redis/records/name.ts';
import { nameSinkBuckets } from '../redis/records/outbox.ts';
import { scanHash } from '../redis/records/scan.ts';
import { asBytes, asCount, asList, asOptionalBytes, asPairs, asText } from '../redis/reply.ts';
import advanceLogText from './advance-log-2.lua' with { type: 'text' };
import advanceOutboxText from './advance-outbox-1.lua' with { type: 'text' };

const advanceLog = script(advanceLogText);
const advanceOutbox = script(advanceOutboxText);

const TAG_BYTES = 16;
/** Logs that are read at once. */
const LOGS_STEP = 128;
/** Entries that are read at once. */
const ENTRIES_STEP = 256;

/** A bucket with its account. */
export interface SinkBucket {
  readonly aid: string;
  readonly bucket: Bucket;
}

/** Entries of one item's log; undefined for one that is not there. */
export interface UndeliveredPart {
  readonly token: string;
  /** Entries before them, which were delivered. */
  readonly from: number;
  readonly entries: readonly (Buffer | undefined)[];
  /** Whether nothing is behind them that this round reads. */
  readonly isLast: boolean;
}

/** An entry of a log that was removed. */
export interface OutboxEntry {
  readonly token: string;
  readonly sequence: number;
  readonly entry: Buffer;
  /** As it lies in the outbox. */
  readonly stored: Buffer;
}

/** What was not delivered to the sink yet. The positions are moved after a delivery, so that it may repeat, and misses nothing. */
export interface SinkStore {
  /** Takes the lease for one server, or keeps it; false while another one has it. */
  claim(server: string, ms: number): Promise<boolean>;
  /** Gives the lease back. */
  release(server: string): Promise<void>;
  /** Sequence numbers of the last delivered entries of security logs, by account. */
  positions(): Promise<ReadonlyMap<string, number>>;
  /** Notes the last delivered entry of a security log. */
  advance(aid: string, sequence: number): Promise<void>;
  /** Forgets security logs that are no longer there. */
  forget(aids: readonly string[]): Promise<void>;
  /** Names buckets that may have entries to deliver. */
  name(aid: string, kid: string, numbers: Iterable<number>): Promise<void>;
  /** All named buckets. */
  buckets(): Promise<readonly SinkBucket[]>;
  /** Takes a bucket out, unless there is something to deliver. */
  clear(bucket: SinkBucket): Promise<void>;
  /** Logs of a bucket that wait, and entries of removed ones. */
  waiting(bucket: Bucket): Promise<number>;
  /** The undelivered logs of a bucket, some at a time, each with how many of its entries were delivered. */
  logs(
    bucket: Bucket,
  ): AsyncGenerator<readonly { readonly token: string; readonly from: number }[], void, void>;
  /**
   * The entries of a log behind the first `from`, as many as one step reads, up to the end of the log or to what is
   * recorded. None when it was removed meanwhile.
   */
  readLog(bucket: Bucket, token: string, from: number, upTo: 'all' | 'recorded'): Promise<UndeliveredPart>;
  /** Notes that a part was delivered, if it is still the same log. */
  advanceLog(bucket: Bucket, part: UndeliveredPart): Promise<void>;
  /** The first entries of removed logs. */
  readOutbox(bucket: Bucket): Promise<readonly OutboxEntry[]>;
  /** Removes these first entries. */
  advanceOutbox(bucket: Bucket, entries: readonly OutboxEntry[]): Promise<void>;
}

async function claim(redis: RedisLink, server: string, ms: number): Promise<boolean> {
  const set = (when: 'NX' | 'XX') => redis.write('SET', [redisKeys.sinkLease, server, when, 'PX', ms]);
  if ((await set('NX')) !== null) {
    return true;
  }
  const holder = await redis.command('GET', [redisKeys.sinkLease]);
  return holder !== null && asText(holder) === server && (await set('XX')) !== null;
}

async function waiting(redis: RedisLink, bucket: Bucket): Promise<number> {
  const counts = await Promise.all([
    redis.command('HLEN', [redisKeys.undelivered(bucket)]),
    redis.command('LLEN', [redisKeys.outbox(bucket)]),
  ]);
  return counts.map(asCount).reduce((sum, count) => sum + count, 0);
}

async function clear(redis: RedisLink, { aid, bucket }: SinkBucket): Promise<void> {
  const { kid, number } = bucket;
  await redis.write('SREM', [redisKeys.sinkBuckets, `${aid} ${kid} ${number}`]);
  // Who records a log names its bucket behind that: either it is seen here, or it is named after this.
  await ((await waiting(redis, bucket)) > 0 ? nameSinkBuckets(redis, aid, kid, [number]) : undefined);
}

async function readLog(
  redis: RedisLink,
  bucket: Bucket,
  token: string,
  from: number,
  upTo: 'all' | 'recorded',
): Promise<UndeliveredPart> {
  const item = redisKeys.item(bucket, token);
  const [recorded, field] = asList(await redis.command('HMGET', [item, 'r', 'n'])).map(asOptionalBytes);
  const length = field && field.length > TAG_BYTES ? field.subarray(0, -TAG_BYTES) : field;
  const count = Number(length ?? 0);
  const end = upTo === 'all' ? count : Math.min(count, Number(recorded ?? 0));
  const last = Math.min(end, from + ENTRIES_STEP);
  const numbers = Array.from({ length: Math.max(0, last - from) }, (_, i) => from + 1 + i);
  if (numbers.length === 0) {
    return { token, from, entries: [], isLast: true };
  }
  const [now, ...entries] = asList(await redis.command('HMGET', [item, 'n', ...numbers])).map(
    asOptionalBytes,
  );
  // A log that claims entries which it does not have would hold up all others: the rest waits for the next round.
  const isHollow = upTo === 'recorded' && entries.every((entry) => entry === undefined);
  return now === undefined
    ? { token, from, entries: [], isLast: true }
    : { token, from, entries, isLast: last === end || isHollow };
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

/** What is not delivered yet of one Redis. */
export function createSinkStore(redis: RedisLink): SinkStore {
  return {
    claim: (server, ms) => claim(redis, server, ms),
    async release(server) {
      const holder = await redis.command('GET', [redisKeys.sinkLease]);
      if (holder !== null && asText(holder) === server) {
        await redis.write('DEL', [redisKeys.sinkLease]);
      }
    },
    async positions() {
      const pairs = asPairs(await redis.command('HGETALL', [redisKeys.sinkPositions]));
      return new Map(pairs.map(([aid, sequence]) => [asText(aid), asCount(sequence)]));
    },
    async advance(aid, sequence) {
      await redis.write('HSET', [redisKeys.sinkPositions, aid, sequence]);
    },
    async forget(aids) {
      await (aids.length === 0 ? undefined : redis.write('HDEL', [redisKeys.sinkPositions, ...aids]));
    },
    name: (aid, kid, numbers) => nameSinkBuckets(redis, aid, kid, numbers),
    async buckets() {
      const members = asList(await redis.command('SMEMBERS', [redisKeys.sinkBuckets])).map(asText);
      return members.map((member) => {
        const [aid = '', kid = '', number] = member.split(' ');
        return { aid, bucket: { kid, number: Number(number) } };
      });
    },
    clear: (bucket) => clear(redis, bucket),
    waiting: (bucket) => waiting(redis, bucket),
    async *logs(bucket) {
      for await (const fields of scanHash(redis, redisKeys.undelivered(bucket), LOGS_STEP)) {
        yield fields.map(({ field, value }) => ({ token: field, from: asCount(value) }));
      }
    },
    readLog: (bucket, token, from, upTo) => readLog(redis, bucket, token, from, upTo),
    async advanceLog(bucket, { token, from, entries }) {
      const keys = [redisKeys.item(bucket, token), redisKeys.undelivered(bucket)];
      const tag = entries.at(-1)?.subarray(-TAG_BYTES) ?? '';
      await redis.run(advanceLog, keys, [token, from, from + entries.length, tag]);
    },
    async readOutbox(bucket) {
      const stored = asList(await redis.command('LRANGE', [redisKeys.outbox(bucket), 0, ENTRIES_STEP - 1]));
      return stored.map((one) => outboxEntryOf(asBytes(one)));
    },
    async advanceOutbox(bucket, entries) {
      const last = entries.at(-1);
      await (last && redis.run(advanceOutbox, [redisKeys.outbox(bucket)], [entries.length, last.stored]));
    },
  };
}
