import { VaultError } from '../../core/errors.ts';
import { type RedisLink, script } from '../../redis/client.ts';
import bucketPrelude from '../../redis/records/bucket-prelude.lua' with { type: 'text' };
import { asFenced, type Fenced, TAG_BYTES, tagOf } from '../../redis/records/fence.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import logPrelude from '../../redis/records/log-prelude.lua' with { type: 'text' };
import metadataPrelude from '../../redis/records/metadata-prelude.lua' with { type: 'text' };
import { type Bucket, bucketOf, bucketTag } from '../../redis/records/name.ts';
import outboxPrelude from '../../redis/records/outbox-prelude.lua' with { type: 'text' };
import type { MemberIndex } from '../../redis/records/scan.ts';
import {
  asBytes,
  asCount,
  asList,
  asOneOf,
  asOptionalBytes,
  asPairs,
  asText,
  asTime,
  isOk,
} from '../../redis/reply.ts';
import { type Argument, parseReply } from '../../redis/resp.ts';
import appendLogText from './append-log-n.lua' with { type: 'text' };
import completeLogsText from './complete-logs-n.lua' with { type: 'text' };
import dropSadText from './drop-sad-2.lua' with { type: 'text' };
import dueTokensText from './due-tokens-1.lua' with { type: 'text' };
import expireItemsText from './expire-items-n.lua' with { type: 'text' };
import removeItemsText from './remove-items-n.lua' with { type: 'text' };
import resealItemsText from './reseal-items-n.lua' with { type: 'text' };
import { wantRewrite } from './sad-rewrite.ts';
import writeItemsText from './write-items-n.lua' with { type: 'text' };

const writeItems = script(bucketPrelude, logPrelude, metadataPrelude, writeItemsText);
const appendLog = script(bucketPrelude, logPrelude, appendLogText);
const completeLogs = script(completeLogsText);
const dropSad = script(dropSadText);
const dueTokens = script(bucketPrelude, dueTokensText);
const expireItems = script(bucketPrelude, metadataPrelude, expireItemsText);
const removeItems = script(bucketPrelude, metadataPrelude, outboxPrelude, removeItemsText);
const resealItems = script(bucketPrelude, metadataPrelude, resealItemsText);

const NO_BYTES = Buffer.alloc(0);
/** The name of no count (see `Metering.fieldOf`), for writes that are not counted. */
const NO_COUNT = '';
/** The greatest number of earlier entries that an entry can name. */
const LOG_LENGTH_MAX = 0xffff_fffe;
/** Bytes of a page. */
const PAGE_BYTES_MAX = 4 * 1_024 * 1_024;
/** Buckets of a page that are read at once. Their replies are read in vain when items are too large. */
const BUCKETS_AT_ONCE = 4;
/** Members of an index that are read at once. */
const MEMBERS_STEP = 1_000;

/** The number of entries in a log, and the last 16 bytes of the newest one. */
export interface LogEnd {
  readonly logLength: number;
  readonly logTail: Buffer;
}

/** An item as stored in Redis, every part encrypted. */
export interface ItemParts extends LogEnd {
  /** Envelope and content of part 0. */
  readonly item: Buffer;
  readonly meta: Buffer;
  readonly sad: Buffer;
}

/** A new item, or the replacement of one. */
export interface ItemWrite {
  readonly token: string;
  readonly gen: number;
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly sad: Uint8Array;
  /** ms since 1970; 0 = never. */
  readonly sadExpiresAt: number;
  readonly refMember: Uint8Array;
  /** Preceded by the number and tail that it names, as every entry given to the store (see log-prelude.lua). */
  readonly logEntry: Uint8Array;
  /** The metadata that this write replaces; absent for a new item. */
  readonly replaces?: Uint8Array;
  readonly identity: Uint8Array;
  /** Identifies an idempotent request: a second write with the same seed succeeds without a change. */
  readonly seed?: string | undefined;
  /** ms since 1970. */
  readonly expiresAt?: number | undefined;
  /** Entries of the metadata index, see `metadataDigest`. */
  readonly digests?: Uint8Array | undefined;
  /** Whether the writer takes the key to have summaries; undefined where that does not matter. */
  readonly hasSummaries?: boolean | undefined;
}

