import { type RedisLink, script } from '../redis/client.ts';
import prelude from '../redis/records/bucket-prelude.lua' with { type: 'text' };
import { redisKeys } from '../redis/records/keys.ts';
import type { Bucket } from '../redis/records/name.ts';
import { scanTokens } from '../redis/records/scan.ts';
import { asBytes, asList, asOptionalBytes, asText, isOk } from '../redis/reply.ts';
import foldHeadsText from './fold-heads-n.lua' with { type: 'text' };
import headsPrelude from './prelude.lua' with { type: 'text' };
import putHeadsText from './put-heads-1.lua' with { type: 'text' };
import readHeadsText from './read-heads-n.lua' with { type: 'text' };

const readHeads = script(prelude, headsPrelude, readHeadsText);
const foldHeads = script(prelude, headsPrelude, foldHeadsText);
const putHeads = script(putHeadsText);

const NO_BYTES = Buffer.alloc(0);
/** Logs that are read or recorded at once. */
const STEP = 256;
const MARK = 'm';
/** Stands before the id of a deleted key; no id has it. */
const REMOVED = '!';

/** Logs of one bucket with what its account has recorded of all of them, at one moment. */
export interface ReadHeads {
  /** Empty when nothing was recorded. */
  readonly record: Buffer;
  readonly tokens: readonly string[];
  /** For each token its head (see the prelude of the scripts). */
  readonly heads: readonly Buffer[];
}

/** What an account says of a key: its buckets, and the proof of its deletion; each empty for none. */
export interface CoveredKey {
  readonly kid: string;
  readonly buckets: Buffer;
  readonly proof: Buffer;
}

/** The recorded heads of item logs: those of each bucket, and those of an account. */
export interface HeadsStore {
  /** Logs of a bucket that have changed since they were recorded, some at a time; those that change meanwhile may be missing. */
  changed(bucket: Bucket): AsyncGenerator<ReadHeads, void, void>;
  /** All logs of a bucket, some at a time; one that is written meanwhile may come twice. */
  all(bucket: Bucket): AsyncGenerator<ReadHeads, void, void>;
  /** Logs that were removed since they were recorded. */
  removed(bucket: Bucket): Promise<ReadHeads>;
  /** The heads of these logs. */
  read(bucket: Bucket, tokens: readonly string[]): Promise<ReadHeads>;
  /** Records logs at these lengths (0: it is gone, negative: it is left as it is) with the new record; false if one has changed. */
  fold(bucket: Bucket, read: ReadHeads, lengths: readonly number[], record: Uint8Array): Promise<boolean>;
  /** Names all items of a bucket as changed, since nothing of them may have been recorded. */
  nameAll(bucket: Bucket): Promise<void>;
  /** What a bucket has recorded; empty for nothing. */
  record(bucket: Bucket): Promise<Buffer>;
  /** What an account says of a key, and its mark, at one moment. */
  readKey(aid: string, kid: string): Promise<CoveredKey & { readonly mark: Buffer }>;
  /** All that an account says. */
  readAccount(aid: string): Promise<{ readonly mark: Buffer; readonly keys: readonly CoveredKey[] }>;
  /** Replaces the mark and the buckets of a key, which empty ones remove; false if either has changed. */
  put(
    aid: string,
    read: CoveredKey & { readonly mark: Buffer },
    next: { readonly mark: Uint8Array; readonly buckets: Uint8Array },
  ): Promise<boolean>;
  /** Removes what an account says. */
  remove(aid: string): Promise<void>;
  /** The newest checkpoint of an account's heads. */
  readCheckpoint(aid: string): Promise<string | undefined>;
  putCheckpoint(aid: string, checkpoint: string): Promise<void>;
}

async function read(redis: RedisLink, bucket: Bucket, tokens: readonly string[]): Promise<ReadHeads> {
  const keys = [
    redisKeys.logHeads(bucket),
    redisKeys.removedLogs(bucket),
    ...tokens.map((token) => redisKeys.item(bucket, token)),
  ];
  const [record, ...heads] = asList(await redis.runUnreplicated(readHeads, keys, tokens)).map(asBytes);
  return { record: record ?? NO_BYTES, tokens, heads };
}

