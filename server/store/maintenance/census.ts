import type { RecordKind } from '../records/kind.ts';
import type { Bucket, NameOwner } from '../records/name.ts';
import { RECORD_KINDS, type RecordKinds } from '../records/registry.ts';
import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/keys.ts';
import { bytes, list, text } from '../redis/reply.ts';
import { scanByMember, scanNames } from '../redis/scan.ts';

/** A key that is in Redis; `known` says what its name says, and is undefined for a name of no kind. */
export interface CountedKey {
  readonly key: string;
  readonly name: Buffer;
  readonly known: { readonly kind: RecordKind; readonly owner: NameOwner } | undefined;
}

/** A bucket's fence: the newest generation it knows, and until when it is closed, ms. */
export interface Fence {
  readonly gen: number;
  readonly closedUntil: number;
}

/** An entry of the reference index. */
export interface ReferenceEntry {
  readonly member: Buffer;
  readonly token: string;
}

/** Reads what no service reads: the names of all keys, indexes from behind, and fences. */
export interface CensusStore {
  /** All keys, some at a time. Throws where Redis forbids SCAN. */
  keys(): AsyncGenerator<readonly CountedKey[], void, void>;
  exists(name: Uint8Array): Promise<boolean>;
  /** Whether a key expires automatically, or is gone. */
  isExpiring(name: Uint8Array): Promise<boolean>;
  fence(bucket: Bucket): Promise<Fence>;
  references(bucket: Bucket): AsyncGenerator<readonly ReferenceEntry[], void, void>;
  /** Which of these the reference index has. */
  hasReferences(bucket: Bucket, members: readonly Uint8Array[]): Promise<readonly boolean[]>;
  /** Metadata of each item; empty where there is none. */
  metas(bucket: Bucket, tokens: readonly string[]): Promise<readonly Buffer[]>;
  /** Which of these tokens the time index has. */
  hasTimes(bucket: Bucket, tokens: readonly string[]): Promise<readonly boolean[]>;
  /** Which of these items there are. */
  hasItems(bucket: Bucket, tokens: readonly string[]): Promise<readonly boolean[]>;
}

const STEP = 500;

/** The first of these kinds that a key has the name of, and whose it is; undefined for a name of none. */
export function readName(kinds: readonly RecordKind[], key: string): CountedKey['known'] {
  for (const kind of kinds) {
    const owner = kind.name.read(key);
    if (owner) {
      return { kind, owner };
    }
  }
  return undefined;
}

/** The token at the end of a member, or '' where there is none. */
function tokenOf(member: Buffer): string {
  const end = member.length - 2;
  const start = end < 0 ? -1 : end - member.readUInt16BE(end);
  return start < 0 ? '' : member.toString('utf8', start, end);
}

async function* keysOf(
  redis: RedisLink,
  kinds: RecordKinds,
): AsyncGenerator<readonly CountedKey[], void, void> {
  const all: readonly RecordKind[] = Object.values(kinds);
  for await (const page of scanNames(redis)) {
    yield page.map((name) => ({ name, key: text(name), known: readName(all, text(name)) }));
  }
}

async function fenceOf(redis: RedisLink, bucket: Bucket): Promise<Fence> {
  const [gen, until] = list(await redis.command('HMGET', [redisKeys.fence(bucket), 'g', 'c']));
  return {
    gen: gen === null ? 1 : Number(text(gen)),
    closedUntil: until === null ? 0 : Number(text(until)),
  };
}

async function* referencesOf(
  redis: RedisLink,
  bucket: Bucket,
): AsyncGenerator<readonly ReferenceEntry[], void, void> {
  for await (const members of scanByMember(redis, redisKeys.references(bucket), STEP)) {
    yield members.map((member) => ({ member, token: tokenOf(member) }));
  }
}

async function areMembers(
  redis: RedisLink,
  key: string,
  members: readonly (string | Uint8Array)[],
): Promise<boolean[]> {
  return members.length === 0
    ? []
    : list(await redis.command('ZMSCORE', [key, ...members])).map((score) => score !== null);
}

async function metaOf(redis: RedisLink, bucket: Bucket, token: string): Promise<Buffer> {
  const meta = await redis.command('HGET', [redisKeys.item(bucket, token), 'm']);
  return meta === null ? Buffer.alloc(0) : bytes(meta);
}

/** The census of the kinds of a registry; of all that there are, unless told otherwise. */
export function createCensusStore(redis: RedisLink, kinds: RecordKinds = RECORD_KINDS): CensusStore {
  const exists = async (name: string | Uint8Array): Promise<boolean> =>
    (await redis.command('EXISTS', [name])) === 1;
  return {
    keys: () => keysOf(redis, kinds),
    exists,
    isExpiring: async (name) => (await redis.command('PTTL', [name])) !== -1,
    fence: (bucket) => fenceOf(redis, bucket),
    references: (bucket) => referencesOf(redis, bucket),
    hasReferences: (bucket, members) => areMembers(redis, redisKeys.references(bucket), members),
    metas: (bucket, tokens) => Promise.all(tokens.map((token) => metaOf(redis, bucket, token))),
    hasTimes: (bucket, tokens) => areMembers(redis, redisKeys.times(bucket), tokens),
    hasItems: (bucket, tokens) => Promise.all(tokens.map((token) => exists(redisKeys.item(bucket, token)))),
  };
}