/**
 * `clash`: the token belongs to another number; `changed`: the item is not the one to replace; `exists`: a new item must
 * name this log, and its entry names another one; `damaged`: the item's key holds something else.
 */
export type WriteOutcome =
  | Fenced
  /** `isRepeat`: its seed was written before, and nothing was written or counted. */
  | { readonly kind: 'ok'; readonly storedAt: number; readonly created: boolean; readonly isRepeat: boolean }
  | { readonly kind: 'clash' | 'changed' | 'damaged' }
  /** `isLive` is false once the item has expired. */
  | ({ readonly kind: 'exists'; readonly isLive: boolean } & LogEnd);

/** A token and its position in time order. */
export interface Position {
  readonly token: string;
  readonly storedAt: number;
}

/** Items of one bucket. */
export interface BucketTokens {
  readonly bucket: Bucket;
  readonly tokens: readonly string[];
}

/** The fields that `ItemStore.readMany` reads of each item. */
type PagePart = 'full' | 'meta' | 'log';

/** Concatenated log entries, and the end of each. */
interface PackedEntries {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
}

/** For each item, whether it still existed, with the log that its entry names, and its log has the entry. */
type AppendOutcome = Fenced | { readonly kind: 'appended'; readonly present: readonly boolean[] };

/** An item to delete, as it was read and checked. */
export interface ItemRemoval {
  readonly token: string;
  /** The last 16 bytes of its metadata, and of the first entry of its log (empty for none). */
  readonly metaTag: Uint8Array;
  readonly firstTag: Uint8Array;
  /** Proves that the service removes this log. */
  readonly proof: Uint8Array;
  /** Its member of the reference index, empty for none. */
  readonly refMember: Uint8Array;
}

/** An item that was sealed again. */
interface ItemReseal {
  readonly token: string;
  /** The last 16 bytes of the metadata that was read. */
  readonly tag: Uint8Array;
  /** Envelope and content of part 0. */
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  /** Empty for none. */
  readonly sad: Uint8Array;
  /** Its entries of the metadata index. */
  readonly digests: Uint8Array;
}

const REMOVED = ['ok', 'missing', 'changed', 'damaged'] as const;
const DROPPED = ['ok', 'missing', 'changed'] as const;

/** Items with their logs and indexes. Every write is one script on one bucket. */
export class ItemStore {
  /** Buckets in which this process may have changed a log since the last call of `takeMoved`. */
  private readonly moved = new Map<string, Bucket>();
  /** The same for the outboxes of events, since the last call of `takeChanged`. */
  private readonly changed = new Map<string, Bucket>();

  /** `buckets` is fixed for the life of the vault. With `isStreamed`, undelivered logs outlive their items. */
  constructor(
    private readonly redis: RedisLink,
    readonly buckets: number,
    private readonly isStreamed = false,
  ) {}

  bucketOf(kid: string, token: string): Bucket {
    return bucketOf(kid, token, this.buckets);
  }

  async write(kid: string, item: ItemWrite, count = NO_COUNT): Promise<WriteOutcome> {
    const reply = await this.runWrite(this.bucketOf(kid, item.token), [item], count);
    const [word, outcome] = asList(reply);
    return isOk(word) ? asWriteOutcome(outcome) : asFenced(asText(word));
  }

  /** Writes items of one bucket and one generation, each with another token, in one step. Each written one is counted. */
  async writeMany(
    bucket: Bucket,
    writes: readonly ItemWrite[],
    count = NO_COUNT,
  ): Promise<readonly WriteOutcome[]> {
    const [word, ...outcomes] = asList(await this.runWrite(bucket, writes, count));
    if (!isOk(word)) {
      const fenced = asFenced(asText(word));
      return writes.map(() => fenced);
    }
    return outcomes.map(asWriteOutcome);
  }

