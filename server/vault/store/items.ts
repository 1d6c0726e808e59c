import { VaultError } from '../../core/errors.ts';
import { type RedisLink, script } from '../../redis/client.ts';
import prelude from '../../redis/records/bucket-prelude.lua' with { type: 'text' };
import { asFenced, type Fenced, TAG_BYTES, tagOf } from '../../redis/records/fence.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { type Bucket, bucketOf } from '../../redis/records/name.ts';
import type { MemberIndex } from '../../redis/records/scan.ts';
import { asBytes, asCount, asList, asOneOf, asOptionalBytes, asText, asTime } from '../../redis/reply.ts';
import { CommandWriter } from '../../redis/resp.ts';
import dropSadText from './drop-sad-2.lua' with { type: 'text' };
import { type DueTokens, dueTokens, type ExpiredItem, expire } from './expiry.ts';
import { type AppendOutcome, append, type PackedEntries } from './log.ts';
import { type PagePart, type Place, readMany } from './page.ts';
import { type Position, positionsByExpiry, positionsByMember, readPositions } from './position.ts';
import readItemText from './read-item-4.lua' with { type: 'text' };
import { type ItemRemoval, type RemoveOutcome, removeItems } from './removal.ts';
import { wantRewrite } from './sad-rewrite.ts';
import { createKept } from './shared.ts';
import { type ItemWrite, type WriteOutcome, writeMany } from './write.ts';

const readItem = script(prelude, readItemText);
const dropSad = script(dropSadText);

const NO_BYTES = Buffer.alloc(0);
/** What an entry can name as the number of those before it. */
const LOG_LENGTH_MAX = 0xffff_fffe;

/** An item as stored in Redis, every part encrypted. */
export interface ItemParts {
  /** Envelope and content of part 0. */
  readonly item: Buffer;
  readonly meta: Buffer;
  readonly sad: Buffer;
  /** Entries in the log, and the last 16 bytes of the newest one. */
  readonly logLength: number;
  readonly logTail: Buffer;
}

/** An item with its position in time order, read in one step. */
export interface StoredItem extends ItemParts {
  readonly kind: 'item';
  readonly storedAt: number;
}

type DropOutcome = 'ok' | 'missing' | 'changed';

/** Items with their logs and indexes. Every write is one script on one bucket. */
export interface ItemStore {
  readonly buckets: number;
  bucketOf(kid: string, token: string): Bucket;
  write(kid: string, write: ItemWrite): Promise<WriteOutcome>;
  /** The same for items of one bucket and one generation, in one step; each of another token. */
  writeMany(bucket: Bucket, writes: readonly ItemWrite[]): Promise<readonly WriteOutcome[]>;
  /**
   * The parts of an item without its fence, and not in one step: they may belong to two versions, which do not open
   * together. Undefined if the item does not exist, or has to be read by `read`. Only for readers that append to the log
   * before they show anything: that checks fence and existence.
   */
  readParts(kid: string, token: string): Promise<ItemParts | undefined>;
  /** What an item has left, though it may have expired: its metadata, and the length of its log. */
  readTrace(kid: string, token: string): Promise<Pick<ItemParts, 'meta' | 'logLength'> | undefined>;
  /** Tokens whose time is over, or the time of what their expiry has left. */
  dueTokens(bucket: Bucket, wanted: DueTokens): Promise<readonly string[]>;
  /** Leaves nothing but their logs of items that have expired; gives their number. */
  expire(bucket: Bucket, items: readonly ExpiredItem[]): Promise<number>;
  /** Undefined if the item does not exist. Without `gen` the fence is not checked. */
  read(kid: string, token: string, gen?: number): Promise<Fenced | StoredItem | undefined>;
  /**
   * The parts of many items, as `readParts` but unread: in RESP2, for each item a list of item, metadata and log field (see
   * prelude.lua) and a list of the sensitive authentication data; with `meta` one list of the metadata; with `log` one of
   * metadata and first entry of the log. What is missing is null or empty. Undefined when they are too many bytes.
   */
  readMany(kid: string, places: readonly Place[], part: PagePart): Promise<Uint8Array | undefined>;
  /** The same, each item in one step, as `read`. */
  readManyAgain(
    kid: string,
    places: readonly Place[],
    gen: number,
  ): Promise<Fenced | { readonly kind: 'items'; readonly replies: Uint8Array }>;
  /** Appends one entry to each item, none where it is empty; all items are in one bucket. */
  appendLog(
    bucket: Bucket,
    tokens: readonly string[],
    entries: readonly Uint8Array[] | PackedEntries,
    gen?: number,
  ): Promise<AppendOutcome>;
  /** Deletes items of one bucket with their logs, each on its own. */
  remove(bucket: Bucket, items: readonly ItemRemoval[]): Promise<RemoveOutcome>;
  /** Deletes the sensitive authentication data of an item and replaces its metadata. */
  dropSad(kid: string, token: string, meta: Uint8Array, newMeta: Uint8Array): Promise<DropOutcome>;
  /** Positions from `after` (exclusive) to `upTo` (inclusive) in ascending order. */
  positions(bucket: Bucket, after: number, upTo: number, limit: number): Promise<readonly Position[]>;
  /** The newest `storedAt` of a bucket; 0 if it is empty. */
  newest(bucket: Bucket): Promise<number>;
  /** The number of tokens of a key, over all buckets. */
  countItems(kid: string): Promise<number>;
  /** Positions of the tokens whose member of an index starts with `prefix`, unordered, in chunks. */
  positionsByMember(
    bucket: Bucket,
    index: MemberIndex,
    prefix: Uint8Array,
  ): AsyncGenerator<readonly Position[]>;
  /** Positions of the tokens that expire before a time, ms since 1970, unordered, in chunks. */
  positionsByExpiry(bucket: Bucket, before: number): AsyncGenerator<readonly Position[]>;
  /** Log entries `first` to `last`, oldest first; the result ends before the first missing entry. */
  readLogUp(kid: string, token: string, first: number, last: number): Promise<readonly Buffer[]>;
  /** Buckets in which this process may have changed a log since the last call. */
  takeMoved(): readonly Bucket[];
  /** Log entries `from` down to `to`, newest first. */
  readLog(kid: string, token: string, from: number, to: number): Promise<readonly Buffer[]>;
}

