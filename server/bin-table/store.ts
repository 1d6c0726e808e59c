import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asList, asText } from '../redis/reply.ts';

/** Segments per command, so that Redis is never blocked for long. */
const STEP = 500;

/** A range of BINs (8 digits, inclusive) with its issuers. */
interface Segment {
  readonly low: number;
  readonly high: number;
  readonly issuers: readonly unknown[];
}

/** The operator's BIN table. */
export class BinStore {
  constructor(private readonly redis: RedisLink) {}

  /** Replaces the table atomically by one with a new name. */
  async load(next: string, segments: readonly Segment[]): Promise<void> {
    const before = await this.version();
    const key = redisKeys.binTable(next);
    for (let at = 0; at < segments.length; at += STEP) {
      const members = segments
        .slice(at, at + STEP)
        .flatMap(({ low, high, issuers }) => [low, `${low}:${high}:${JSON.stringify(issuers)}`]);
      await this.redis.write('ZADD', [key, ...members]);
    }
    await this.redis.write('SET', [redisKeys.binVersion, next]);
    if (before !== undefined) {
      await this.redis.write('UNLINK', [redisKeys.binTable(before)]);
    }
  }

  /** Returns the issuers of an 8-digit BIN as JSON text; undefined without a table or a matching range. */
  async find(bin: number): Promise<string | undefined> {
    const current = await this.version();
    if (current === undefined) {
      return undefined;
    }
    const range = [redisKeys.binTable(current), bin, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1];
    const [member] = asList(await this.redis.command('ZRANGE', range));
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