  /**
   * Reads the parts of an item in one step, without its fence; undefined if it does not exist. A write checks the fence; a
   * reader that neither writes nor appends to the log calls `fenceOf`.
   */
  async read(kid: string, token: string): Promise<ItemParts | undefined> {
    const one = { bucket: this.bucketOf(kid, token), tokens: [token] };
    const parts = await this.readParts(one);
    // An entry names the log that was read, so its end must be known.
    if (parts?.logTail.length !== 0) {
      return parts;
    }
    await this.completeLogs([one]);
    return this.readParts(one);
  }

  /** Completes the log fields of items that the first version wrote (see log-prelude.lua). */
  async completeLogs(buckets: readonly BucketTokens[]): Promise<void> {
    const complete = ({ bucket, tokens }: BucketTokens): Promise<unknown> => {
      const items = tokens.map((token) => redisKeys.item(bucket, token));
      return this.redis.run(completeLogs, items, []);
    };
    await Promise.all(buckets.map(complete));
  }

  /** Returns the state of a fence if requests that started under a generation may not continue. */
  async fenceOf(bucket: Bucket, gen: number): Promise<Fenced | undefined> {
    const checked = await this.appendLog(bucket, [], [], gen);
    return checked.kind === 'appended' ? undefined : checked;
  }

  /**
   * Reads metadata and end of the log, which outlive the expiry of an item. Rejects with `integrity_failed` if the log is shorter
   * than it was recorded, or one of them is missing.
   */
  async readTrace(kid: string, token: string) {
    const [meta, log, recorded] = await this.readFields(kid, token, ['m', 'n', 'r']);
    if (meta === null && log === null) {
      return undefined;
    }
    const end = readLogField(log);
    if (recorded !== null && asCount(recorded) > end.logLength) {
      throw new VaultError('integrity_failed');
    }
    return { meta: asBytes(meta), end };
  }

  /**
   * Reads the parts of many items, those of each bucket in one step, without fences. Returns for each bucket a list of lists in
   * RESP2: of item, metadata and log field (see log-prelude.lua) for each item, and then of the sensitive authentication data
   * of all; with `meta` of the metadata for each item; with `log` of metadata and first entry of the log. Missing parts are
   * null. Undefined when they are too many bytes.
   */
  async readMany(
    buckets: readonly BucketTokens[],
    part: PagePart,
  ): Promise<readonly Uint8Array[] | undefined> {
    const found: Buffer[] = [];
    let bytesLeft = PAGE_BYTES_MAX;
    for (let at = 0; at < buckets.length; at += BUCKETS_AT_ONCE) {
      const reads = buckets
        .slice(at, at + BUCKETS_AT_ONCE)
        .map((some) => this.redis.readTogether(readCommands(some, part), bytesLeft));
      for (const replies of await Promise.all(reads)) {
        bytesLeft -= replies?.length ?? Number.POSITIVE_INFINITY;
        found.push(replies ?? NO_BYTES);
      }
      if (bytesLeft < 0) {
        return undefined;
      }
    }
    return found;
  }

  /** Appends an entry to the log of one item, as `appendLog`. */
  appendOne(
    kid: string,
    token: string,
    entry: Uint8Array,
    gen?: number,
    count?: string,
    readAt?: number,
  ): Promise<AppendOutcome> {
    return this.appendLog(this.bucketOf(kid, token), [token], [entry], gen, count, readAt);
  }

  /**
   * Appends one entry to each item of a bucket, none where it is empty. Each appended one is counted. `readAt`: the time of the
   * entries, ms since 1970, if they are successful readings; these are listed over the account, see `ReadingStore`. Rejects with
   * `integrity_failed` if a log does not end where its field says.
   */
  async appendLog(
    bucket: Bucket,
    tokens: readonly string[],
    entries: readonly Uint8Array[] | PackedEntries,
    gen?: number,
    count = NO_COUNT,
    readAt?: number,
  ): Promise<AppendOutcome> {
    this.noteMoved(bucket);
    const keys = [
      redisKeys.fence(bucket),
      redisKeys.changedLogs(bucket),
      redisKeys.counts(bucket),
      redisKeys.readings(bucket),
      redisKeys.eventOutbox(bucket),
      ...tokens.map((token) => redisKeys.item(bucket, token)),
    ];
    const { bytes, ends } = 'ends' in entries ? entries : packEntries(entries);
    const args = [
      gen ?? '',
      count,
      readAt ?? '',
      bytes,
      ...(tokens.length === 1 ? [] : [littleEndian(ends)]),
    ];
    const [word, flags] = asList(await this.redis.run(appendLog, keys, args));
    if (!isOk(word)) {
      return asFenced(asText(word));
    }
    const characters = [...asText(flags)];
    if (characters.includes('2')) {
      throw new VaultError('integrity_failed');
    }
    return { kind: 'appended', present: characters.map((flag) => flag === '1') };
  }

