import { VaultError } from '../core/errors.ts';
import appendLogText from './lua/item/append-log-n.lua' with { type: 'text' };
import dropSadText from './lua/item/drop-sad-2.lua' with { type: 'text' };
import prelude from './lua/item/prelude.lua' with { type: 'text' };
import readItemText from './lua/item/read-item-4.lua' with { type: 'text' };
import readItemsText from './lua/item/read-items-n.lua' with { type: 'text' };
import removeItemText from './lua/item/remove-item-5.lua' with { type: 'text' };
import writeItemText from './lua/item/write-item-6.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, script, text } from './redis/client.ts';
import { type Bucket, bucketOf, redisKeys } from './redis/keys.ts';

export type { Bucket } from './redis/keys.ts';

const writeItem = script(prelude, writeItemText);
const readItem = script(prelude, readItemText);
const readItems = script(prelude, readItemsText);
const appendLog = script(prelude, appendLogText);
const removeItem = script(prelude, removeItemText);
const dropSad = script(dropSadText);

const TAG_BYTES = 16;
const NONE = new Uint8Array(0);

/** The bucket is closed (a deletion of the key is under way), or the generation is no longer the newest. */
export type Refused = { readonly kind: 'closed' | 'stale' };

/** An item as it lies in Redis, every part sealed. */
export interface StoredItem {
  readonly kind: 'item';
  /** Envelope and content of part 0. */
  readonly item: Buffer;
  readonly meta: Buffer;
  readonly sad: Buffer;
  /** Entries in the log, and the last 16 bytes of the newest. */
  readonly logLength: number;
  readonly logTail: Buffer;
  readonly storedAt: number;
}

export interface ItemWrite {
  readonly token: string;
  readonly gen: number;
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly sad: Uint8Array;
  /** ms since the epoch; 0 = kept. */
  readonly sadExpiresAt: number;
  readonly refMember: Uint8Array;
  readonly logEntry: Uint8Array;
  /** Log length that the entry names. */
  readonly seen: number;
  /** The metadata that this write replaces; without it the write stores. */
  readonly replaces?: Uint8Array;
  readonly identity: Uint8Array;
  /** Of an idempotent request: a second write with it changes nothing and succeeds. */
  readonly seed?: string | undefined;
}

export type WriteOutcome =
  | Refused
  | { readonly kind: 'ok'; readonly storedAt: number }
  | { readonly kind: 'clash' | 'changed' }
  | { readonly kind: 'exists'; readonly logLength: number; readonly logTail: Buffer };

/** A token's place in time. */
export interface Position {
  readonly token: string;
  readonly storedAt: number;
}

/** Items with their logs and indexes, each write one script on one bucket. */
export interface ItemStore {
  readonly buckets: number;
  bucketOf(kid: string, token: string): Bucket;
  write(kid: string, write: ItemWrite): Promise<WriteOutcome>;
  read(kid: string, token: string, gen?: number): Promise<Refused | StoredItem | undefined>;
  /**
   * Many items of one bucket in one blob (see read-items-n.lua), for a thread to take apart. `short` when
   * they would be too many bytes at once: ask for fewer.
   */
  readMany(
    bucket: Bucket,
    tokens: readonly string[],
    part: 'full' | 'meta',
    gen?: number,
  ): Promise<Refused | 'short' | Buffer>;
  /** One entry per token, all of one bucket; true where the item was still there. */
  appendLog(
    bucket: Bucket,
    tokens: readonly string[],
    entries: readonly Uint8Array[],
    gen?: number,
  ): Promise<Refused | readonly boolean[]>;
  remove(
    kid: string,
    item: { token: string; meta: Uint8Array; refMember: Uint8Array },
  ): Promise<'ok' | 'missing' | 'changed' | 'closed'>;
  /** Removes an item's sensitive authentication data; `newMeta` is the metadata that names none. */
  dropSad(
    kid: string,
    token: string,
    meta: Uint8Array,
    newMeta: Uint8Array,
  ): Promise<'ok' | 'missing' | 'changed'>;
  /** Positions from `after` (exclusive) to `upTo` (inclusive) in ascending order. */
  positions(bucket: Bucket, after: number, upTo: number, limit: number): Promise<readonly Position[]>;
  newest(bucket: Bucket): Promise<number>;
  /** How many tokens a key has now, over all of its buckets. */
  countItems(kid: string): Promise<number>;
  /** Positions of the tokens whose encoded reference begins with `prefix`, unordered, a chunk at a time. */
  positionsByReference(bucket: Bucket, prefix: Uint8Array): AsyncGenerator<readonly Position[]>;
  /** Log entries numbered from `first` to `last`, oldest first; it ends before the first that is not there. */
  readLogUp(kid: string, token: string, first: number, last: number): Promise<readonly Buffer[]>;
  /** Log entries numbered from `from` down to `to`, newest first. */
  readLog(kid: string, token: string, from: number, to: number): Promise<readonly Buffer[]>;
}

