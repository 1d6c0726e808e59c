import { type RedisLink, script } from '../redis/client.ts';
import prelude from '../redis/records/bucket-prelude.lua' with { type: 'text' };
import { redisKeys } from '../redis/records/keys.ts';
import type { Bucket } from '../redis/records/name.ts';
import { scanByScore, scanHash } from '../redis/records/scan.ts';
import { asBytes, asCount, asList, asText } from '../redis/reply.ts';
import copyItemsText from './copy-items-n.lua' with { type: 'text' };
import copyKeysText from './copy-keys-n.lua' with { type: 'text' };
import forgetItemsText from './forget-items-n.lua' with { type: 'text' };

const copyItems = script(copyItemsText);
const forget = script(prelude, forgetItemsText);
const copyKeys = script(copyKeysText);

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

/** Some items; those of a later page may be there `again`, as they are now. */
export interface CopiedPage {
  readonly items: readonly CopiedItem[];
  readonly isAgain: boolean;
}

/** Reads what a backup contains, without changing anything. */
export interface CopyStore {
  /** Complete keys of one slot, as of one moment; missing keys are omitted. */
  readonly keys: (names: readonly string[]) => Promise<readonly CopiedKey[]>;
  /** Every item, or log of an expired one, that the bucket had at the call and that still exists when it is read. */
  readonly items: (bucket: Bucket) => AsyncGenerator<CopiedPage>;
  /** Fields and values of a hash, in pages. A field that exists throughout is returned at least once. */
  readonly fields: (key: string) => AsyncGenerator<readonly (string | Buffer)[]>;
  /** Members and scores of a sorted set that does not change, in pages. */
  readonly members: (key: string) => AsyncGenerator<readonly Buffer[]>;
}

const KINDS = ['hash', 'zset', 'set', 'string', 'list'] as const;

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

async function rangeOf(
  redis: RedisLink,
  key: string,
  args: readonly (string | number)[],
): Promise<readonly Buffer[]> {
  return asList(await redis.command('ZRANGE', [key, ...args]))
    .flat()
    .map(argumentOf);
}

/** Tokens that are behind a position in time order. */
async function tokensBehind(redis: RedisLink, key: string, position: string) {
  const flat = await rangeOf(redis, key, [`(${position}`, '+inf', 'BYSCORE', 'WITHSCORES']);
  const newest = flat.at(-1)?.toString() ?? position;
  return { tokens: flat.filter((_, i) => i % 2 === 0).map(asText), newest };
}

/**
 * Tokens of a bucket, and whether one may have come before. One that is written meanwhile moves to the end and is read
 * there; one that expires leaves the time index for the expiries, one that is stored anew comes back to the end.
 */
async function* tokensOf(
  redis: RedisLink,
  bucket: Bucket,
): AsyncGenerator<{ readonly tokens: readonly string[]; readonly isAgain: boolean }> {
  const key = redisKeys.times(bucket);
  const [, newest] = await rangeOf(redis, key, [-1, -1, 'WITHSCORES']);
  if (newest !== undefined) {
    for await (const tokens of scanByScore(redis, key, PAGE_TOKENS, newest.toString())) {
      yield { tokens, isAgain: false };
    }
  }
  const moved = await tokensBehind(redis, key, newest?.toString() ?? '-inf');
  yield { tokens: moved.tokens, isAgain: true };
  for await (const tokens of scanByScore(redis, redisKeys.expiries(bucket), PAGE_TOKENS, '(0')) {
    yield { tokens, isAgain: true };
  }
  const { tokens } = await tokensBehind(redis, key, moved.newest);
  yield { tokens, isAgain: true };
}

async function readItems(
  redis: RedisLink,
  bucket: Bucket,
  tokens: readonly string[],
): Promise<readonly (readonly CopiedItem[])[]> {
  const keys = [
    redisKeys.times(bucket),
    redisKeys.expiries(bucket),
    ...tokens.map((token) => redisKeys.item(bucket, token)),
    ...tokens.map((token) => redisKeys.sad(bucket, token)),
  ];
  const replies = asList(await redis.runUnreplicated(copyItems, keys, [PAGE_BYTES, ...tokens]));
  return replies.map((reply, at) => copiedItems(tokens[at] ?? '', reply));
}

async function* itemsOf(redis: RedisLink, bucket: Bucket): AsyncGenerator<CopiedPage> {
  for await (const { tokens, isAgain } of tokensOf(redis, bucket)) {
    for (let at = 0; at < tokens.length; ) {
      const page = await readItems(redis, bucket, tokens.slice(at, at + PAGE_ITEMS));
      at += page.length;
      yield { items: page.flat(), isAgain };
    }
  }
}

/** Removes what was restored of items of a bucket: tokens, and their members of the reference index, empty for none. */
export async function forgetItems(
  redis: RedisLink,
  bucket: Bucket,
  items: readonly { readonly token: string; readonly member: Uint8Array }[],
): Promise<void> {
  const keys = [
    redisKeys.times(bucket),
    redisKeys.references(bucket),
    redisKeys.metadata(bucket),
    redisKeys.expiries(bucket),
    ...items.flatMap(({ token }) => [redisKeys.item(bucket, token), redisKeys.sad(bucket, token)]),
  ];
  await redis.run(
    forget,
    keys,
    items.flatMap(({ token, member }) => [token, member]),
  );
}

async function* fieldsOf(redis: RedisLink, key: string): AsyncGenerator<readonly (string | Buffer)[]> {
  for await (const page of scanHash(redis, key, PAGE_FIELDS)) {
    yield page.flatMap(({ field, value }) => [field, value]);
  }
}

async function* membersOf(redis: RedisLink, key: string): AsyncGenerator<readonly Buffer[]> {
  for (let at = 0; ; at += PAGE_FIELDS) {
    const page = await rangeOf(redis, key, [at, at + PAGE_FIELDS - 1, 'WITHSCORES']);
    yield page;
    if (page.length < 2 * PAGE_FIELDS) {
      return;
    }
  }
}

/** The reads of a backup on one Redis. */
export function createCopyStore(redis: RedisLink): CopyStore {
  return {
    async keys(names) {
      const replies = asList(await redis.runUnreplicated(copyKeys, names, []));
      return replies.flatMap((reply, at) => copiedKeys(names[at] ?? '', reply));
    },
    items: (bucket) => itemsOf(redis, bucket),
    fields: (key) => fieldsOf(redis, key),
    members: (key) => membersOf(redis, key),
  };
}