  /**
   * Reads log entries `from` down to `to`, newest first, of the log that has had this end; undefined if the item has another log
   * now, or none. Rejects with `integrity_failed` if the log does not end there and has not grown.
   */
  async readLog(
    kid: string,
    token: string,
    { logLength, logTail }: LogEnd,
    [from, to]: readonly [from: number, to: number],
  ): Promise<readonly Buffer[] | undefined> {
    const numbers = Array.from({ length: Math.max(0, from - to + 1) }, (_, i) => from - i);
    const fields = ['n', logLength, logLength + 1, ...numbers];
    const [log, newest, after, ...entries] = await this.readFields(kid, token, fields);
    if (log === null) {
      return undefined;
    }
    const now = readLogField(log);
    const isSame = now.logLength === logLength && now.logTail.equals(logTail);
    // Items of the first version do not name their newest entry.
    const tail = asOptionalBytes(newest)?.subarray(logTail.length === 0 ? Infinity : -logTail.length);
    const isNamed = tail?.equals(logTail) === true;
    if (isSame && (!isNamed || after !== null)) {
      throw new VaultError('integrity_failed');
    }
    return isSame || (isNamed && now.logLength > logLength) ? entries.map(asBytes) : undefined;
  }

  /** Reads log entries `first` to `last`, oldest first; the result ends before the first missing entry. */
  async readLogUp(kid: string, token: string, first: number, last: number): Promise<readonly Buffer[]> {
    const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    const found = await this.readFields(kid, token, numbers);
    const end = found.indexOf(null);
    return (end < 0 ? found : found.slice(0, end)).map(asBytes);
  }

  /** Tells whether one of the last writes of an item had this seed. */
  async hasSeed(kid: string, token: string, seed: string): Promise<boolean> {
    const [seeds] = await this.readFields(kid, token, ['s']);
    return seeds != null && asText(seeds).split(',').includes(seed);
  }

  /** Returns the buckets in which this process may have changed a log since the last call. */
  takeMoved(): readonly Bucket[] {
    const taken = [...this.moved.values()];
    this.moved.clear();
    return taken;
  }

  /** Returns the buckets whose outboxes of events this process may have added to since the last call. */
  takeChanged(): readonly Bucket[] {
    const taken = [...this.changed.values()];
    this.changed.clear();
    return taken;
  }

