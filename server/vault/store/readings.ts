import { VaultError } from '../../core/errors.ts';
import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { scanDown } from '../../redis/records/scan.ts';
import { asList, asOptionalBytes } from '../../redis/reply.ts';

/** Readings of a bucket that are read at once: few at first, since most pages need few of each bucket. */
const STEP_FIRST = 16;
const STEP_MAX = 1_024;
/** The last bytes of an entry that a reading names. */
const TAG_BYTES = 4;
/** Bytes before the token of a reading, see `append-log-n.lua`. */
const HEAD_BYTES = 6;

/** A reading of an item, as the script that logged it has named it. */
export interface Reading {
  readonly bucket: Bucket;
  readonly token: string;
  /** The number of its entry in the log of the item. */
  readonly number: number;
  /** The last bytes of that entry: an item that was deleted and stored again has another log. */
  readonly tag: Buffer;
  /** ms since 1970, as in the entry. */
  readonly timeMs: number;
}

/** The encrypted entry and metadata of a reading. */
export interface ReadingParts {
  readonly entry: Buffer;
  readonly meta: Buffer;
}

/** Readings of items by time: an index of the entries in their logs. */
export class ReadingStore {
  constructor(private readonly redis: RedisLink) {}

  /** Yields the readings of a bucket between two times, both inclusive, the newest first; those of one time come together. */
  async *newestFirst(
    bucket: Bucket,
    from: number,
    to: number,
  ): AsyncGenerator<readonly Reading[], void, void> {
    const range = { from, to, first: STEP_FIRST, max: STEP_MAX };
    for await (const members of scanDown(this.redis, redisKeys.readings(bucket), range)) {
      yield members.flatMap(([member, timeMs]) => readingsOf(bucket, member, timeMs));
    }
  }

  /** Reads entry and metadata of readings; undefined for those of deleted items. */
  parts(readings: readonly Reading[]): Promise<readonly (ReadingParts | undefined)[]> {
    return Promise.all(
      readings.map(async ({ bucket, token, number, tag }) => {
        const fields = [redisKeys.item(bucket, token), String(number), 'm'];
        const [entry, meta] = asList(await this.redis.command('HMGET', fields)).map(asOptionalBytes);
        const isSame = entry?.subarray(-TAG_BYTES).equals(tag) === true;
        return isSame && meta !== undefined ? { entry, meta } : undefined;
      }),
    );
  }

  /** Removes readings before a time, ms since 1970. The logs of the items keep their entries. */
  async trim(bucket: Bucket, before: number): Promise<void> {
    await this.redis.write('ZREMRANGEBYSCORE', [redisKeys.readings(bucket), '-inf', `(${before}`]);
  }
}

/** Reads a member of the index. */
function readingsOf(bucket: Bucket, member: Buffer, timeMs: number): Reading[] {
  const readings: Reading[] = [];
  for (let at = 0; at < member.length; ) {
    const tokenAt = at + HEAD_BYTES;
    const end = tokenAt <= member.length ? tokenAt + member.readUInt16LE(at + 4) : Number.POSITIVE_INFINITY;
    if (end + TAG_BYTES > member.length) {
      throw new VaultError('integrity_failed');
    }
    const number = member.readUInt32LE(at);
    const token = member.toString('utf8', tokenAt, end);
    readings.push({ bucket, token, number, tag: member.subarray(end, end + TAG_BYTES), timeMs });
    at = end + TAG_BYTES;
  }
  return readings;
}