async function* changed(redis: RedisLink, bucket: Bucket): AsyncGenerator<ReadHeads, void, void> {
  let cursor = '0';
  do {
    const reply = await redis.command('SSCAN', [redisKeys.changedLogs(bucket), cursor, 'COUNT', STEP]);
    const [next, members] = asList(reply);
    cursor = asText(next);
    // A small set comes whole, a large one in parts that may be larger than asked for.
    const tokens = asList(members).map(asText);
    for (let at = 0; at < tokens.length; at += STEP) {
      yield await read(redis, bucket, tokens.slice(at, at + STEP));
    }
  } while (cursor !== '0');
}

async function fold(
  redis: RedisLink,
  bucket: Bucket,
  { record: seen, tokens, heads }: ReadHeads,
  lengths: readonly number[],
  record: Uint8Array,
  isStreamed: boolean,
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
  return isOk(await redis.run(foldHeads, keys, [seen, record, isStreamed ? '1' : '', ...items]));
}

async function readAccount(redis: RedisLink, aid: string): ReturnType<HeadsStore['readAccount']> {
  const parts = asList(await redis.command('HGETALL', [redisKeys.accountHeads(aid)]));
  const fields = new Map<string, Buffer>();
  for (let at = 0; at < parts.length; at += 2) {
    fields.set(asText(parts[at]), asBytes(parts[at + 1]));
  }
  const of = (name: string): Buffer => fields.get(name) ?? NO_BYTES;
  const names = [...fields.keys()].filter((name) => name !== MARK);
  const kids = new Set(names.map((name) => (name.startsWith(REMOVED) ? name.slice(1) : name)));
  const keys = [...kids].map((kid) => ({ kid, buckets: of(kid), proof: of(`${REMOVED}${kid}`) }));
  return { mark: of(MARK), keys };
}

/** The recorded heads of one Redis. `isStreamed`: what is recorded is to be delivered to a sink. */
export function createHeadsStore(redis: RedisLink, isStreamed = false): HeadsStore {
  return {
    changed: (bucket) => changed(redis, bucket),
    async *all(bucket) {
      for await (const tokens of scanTokens(redis, bucket, STEP)) {
        yield await read(redis, bucket, tokens);
      }
    },
    async removed(bucket) {
      const tokens = asList(await redis.command('HKEYS', [redisKeys.removedLogs(bucket)])).map(asText);
      return read(redis, bucket, tokens);
    },
    read: (bucket, tokens) => read(redis, bucket, tokens),
    fold: (bucket, heads, lengths, record) => fold(redis, bucket, heads, lengths, record, isStreamed),
    async nameAll(bucket) {
      for await (const tokens of scanTokens(redis, bucket, STEP)) {
        await (tokens.length === 0
          ? undefined
          : redis.write('SADD', [redisKeys.changedLogs(bucket), ...tokens]));
      }
    },
    async record(bucket) {
      return asOptionalBytes(await redis.command('HGET', [redisKeys.logHeads(bucket), 'a'])) ?? NO_BYTES;
    },
    async readKey(aid, kid) {
      const names = [MARK, kid, `${REMOVED}${kid}`];
      const found = asList(await redis.command('HMGET', [redisKeys.accountHeads(aid), ...names]));
      const [mark, buckets, proof] = found.map((part) => asOptionalBytes(part) ?? NO_BYTES);
      return { kid, mark: mark ?? NO_BYTES, buckets: buckets ?? NO_BYTES, proof: proof ?? NO_BYTES };
    },
    readAccount: (aid) => readAccount(redis, aid),
    async put(aid, { kid, mark, buckets }, next) {
      const args = [mark, next.mark, kid, buckets, next.buckets];
      return isOk(await redis.run(putHeads, [redisKeys.accountHeads(aid)], args));
    },
    async remove(aid) {
      await redis.write('UNLINK', [redisKeys.accountHeads(aid)]);
      await redis.write('HDEL', [redisKeys.headsCheckpoints, aid]);
    },
    async readCheckpoint(aid) {
      const found = await redis.command('HGET', [redisKeys.headsCheckpoints, aid]);
      return found === null ? undefined : asText(found);
    },
    async putCheckpoint(aid, checkpoint) {
      await redis.write('HSET', [redisKeys.headsCheckpoints, aid, checkpoint]);
    },
  };
}