  /**
   * Deletes items of one bucket with their logs, each independently of the others; each deleted one is counted. `closed`: a deletion of the key is in
   * progress, and nothing was deleted. Otherwise for each item, `changed`: it is not the one that was read; `damaged`: it
   * cannot be deleted as it is. Without the sealed `cause` of its event a deletion has none.
   */
  async remove(
    bucket: Bucket,
    items: readonly ItemRemoval[],
    count = NO_COUNT,
    cause: Uint8Array = NO_BYTES,
  ): Promise<'closed' | readonly (typeof REMOVED)[number][]> {
    this.noteMoved(bucket);
    const keys = [
      redisKeys.times(bucket),
      redisKeys.references(bucket),
      redisKeys.fence(bucket),
      redisKeys.changedLogs(bucket),
      redisKeys.removedLogs(bucket),
      redisKeys.undelivered(bucket),
      redisKeys.outbox(bucket),
      redisKeys.metadata(bucket),
      redisKeys.expiries(bucket),
      redisKeys.counts(bucket),
      redisKeys.eventOutbox(bucket),
      ...items.flatMap(({ token }) => [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)]),
    ];
    const args: Argument[] = [this.isStreamed ? '1' : '', count, cause];
    for (const { token, metaTag, firstTag, proof, refMember } of items) {
      args.push(token, metaTag, firstTag, proof, refMember);
    }
    const reply = await this.redis.run(removeItems, keys, args);
    return Array.isArray(reply)
      ? asList(reply).map((word) => asOneOf(word, REMOVED))
      : asOneOf(reply, ['closed']);
  }

  /**
   * Replaces the sealed parts and the metadata index of items of one bucket that are still what was read; returns their number,
   * or the fence.
   */
  async reseal(
    bucket: Bucket,
    { gen, summary }: { readonly gen: number; readonly summary: boolean },
    items: readonly ItemReseal[],
  ): Promise<number | Fenced['kind']> {
    const keys = [
      redisKeys.fence(bucket),
      redisKeys.metadata(bucket),
      ...items.flatMap(({ token }) => [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)]),
    ];
    const args = items.flatMap(({ token, tag, item, meta, sad, digests }) => [
      ...[token, tag, item, meta, sad, digests],
    ]);
    const [word, replaced] = asList(await this.redis.run(resealItems, keys, [gen, Number(summary), ...args]));
    return isOk(word) ? asCount(replaced) : asFenced(asText(word)).kind;
  }

  /** Deletes the sensitive authentication data of an item and replaces its metadata. */
  async dropSad(kid: string, token: string, meta: Uint8Array, newMeta: Uint8Array) {
    const bucket = this.bucketOf(kid, token);
    const keys = [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)];
    const act = () => this.redis.run(dropSad, keys, [tagOf(meta), newMeta]);
    return asOneOf(await wantRewrite(this.redis, tagOf(newMeta).toHex(), act), DROPPED);
  }

  /**
   * Returns `limit` tokens that have expired by `now`, ms since 1970, and by the clock of Redis. With `logsKept`, the time in ms
   * for which logs are kept after an expiry, those whose log is due.
   */
  async dueTokens(
    bucket: Bucket,
    now: number,
    logsKept: number | undefined,
    skip: number,
    limit: number,
  ): Promise<readonly string[]> {
    const args = [now, logsKept ?? '', skip, limit];
    const reply = await this.redis.runUnreplicated(dueTokens, [redisKeys.expiries(bucket)], args);
    return asList(reply).map(asText);
  }

  /** Removes items that have expired by the clock of Redis, except their logs; returns their number. */
  async expire(bucket: Bucket, items: readonly ItemRemoval[]): Promise<number> {
    this.noteMoved(bucket);
    const keys = [
      redisKeys.fence(bucket),
      redisKeys.times(bucket),
      redisKeys.references(bucket),
      redisKeys.metadata(bucket),
      redisKeys.expiries(bucket),
      redisKeys.eventOutbox(bucket),
      ...items.flatMap(({ token }) => [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)]),
    ];
    const args = items.flatMap(({ token, metaTag, refMember }) => [token, metaTag, refMember]);
    return asCount(await this.redis.run(expireItems, keys, args));
  }

  /** Returns the number of tokens of a key, over all buckets. */
  async countItems(kid: string): Promise<number> {
    const counts = await Promise.all(
      Array.from({ length: this.buckets }, (_, number) =>
        this.redis.command('ZCARD', [redisKeys.times({ kid, number })]),
      ),
    );
    return counts.map(asCount).reduce((sum, n) => sum + n, 0);
  }

  /** Returns the newest `storedAt` of a bucket; 0 if it is empty. */
  async newest(bucket: Bucket): Promise<number> {
    return (await this.readPositions(bucket, [-1, -1]))[0]?.storedAt ?? 0;
  }

  /** Returns positions from `after` (exclusive) to `upTo` (inclusive) in ascending order. */
  positions(bucket: Bucket, after: number, upTo: number, limit: number): Promise<readonly Position[]> {
    return this.readPositions(bucket, [`(${after}`, upTo, 'BYSCORE', 'LIMIT', 0, limit]);
  }

  /** Returns positions of the tokens whose member of an index starts with `prefix`, unordered, in chunks. */
  async *positionsByMember(
    bucket: Bucket,
    index: MemberIndex,
    prefix: Uint8Array,
  ): AsyncGenerator<readonly Position[]> {
    const key = redisKeys[index](bucket);
    const end = lexEnd(prefix);
    let start = Buffer.concat([Buffer.from('['), prefix]);
    for (;;) {
      const range = [key, start, end, 'BYLEX', 'LIMIT', 0, MEMBERS_STEP];
      const members = asList(await this.redis.command('ZRANGE', range)).map(asBytes);
      if (members.length > 0) {
        yield await this.positionsOf(bucket, members.map(tokenOfMember));
      }
      const last = members.at(-1);
      if (members.length < MEMBERS_STEP || last === undefined) {
        return;
      }
      start = Buffer.concat([Buffer.from('('), last]);
    }
  }

  /** Returns positions of the tokens that expire before a time, ms since 1970, unordered, in chunks; some twice. */
  async *positionsByExpiry(bucket: Bucket, before: number): AsyncGenerator<readonly Position[]> {
    // By time, and by offset only within one time: the sweep removes entries from the front meanwhile.
    for (let from = '0', at = 0; ; ) {
      const range = [redisKeys.expiries(bucket), from, `(${before}`, 'BYSCORE', 'LIMIT', at, MEMBERS_STEP];
      const due = asPairs(await this.redis.command('ZRANGE', [...range, 'WITHSCORES']));
      if (due.length > 0) {
        yield await this.positionsOf(
          bucket,
          due.map(([token]) => asText(token)),
        );
      }
      const [first, last] = [due[0], due.at(-1)].map((pair) => asText(pair?.[1] ?? ''));
      if (due.length < MEMBERS_STEP || last === undefined) {
        return;
      }
      at = last === first ? MEMBERS_STEP + (last === from ? at : 0) : 0;
      from = last;
    }
  }

  private async readParts(one: BucketTokens): Promise<ItemParts | undefined> {
    const replies = await this.redis.readTogether(readCommands(one, 'full'), Number.POSITIVE_INFINITY);
    const [parts, sads] = asList(replies && parseReply(replies));
    const [item, meta, log] = asList(parts);
    const [sad] = asList(sads);
    return item === null
      ? undefined
      : {
          item: asBytes(item),
          meta: asBytes(meta),
          sad: asOptionalBytes(sad) ?? NO_BYTES,
          ...readLogField(log),
        };
  }

  private runWrite(bucket: Bucket, writes: readonly ItemWrite[], count: string): Promise<unknown> {
    this.noteMoved(bucket);
    const keys = [
      redisKeys.fence(bucket),
      redisKeys.times(bucket),
      redisKeys.references(bucket),
      redisKeys.identities(bucket),
      redisKeys.changedLogs(bucket),
      redisKeys.metadata(bucket),
      redisKeys.expiries(bucket),
      redisKeys.counts(bucket),
      redisKeys.eventOutbox(bucket),
    ];
    const { gen = 0, hasSummaries } = writes[0] ?? {};
    const args: Argument[] = [gen, count, hasSummaries === undefined ? '' : Number(hasSummaries)];
    for (const write of writes) {
      const { token, replaces } = write;
      keys.push(redisKeys.item(bucket, token), redisKeys.sad(bucket, token));
      args.push(
        token,
        write.item,
        write.meta,
        write.sad,
        write.sadExpiresAt,
        write.refMember,
        write.logEntry,
        replaces === undefined ? NO_BYTES : tagOf(replaces),
        write.identity,
        write.seed ?? NO_BYTES,
        write.expiresAt ?? NO_BYTES,
        write.digests ?? NO_BYTES,
      );
    }
    return this.redis.run(writeItems, keys, args);
  }

  private noteMoved(bucket: Bucket): void {
    const name = bucketTag(bucket);
    this.moved.set(name, bucket);
    this.changed.set(name, bucket);
  }

  private async readFields(
    kid: string,
    token: string,
    fields: readonly (string | number)[],
  ): Promise<readonly unknown[]> {
    const key = redisKeys.item(this.bucketOf(kid, token), token);
    return fields.length === 0 ? [] : asList(await this.redis.command('HMGET', [key, ...fields]));
  }

  /** Returns positions of the time index, by a range of `ZRANGE`. */
  private async readPositions(bucket: Bucket, range: readonly (string | number)[]): Promise<Position[]> {
    const command = ['ZRANGE', redisKeys.times(bucket), ...range, 'WITHSCORES'];
    const replies = (await this.redis.readTogether([command], Number.POSITIVE_INFINITY)) ?? NO_BYTES;
    // A line for each of two lists, then two for each token, its length and itself, and two for its score.
    const lines = replies.toString('latin1').split('\r\n');
    const positions: Position[] = [];
    for (let i = 3; i + 2 < lines.length; i += 4) {
      positions.push({ token: lines[i] ?? '', storedAt: asTime(Number(lines[i + 2])) });
    }
    return positions;
  }

  /** Returns the positions of those of the tokens that the time index has. */
  async positionsOf(bucket: Bucket, tokens: readonly string[]): Promise<Position[]> {
    const scores = asList(await this.redis.command('ZMSCORE', [redisKeys.times(bucket), ...tokens]));
    return tokens.flatMap((token, i) => (scores[i] === null ? [] : [{ token, storedAt: asTime(scores[i]) }]));
  }
}