async function read(
  redis: RedisLink,
  bucket: Bucket,
  token: string,
  gen: number | undefined,
): Promise<Fenced | StoredItem | undefined> {
  const keys = [
    redisKeys.item(bucket, token),
    redisKeys.sad(bucket, token),
    redisKeys.times(bucket),
    redisKeys.fence(bucket),
  ];
  const [word, item, meta, logLength, logTail, storedAt, sad] = asList(
    await redis.runUnreplicated(readItem, keys, [token, gen ?? '']),
  );
  switch (asText(word)) {
    case 'ok':
      return {
        kind: 'item',
        item: asBytes(item),
        meta: asBytes(meta),
        sad: asBytes(sad),
        logLength: asCount(logLength),
        logTail: asBytes(logTail),
        storedAt: asTime(storedAt),
      };
    case 'missing':
      return undefined;
    default:
      return asFenced(asText(word));
  }
}

/** The log field of an item (see prelude.lua): its length, and the last bytes of its newest entry. */
function readLogField(log: Buffer): Pick<ItemParts, 'logLength' | 'logTail'> {
  const tailAt = log.length > TAG_BYTES ? log.length - TAG_BYTES : log.length;
  const digits = asText(log.subarray(0, tailAt));
  const logLength = Number(digits);
  if (!/^\d+$/.test(digits) || logLength > LOG_LENGTH_MAX) {
    throw new VaultError('integrity_failed');
  }
  return { logLength, logTail: log.subarray(tailAt) };
}

async function readTrace(redis: RedisLink, bucket: Bucket, token: string) {
  const [meta, log] = asList(await redis.command('HMGET', [redisKeys.item(bucket, token), 'm', 'n']));
  return meta === null || log === null
    ? undefined
    : { meta: asBytes(meta), logLength: readLogField(asBytes(log)).logLength };
}

async function readParts(redis: RedisLink, bucket: Bucket, token: string): Promise<ItemParts | undefined> {
  const [parts, sad] = await redis.readEach([
    ['HMGET', redisKeys.item(bucket, token), 'c', 'm', 'n'],
    ['GET', redisKeys.sad(bucket, token)],
  ]);
  const [item, meta, log] = asList(parts);
  // A log whose last entry must be looked up (see prelude.lua) is read by the script.
  if (!Buffer.isBuffer(item) || !Buffer.isBuffer(log) || log.length <= TAG_BYTES) {
    return undefined;
  }
  const { logLength, logTail } = readLogField(log);
  return { item, meta: asBytes(meta), sad: asOptionalBytes(sad) ?? NO_BYTES, logLength, logTail };
}

