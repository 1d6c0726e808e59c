import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import metadataPrelude from '../redis/records/metadata-prelude.lua' with { type: 'text' };
import type { Bucket } from '../redis/records/name.ts';
import { scanByScore, scanDown, scanHash, scanNames } from '../redis/records/scan.ts';
import { asBytes, asCount, asList, asText } from '../redis/reply.ts';
import copyItemsText from './copy-items-n.lua' with { type: 'text' };
import copyKeysText from './copy-keys-n.lua' with { type: 'text' };
import forgetItemsText from './forget-items-n.lua' with { type: 'text' };

const copyItems = script(copyItemsText);
const copyKeys = script(copyKeysText);
const forgetItems = script(metadataPrelude, forgetItemsText);

/** Limits of one step, so that Redis is never blocked for long: items, bytes, tokens, and fields. */
const PAGE_ITEMS = 64;
const PAGE_BYTES = 512 * 1_024;
const PAGE_TOKENS = 4_096;
const PAGE_FIELDS = 1_000;

/** A Redis key with its complete value. `expiresAt` is in ms since 1970; 0 = never. */
export interface CopiedKey {
  readonly kind: 'hash' | 'zset' | 'set' | 'string' | 'list';
  readonly key: string;
  readonly expiresAt: number;
  /** Fields and values, members and scores, members, or the value. */
  readonly parts: readonly Buffer[];
}

/** An item with its log and indexes, as of one moment. */
export interface CopiedItem {
  readonly token: string;
  readonly storedAt: string;
  /** Its score among the expiries, negative, if it has expired and nothing but its log is left; else empty. */
  readonly expired: string;
  /** Encrypted sensitive authentication data; empty if the item has none. */
  readonly sad: Buffer;
  readonly sadExpiresAt: number;
  /** Fields and values of the item's hash. */
  readonly parts: readonly Buffer[];
}

const KINDS = ['hash', 'zset', 'set', 'string', 'list'] as const;

/** Reads what a backup contains, without changing anything, and removes items that a restore writes again. */
export class BackupStore {
  constructor(private readonly redis: RedisLink) {}

  /** Reads complete keys of one slot, as of one moment; missing keys are omitted. */
  async keys(names: readonly string[]): Promise<readonly CopiedKey[]> {
    const replies = asList(await this.redis.runUnreplicated(copyKeys, names, []));
    return replies.flatMap((reply, at) => copiedKeys(names[at] ?? '', reply));
  }

  /**
   * Reads every item, or log of an expired one, that the bucket had at the call and that still exists when it is read. With
   * `isAgain`, the items may have been on an earlier page, and are now as they are here.
   */
  async *items(
    bucket: Bucket,
  ): AsyncGenerator<{ readonly items: readonly CopiedItem[]; readonly isAgain: boolean }> {
    for await (const { tokens, isAgain } of this.tokensOf(bucket)) {
      for (let at = 0; at < tokens.length; ) {
        const page = await this.readItems(bucket, tokens.slice(at, at + PAGE_ITEMS));
        at += page.length;
        yield { items: page.flat(), isAgain };
      }
    }
  }

  /** Reads fields and values of a hash, in pages. A field that exists throughout is returned at least once. */
  async *fields(key: string): AsyncGenerator<readonly (string | Buffer)[]> {
    for await (const page of scanHash(this.redis, key, PAGE_FIELDS)) {
      yield page.flatMap(({ field, value }) => [field, value]);
    }
  }

  /** Reads members and scores of a sorted set whose members stay, in pages. */
  async *scored(key: string): AsyncGenerator<readonly (string | Buffer)[]> {
    for await (const page of scanDown(this.redis, key, { first: PAGE_FIELDS, max: PAGE_FIELDS })) {
      yield page.flatMap(([member, score]) => [member, String(score)]);
    }
  }

  /** Reads members and scores of a sorted set that does not change, in pages. */
  async *members(key: string): AsyncGenerator<readonly Buffer[]> {
    for (let at = 0; ; at += PAGE_FIELDS) {
      const page = await this.range(key, [at, at + PAGE_FIELDS - 1, 'WITHSCORES']);
      yield page;
      if (page.length < 2 * PAGE_FIELDS) {
        return;
      }
    }
  }