function asWriteOutcome(reply: unknown): WriteOutcome {
  const [word, first, second, third] = asList(reply);
  const kind = asText(word);
  switch (kind) {
    case 'ok':
      return { kind, storedAt: asTime(first), created: isOne(second), isRepeat: isOne(third) };
    case 'exists':
      return { kind, logLength: asCount(first), logTail: asBytes(second), isLive: isOne(third) };
    case 'clash':
    case 'changed':
    case 'damaged':
      return { kind };
    default:
      return asFenced(kind);
  }
}

function isOne(reply: unknown): boolean {
  return asCount(reply) === 1;
}

/** Reads the log field of an item (see log-prelude.lua): its length, and the last bytes of its newest entry. */
function readLogField(reply: unknown): LogEnd {
  const log = asBytes(reply);
  const tailAt = log.length > TAG_BYTES ? log.length - TAG_BYTES : log.length;
  const digits = log.toString('latin1', 0, tailAt);
  const logLength = Number(digits);
  if (!/^\d+$/.test(digits) || logLength > LOG_LENGTH_MAX) {
    throw new VaultError('integrity_failed');
  }
  return { logLength, logTail: log.subarray(tailAt) };
}

/** The fields of an item that a page has, see `ItemStore.readMany`. */
const FIELDS: Readonly<Record<PagePart, readonly string[]>> = {
  full: ['c', 'm', 'n'],
  meta: ['m'],
  log: ['m', '1'],
};