const asRefused = (word: string): Refused => {
  if (word === 'closed' || word === 'stale') {
    return { kind: word };
  }
  throw new VaultError('integrity_failed');
};

const tagOf = (meta: Uint8Array): Uint8Array => meta.subarray(meta.length - TAG_BYTES);

const TIME_MS_MAX = 8_640_000_000_000_000;

/** A score of the time index: a moment that a date can hold. */
function time(part: unknown): number {
  const ms = count(part);
  if (ms < 0 || ms > TIME_MS_MAX) {
    throw new VaultError('integrity_failed');
  }
  return ms;
}

function toPositions(reply: unknown): Position[] {
  // RESP3 nests each member with its score; RESP2 gives one flat list.
  const parts = list(reply).flat();
  const out: Position[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    out.push({ token: text(parts[i]), storedAt: time(parts[i + 1]) });
  }
  return out;
}

function writeOutcome(reply: unknown): WriteOutcome {
  const [word, first, second] = list(reply);
  switch (text(word)) {
    case 'ok':
      return { kind: 'ok', storedAt: time(first) };
    case 'exists':
      return { kind: 'exists', logLength: count(first), logTail: bytes(second) };
    case 'clash':
      return { kind: 'clash' };
    case 'changed':
      return { kind: 'changed' };
    default:
      return asRefused(text(word));
  }
}

/** What one bucket may contribute to a page; a page has up to 16 buckets or more. */
const BLOB_BYTES_MAX = 192 * 1_024;
const LEX_STEP = 1_000;

/** The first member that no longer begins with `prefix`, as a bound of a range. */
function lexEnd(prefix: Uint8Array): Buffer {
  const next = Buffer.from(prefix);
  for (let i = next.length - 1; i >= 0; i--) {
    const byte = (next[i] ?? 0) + 1;
    if (byte <= 0xff) {
      next[i] = byte;
      return Buffer.concat([Buffer.from('('), next.subarray(0, i + 1)]);
    }
  }
  return Buffer.from('+');
}

/** A member of the reference index ends with its token and the token's length in two bytes. */
function tokenOfMember(member: Buffer): string {
  const end = member.length - 2;
  const start = end < 0 ? -1 : end - member.readUInt16BE(end);
  if (start < 0) {
    throw new VaultError('integrity_failed');
  }
  return member.toString('utf8', start, end);
}