async function readManyAgain(
  redis: RedisLink,
  kid: string,
  places: readonly Place[],
  gen: number,
): Promise<Fenced | { readonly kind: 'items'; readonly replies: Uint8Array }> {
  const reads = places.map(({ token, bucket: number }) => read(redis, { kid, number }, token, gen));
  const writer = new CommandWriter();
  for (const found of await Promise.all(reads)) {
    if (found !== undefined && found.kind !== 'item') {
      return found;
    }
    const { item, meta, logLength = 0, logTail = NO_BYTES, sad = NO_BYTES } = found ?? {};
    writer.add([item ?? NO_BYTES, meta ?? NO_BYTES, Buffer.concat([Buffer.from(`${logLength}`), logTail])]);
    writer.add([sad]);
  }
  return { kind: 'items', replies: writer.take() };
}

function takeMoved(moved: Map<string, Bucket>): Bucket[] {
  const taken = [...moved.values()];
  moved.clear();
  return taken;
}

/** The items of one Redis. `buckets` is fixed for the life of the vault; with `isStreamed`, undelivered logs outlive their items. */
export function createItemStore(redis: RedisLink, buckets: number, isStreamed = false): ItemStore {
  const place = (kid: string, token: string): Bucket => bucketOf(kid, token, buckets);
  const moved = new Map<string, Bucket>();
  const kept = createKept();
  const readEntries = async (kid: string, token: string, numbers: readonly number[]) =>
    numbers.length === 0
      ? []
      : asList(await redis.command('HMGET', [redisKeys.item(place(kid, token), token), ...numbers]));

  const writeMoving: ItemStore['writeMany'] = (bucket, writes) => {
    moved.set(`${bucket.number} ${bucket.kid}`, bucket);
    return writeMany(redis, kept, bucket, writes);
  };

  return {
    buckets,
    bucketOf: place,
    async write(kid, item) {
      const [outcome] = await writeMoving(place(kid, item.token), [item]);
      return outcome ?? { kind: 'damaged' };
    },
    writeMany: writeMoving,
    readParts: (kid, token) => readParts(redis, place(kid, token), token),
    dueTokens: (bucket, wanted) => dueTokens(redis, bucket, wanted),
    expire: (bucket, items) => expire(redis, bucket, items),
    readTrace: (kid, token) => readTrace(redis, place(kid, token), token),
    read: (kid, token, gen) => read(redis, place(kid, token), token, gen),
    readMany: (kid, places, part) => readMany(redis, kid, places, part),
    readManyAgain: (kid, places, gen) => readManyAgain(redis, kid, places, gen),
    appendLog(bucket, tokens, entries, gen) {
      moved.set(`${bucket.number} ${bucket.kid}`, bucket);
      return append(redis, bucket, tokens, entries, gen);
    },
    takeMoved: () => takeMoved(moved),
    remove(bucket, items) {
      moved.set(`${bucket.number} ${bucket.kid}`, bucket);
      return removeItems(redis, bucket, items, isStreamed);
    },
    async dropSad(kid, token, meta, newMeta) {
      const bucket = place(kid, token);
      const keys = [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)];
      const act = () => redis.run(dropSad, keys, [tagOf(meta), newMeta]);
      return asOneOf(await wantRewrite(redis, tagOf(newMeta).toHex(), act), ['ok', 'missing', 'changed']);
    },
    positions: (bucket, after, upTo, limit) =>
      readPositions(redis, bucket, [`(${after}`, upTo, 'BYSCORE', 'LIMIT', 0, limit]),
    async countItems(kid) {
      const counts = await Promise.all(
        Array.from({ length: buckets }, (_, number) =>
          redis.command('ZCARD', [redisKeys.times({ kid, number })]),
        ),
      );
      return counts.map(asCount).reduce((sum, n) => sum + n, 0);
    },
    newest: async (bucket) => (await readPositions(redis, bucket, [-1, -1]))[0]?.storedAt ?? 0,
    positionsByMember: (bucket, index, prefix) => positionsByMember(redis, bucket, index, prefix),
    positionsByExpiry: (bucket, before) => positionsByExpiry(redis, bucket, before),
    async readLogUp(kid, token, first, last) {
      const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
      const found = await readEntries(kid, token, numbers);
      const end = found.indexOf(null);
      return (end < 0 ? found : found.slice(0, end)).map(asBytes);
    },
    async readLog(kid, token, from, to) {
      const numbers = Array.from({ length: Math.max(0, from - to + 1) }, (_, i) => from - i);
      return (await readEntries(kid, token, numbers)).map(asBytes);
    },
  };
}
