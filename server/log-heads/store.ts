import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import logPrelude from '../redis/records/log-prelude.lua' with { type: 'text' };
import type { Bucket } from '../redis/records/name.ts';
import { scanTokens } from '../redis/records/scan.ts';
import { asBytes, asList, asOptionalBytes, asPairs, asText, isOk } from '../redis/reply.ts';
import foldHeadsText from './fold-heads-n.lua' with { type: 'text' };
import headsPrelude from './prelude.lua' with { type: 'text' };
import putHeadsText from './put-heads-1.lua' with { type: 'text' };
import readHeadsText from './read-heads-n.lua' with { type: 'text' };

const readHeads = script(logPrelude, headsPrelude, readHeadsText);
const foldHeads = script(headsPrelude, foldHeadsText);
const putHeads = script(putHeadsText);

const NO_BYTES = Buffer.alloc(0);
/** The largest number of logs that are read or recorded at once. */
const STEP = 256;
const MARK = 'm';
/** The prefix of the id of a deleted key; no id begins with it. */
const REMOVED = '!';

/** Logs of one bucket and the record of all of them, as of one moment. */
export interface ReadHeads {
  /** Empty if nothing was recorded. */
  readonly record: Buffer;
  readonly tokens: readonly string[];
  /** The head of each token (see `read-heads-n.lua`). */
  readonly heads: readonly Buffer[];
}

/** The entry of a key in the record of its account: its buckets, and the proof of its deletion; each empty for none. */
interface CoveredKey {
  readonly kid: string;
  readonly buckets: Buffer;
  readonly proof: Buffer;
}

/** The entry of a key with the mark of its account, as of one moment. */
interface MarkedKey extends CoveredKey {
  readonly mark: Buffer;
}

/** Stores the recorded heads of item logs, of each bucket and of each account. */
export class HeadsStore {
  constructor(
    private readonly redis: RedisLink,
    /** Recorded logs are delivered to a sink. */
    private readonly isStreamed = false,
  ) {}

  /** Yields logs of a bucket that have changed since they were recorded. Logs that change meanwhile may be missing. */
  async *changed(bucket: Bucket): AsyncGenerator<ReadHeads, void, void> {
    let cursor = '0';
    do {
      const args = [redisKeys.changedLogs(bucket), cursor, 'COUNT', STEP];
      const [next, members] = asList(await this.redis.command('SSCAN', args));
      cursor = asText(next);
      // A small set comes whole, a large one in parts that may be larger than `STEP`.
      const tokens = asList(members).map(asText);
      for (let at = 0; at < tokens.length; at += STEP) {
        yield await this.read(bucket, tokens.slice(at, at + STEP));
      }
    } while (cursor !== '0');
  }

  /** Yields all logs of a bucket. A log that is written meanwhile may come twice. */
  async *all(bucket: Bucket): AsyncGenerator<ReadHeads, void, void> {
    for await (const tokens of scanTokens(this.redis, bucket, STEP)) {
      yield await this.read(bucket, tokens);
    }
  }

  /** Returns logs that were removed since they were recorded. */
  async removed(bucket: Bucket): Promise<ReadHeads> {
    const tokens = asList(await this.redis.command('HKEYS', [redisKeys.removedLogs(bucket)])).map(asText);
    return this.read(bucket, tokens);
  }

  async read(bucket: Bucket, tokens: readonly string[]): Promise<ReadHeads> {
    const keys = [
      redisKeys.logHeads(bucket),
      redisKeys.removedLogs(bucket),
      ...tokens.map((token) => redisKeys.item(bucket, token)),
    ];
    const reply = asList(await this.redis.runUnreplicated(readHeads, keys, tokens));
    const [record, ...heads] = reply.map(asBytes);
    return { record: record ?? NO_BYTES, tokens, heads };
  }

