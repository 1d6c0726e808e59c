import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asList, asText } from '../redis/reply.ts';

/** A range of BINs (8 digits, inclusive) with its issuers as JSON text. */
export interface BinSegmentText {
  readonly low: number;
  readonly high: number;
  readonly issuers: string;
}

/** The operator's BIN table. */
export interface BinStore {
  /** Replaces the table atomically. */
  load(version: string, segments: Iterable<BinSegmentText>): Promise<void>;
  /** JSON text of the issuers of an 8-digit BIN; undefined without a table or a matching range. */
  find(bin: number): Promise<string | undefined>;
}

/** Segments per command, so that Redis is never blocked for long. */
const STEP = 500;

/** The BIN table of one Redis. */
export function createBinStore(redis: RedisLink): BinStore {
  const version = async (): Promise<string | undefined> => {
    const found = await redis.command('GET', [redisKeys.binVersion]);
    return found === null ? undefined : asText(found);
  };
  return {
    async load(next, segments) {
      const before = await version();
      const key = redisKeys.binTable(next);
      let args: (string | number)[] = [];
      for (const { low, high, issuers } of segments) {
        args.push(low, `${low}:${high}:${issuers}`);
        if (args.length >= 2 * STEP) {
          await redis.write('ZADD', [key, ...args]);
          args = [];
        }
      }
      if (args.length > 0) {
        await redis.write('ZADD', [key, ...args]);
      }
      await redis.write('SET', [redisKeys.binVersion, next]);
      if (before !== undefined && before !== next) {
        await redis.write('UNLINK', [redisKeys.binTable(before)]);
      }
    },
    async find(bin) {
      const current = await version();
      if (current === undefined) {
        return undefined;
      }
      const key = redisKeys.binTable(current);
      const [member] = asList(
        await redis.command('ZRANGE', [key, bin, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1]),
      );
      if (member === undefined) {
        return undefined;
      }
      const [, high, ...rest] = asText(member).split(':');
      return bin <= Number(high) ? rest.join(':') : undefined;
    },
  };
}
