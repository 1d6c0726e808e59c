import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asList, asText } from '../redis/reply.ts';

/** Segments per command, so that Redis is never blocked for long. */
const STEP = 500;

/** A range of BINs (8 digits, inclusive) with its issuers as JSON text. */
interface BinSegmentText {
  readonly low: number;
  readonly high: number;
  readonly issuers: string;
}

/** The operator's BIN table. */
export class BinStore {
  constructor(private readonly redis: RedisLink) {}

  /** Replaces the table atomically. */
  async load(next: string, segments: Iterable<BinSegmentText>): Promise<void> {
    const before = await this.version();
    const key = redisKeys.binTable(next);
    let args: (string | number)[] = [];
    for (const { low, high, issuers } of segments) {
      args.push(low, `${low}:${high}:${issuers}`);
      if (args.length >= 2 * STEP) {
        await this.redis.write('ZADD', [key, ...args]);
        args = [];
      }
    }
    if (args.length > 0) {
      await this.redis.write('ZADD', [key, ...args]);
    }
    await this.redis.write('SET', [redisKeys.binVersion, next]);
    if (before !== undefined && before !== next) {
      await this.redis.write('UNLINK', [redisKeys.binTable(before)]);
    }
  }

  /** Returns the issuers of an 8-digit BIN as JSON text; undefined without a table or a matching range. */
  async find(bin: number): Promise<string | undefined> {
    const current = await this.version();
    if (current === undefined) {
      return undefined;
    }
    const key = redisKeys.binTable(current);
    const [member] = asList(
      await this.redis.command('ZRANGE', [key, bin, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1]),
    );
    if (member === undefined) {
      return undefined;
    }
    const [, high, ...rest] = asText(member).split(':');
    return bin <= Number(high) ? rest.join(':') : undefined;
  }

  private async version(): Promise<string | undefined> {
    const found = await this.redis.command('GET', [redisKeys.binVersion]);
    return found === null ? undefined : asText(found);
  }
}