  /** Returns the names of all keys that match a pattern, in pages. Throws if Redis forbids SCAN. */
  names(pattern: string): AsyncGenerator<readonly Buffer[]> {
    return scanNames(this.redis, pattern);
  }

  /** Removes restored items of a bucket: alternating tokens and members of the reference index, empty for none. */
  async forget(bucket: Bucket, pairs: readonly Uint8Array[]): Promise<void> {
    const tokens = pairs.filter((_, at) => at % 2 === 0).map(String);
    const keys = [
      redisKeys.times(bucket),
      redisKeys.references(bucket),
      redisKeys.metadata(bucket),
      redisKeys.expiries(bucket),
      ...tokens.flatMap((token) => [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)]),
    ];
    await this.redis.run(forgetItems, keys, pairs);
  }

  /**
   * Returns tokens of a bucket; `isAgain` if one may have come before. A token that is written meanwhile moves to the end and
   * is read there; one that expires leaves the time index for the expiries, one that is stored anew returns to the end.
   */
  private async *tokensOf(
    bucket: Bucket,
  ): AsyncGenerator<{ readonly tokens: readonly string[]; readonly isAgain: boolean }> {
    const key = redisKeys.times(bucket);
    const newest = (await this.range(key, [-1, -1, 'WITHSCORES'])).at(1)?.toString();
    if (newest !== undefined) {
      for await (const tokens of scanByScore(this.redis, key, PAGE_TOKENS, newest)) {
        yield { tokens, isAgain: false };
      }
    }
    const moved = await this.tokensAfter(key, newest ?? '-inf');
    yield { tokens: moved.tokens, isAgain: true };
    for await (const tokens of scanByScore(this.redis, redisKeys.expiries(bucket), PAGE_TOKENS, '(0')) {
      yield { tokens, isAgain: true };
    }
    const { tokens } = await this.tokensAfter(key, moved.newest);
    yield { tokens, isAgain: true };
  }

  /** Returns tokens after a position in time order, and the position of the last. */
  private async tokensAfter(key: string, position: string) {
    const flat = await this.range(key, [`(${position}`, '+inf', 'BYSCORE', 'WITHSCORES']);
    const newest = flat.at(-1)?.toString() ?? position;
    return { tokens: flat.filter((_, i) => i % 2 === 0).map(asText), newest };
  }

  private async readItems(
    bucket: Bucket,
    tokens: readonly string[],
  ): Promise<readonly (readonly CopiedItem[])[]> {
    const keys = [
      redisKeys.times(bucket),
      redisKeys.expiries(bucket),
      ...tokens.map((token) => redisKeys.item(bucket, token)),
      ...tokens.map((token) => redisKeys.sad(bucket, token)),
    ];
    const replies = asList(await this.redis.runUnreplicated(copyItems, keys, [PAGE_BYTES, ...tokens]));
    return replies.map((reply, at) => copiedItems(tokens[at] ?? '', reply));
  }

  private async range(key: string, args: readonly (string | number)[]): Promise<readonly Buffer[]> {
    return asList(await this.redis.command('ZRANGE', [key, ...args]))
      .flat()
      .map(argumentOf);
  }
}

function argumentOf(part: unknown): Buffer {
  return typeof part === 'number' ? Buffer.from(String(part)) : asBytes(part);
}

function copiedKeys(key: string, reply: unknown): CopiedKey[] {
  const [type, expiry, parts] = asList(reply);
  const kind = KINDS.find((known) => known === asText(type));
  return kind === undefined
    ? []
    : // RESP3 nests each member with its score; RESP2 gives one flat list.
      [{ kind, key, expiresAt: Math.max(0, asCount(expiry)), parts: asList(parts).flat().map(argumentOf) }];
}

function copiedItems(token: string, reply: unknown): CopiedItem[] {
  const [time, sad, expiry, ...parts] = asList(reply);
  if (time === undefined) {
    return [];
  }
  const at = argumentOf(time).toString();
  const [storedAt, expired] = at.startsWith('-') ? ['', at] : [at, ''];
  const sadExpiresAt = Math.max(0, asCount(expiry));
  return [{ token, storedAt, expired, sad: asBytes(sad), sadExpiresAt, parts: parts.map(asBytes) }];
}