function readCommands({ bucket, tokens }: BucketTokens, part: PagePart): readonly (readonly string[])[] {
  const fields = FIELDS[part];
  const commands = tokens.map((token) => ['HMGET', redisKeys.item(bucket, token), ...fields]);
  if (part === 'full') {
    commands.push(['MGET', ...tokens.map((token) => redisKeys.sad(bucket, token))]);
  }
  return commands;
}

function packEntries(entries: readonly Uint8Array[]): PackedEntries {
  let end = 0;
  const ends = Uint32Array.from(entries, ({ length }) => {
    end += length;
    return end;
  });
  return { bytes: entries.length === 1 && entries[0] ? entries[0] : Buffer.concat(entries), ends };
}

function littleEndian(numbers: Uint32Array): Uint8Array {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [i, number] of numbers.entries()) {
    bytes.writeUInt32LE(number, 4 * i);
  }
  return bytes;
}

/** Returns the upper bound of a range of members that start with `prefix`. */
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

/** Returns the token of an index member, which ends with it and its length in two bytes. */
function tokenOfMember(member: Buffer): string {
  const end = member.length - 2;
  const start = end < 0 ? -1 : end - member.readUInt16BE(end);
  if (start < 0) {
    throw new VaultError('integrity_failed');
  }
  return member.toString('utf8', start, end);
}