export function createItemStore(redis: RedisLink, buckets: number): ItemStore {
  const place = (kid: string, token: string): Bucket => bucketOf(kid, token, buckets);

  async function* positionsByReference(
    bucket: Bucket,
    prefix: Uint8Array,
  ): AsyncGenerator<readonly Position[]> {
    const key = redisKeys.references(bucket);
    const end = lexEnd(prefix);
    let start = Buffer.concat([Buffer.from('['), prefix]);
    for (;;) {
      const members = list(
        await redis.command('ZRANGE', [key, start, end, 'BYLEX', 'LIMIT', 0, LEX_STEP]),
      ).map(bytes);
      if (members.length > 0) {
        const tokens = members.map(tokenOfMember);
        const scores = list(await redis.command('ZMSCORE', [redisKeys.times(bucket), ...tokens]));
        yield tokens.flatMap((token, i) =>
          scores[i] === null ? [] : [{ token, storedAt: time(scores[i]) }],
        );
      }
      const last = members.at(-1);
      if (members.length < LEX_STEP || last === undefined) {
        return;
      }
      start = Buffer.concat([Buffer.from('('), last]);
    }
  }

  return {
    buckets,
    bucketOf: place,
    async write(kid, write) {
      const bucket = place(kid, write.token);
      const keys = [
        redisKeys.item(bucket, write.token),
        redisKeys.sad(bucket, write.token),
        redisKeys.times(bucket),
        redisKeys.references(bucket),
        redisKeys.fence(bucket),
        redisKeys.identities(bucket),
      ];
      return writeOutcome(
        await redis.run(writeItem, keys, [
          write.token,
          write.gen,
          write.item,
          write.meta,
          write.sad,
          write.sadExpiresAt,
          write.refMember,
          write.logEntry,
          write.seen,
          write.replaces === undefined ? NONE : tagOf(write.replaces),
          write.identity,
          write.seed ?? NONE,
        ]),
      );
    },
    async read(kid, token, gen) {
      const bucket = place(kid, token);
      const keys = [
        redisKeys.item(bucket, token),
        redisKeys.sad(bucket, token),
        redisKeys.times(bucket),
        redisKeys.fence(bucket),
      ];
      const [word, item, meta, logLength, logTail, storedAt, sad] = list(
        await redis.run(readItem, keys, [token, gen ?? '']),
      );
      switch (text(word)) {
        case 'ok':
          return {
            kind: 'item',
            item: bytes(item),
            meta: bytes(meta),
            sad: bytes(sad),
            logLength: count(logLength),
            logTail: bytes(logTail),
            storedAt: time(storedAt),
          };
        case 'missing':
          return undefined;
        default:
          return asRefused(text(word));
      }
    },
    async readMany(bucket, tokens, part, gen) {
      const keys = [redisKeys.fence(bucket), ...tokens.map((token) => redisKeys.item(bucket, token))];
      if (part === 'full') {
        keys.push(...tokens.map((token) => redisKeys.sad(bucket, token)));
      }
      const [word, blob, items] = list(await redis.run(readItems, keys, [gen ?? '', part, BLOB_BYTES_MAX]));
      if (text(word) !== 'ok') {
        return asRefused(text(word));
      }
      return count(items) < tokens.length ? 'short' : bytes(blob);
    },
    async appendLog(bucket, tokens, entries, gen) {
      const keys = [redisKeys.fence(bucket), ...tokens.map((token) => redisKeys.item(bucket, token))];
      const [word, flags] = list(await redis.run(appendLog, keys, [gen ?? '', ...entries]));
      return text(word) === 'ok' ? [...text(flags)].map((flag) => flag === '1') : asRefused(text(word));
    },
    async remove(kid, { token, meta, refMember }) {
      const bucket = place(kid, token);
      const keys = [
        redisKeys.item(bucket, token),
        redisKeys.sad(bucket, token),
        redisKeys.times(bucket),
        redisKeys.references(bucket),
        redisKeys.fence(bucket),
      ];
      const word = text(await redis.run(removeItem, keys, [token, tagOf(meta), refMember]));
      if (word === 'ok' || word === 'missing' || word === 'changed' || word === 'closed') {
        return word;
      }
      throw new VaultError('internal');
    },
    async dropSad(kid, token, meta, newMeta) {
      const bucket = place(kid, token);
      const keys = [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)];
      const word = text(await redis.run(dropSad, keys, [tagOf(meta), newMeta]));
      if (word === 'ok' || word === 'missing' || word === 'changed') {
        return word;
      }
      throw new VaultError('internal');
    },
    async positions(bucket, after, upTo, limit) {
      return toPositions(
        await redis.command('ZRANGE', [
          redisKeys.times(bucket),
          `(${after}`,
          upTo,
          'BYSCORE',
          'LIMIT',
          0,
          limit,
          'WITHSCORES',
        ]),
      );
    },
    async countItems(kid) {
      const counts = await Promise.all(
        Array.from({ length: buckets }, (_, number) =>
          redis.command('ZCARD', [redisKeys.times({ kid, number })]),
        ),
      );
      return counts.map(count).reduce((sum, n) => sum + n, 0);
    },
    async newest(bucket) {
      return (
        toPositions(await redis.command('ZRANGE', [redisKeys.times(bucket), -1, -1, 'WITHSCORES']))[0]
          ?.storedAt ?? 0
      );
    },
    positionsByReference,
    async readLogUp(kid, token, first, last) {
      const names = Array.from({ length: last - first + 1 }, (_, i) => first + i);
      const found = list(await redis.command('HMGET', [redisKeys.item(place(kid, token), token), ...names]));
      const end = found.indexOf(null);
      return (end < 0 ? found : found.slice(0, end)).map(bytes);
    },
    async readLog(kid, token, from, to) {
      const names: number[] = [];
      for (let n = from; n >= to; n--) {
        names.push(n);
      }
      if (names.length === 0) {
        return [];
      }
      const key = redisKeys.item(place(kid, token), token);
      return list(await redis.command('HMGET', [key, ...names])).map(bytes);
    },
  };
}