  /** Records logs at these lengths (0: removed, negative: unchanged) with the new record. False if one has changed. */
  async fold(
    bucket: Bucket,
    { record: read, tokens, heads }: ReadHeads,
    lengths: readonly number[],
    record: Uint8Array,
  ): Promise<boolean> {
    const folded = tokens.flatMap((token, i) => {
      const length = lengths[i] ?? -1;
      return length < 0 ? [] : [{ token, head: heads[i] ?? NO_BYTES, length }];
    });
    const keys = [
      redisKeys.logHeads(bucket),
      redisKeys.changedLogs(bucket),
      redisKeys.removedLogs(bucket),
      redisKeys.undelivered(bucket),
      ...folded.map(({ token }) => redisKeys.item(bucket, token)),
    ];
    const items = folded.flatMap(({ token, head, length }) => [token, head, length === 0 ? '' : length]);
    const args = [read, record, this.isStreamed ? '1' : '', ...items];
    return isOk(await this.redis.run(foldHeads, keys, args));
  }

  /** Marks all items of a bucket as changed, for a bucket that was never recorded. */
  async nameAll(bucket: Bucket): Promise<void> {
    for await (const tokens of scanTokens(this.redis, bucket, STEP)) {
      if (tokens.length > 0) {
        await this.redis.write('SADD', [redisKeys.changedLogs(bucket), ...tokens]);
      }
    }
  }

  /** Returns the record of a bucket; empty for none. */
  async record(bucket: Bucket): Promise<Buffer> {
    return asOptionalBytes(await this.redis.command('HGET', [redisKeys.logHeads(bucket), 'a'])) ?? NO_BYTES;
  }

  async readKey(aid: string, kid: string): Promise<MarkedKey> {
    const names = [MARK, kid, `${REMOVED}${kid}`];
    const found = asList(await this.redis.command('HMGET', [redisKeys.accountHeads(aid), ...names]));
    const [mark, buckets, proof] = found.map((part) => asOptionalBytes(part) ?? NO_BYTES);
    return { kid, mark: mark ?? NO_BYTES, buckets: buckets ?? NO_BYTES, proof: proof ?? NO_BYTES };
  }

  /** Returns the mark and all entries of an account. */
  async readAccount(aid: string): Promise<{ readonly mark: Buffer; readonly keys: readonly CoveredKey[] }> {
    const pairs = asPairs(await this.redis.command('HGETALL', [redisKeys.accountHeads(aid)]));
    const fields = new Map(pairs.map(([name, value]) => [asText(name), asBytes(value)]));
    const of = (name: string): Buffer => fields.get(name) ?? NO_BYTES;
    const names = [...fields.keys()].filter((name) => name !== MARK);
    const kids = new Set(names.map((name) => (name.startsWith(REMOVED) ? name.slice(1) : name)));
    const keys = [...kids].map((kid) => ({ kid, buckets: of(kid), proof: of(`${REMOVED}${kid}`) }));
    return { mark: of(MARK), keys };
  }

  /** Replaces the mark and the buckets of a key; empty buckets remove its entry. False if either has changed. */
  async put(
    aid: string,
    { kid, mark, buckets }: MarkedKey,
    next: { readonly mark: Uint8Array; readonly buckets: Uint8Array },
  ): Promise<boolean> {
    const args = [mark, next.mark, kid, buckets, next.buckets];
    return isOk(await this.redis.run(putHeads, [redisKeys.accountHeads(aid)], args));
  }

  async remove(aid: string): Promise<void> {
    await this.redis.write('UNLINK', [redisKeys.accountHeads(aid)]);
    await this.redis.write('HDEL', [redisKeys.headsCheckpoints, aid]);
  }

  async readCheckpoint(aid: string): Promise<string | undefined> {
    const found = await this.redis.command('HGET', [redisKeys.headsCheckpoints, aid]);
    return found === null ? undefined : asText(found);
  }

  async putCheckpoint(aid: string, checkpoint: string): Promise<void> {
    await this.redis.write('HSET', [redisKeys.headsCheckpoints, aid, checkpoint]);
  }
}
