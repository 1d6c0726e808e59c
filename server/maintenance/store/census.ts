import { type RedisLink, script } from '../../redis/client.ts';
import prelude from '../../redis/records/bucket-prelude.lua' with { type: 'text' };
import { redisKeys } from '../../redis/records/keys.ts';
import type { RecordKind } from '../../redis/records/kind.ts';
import type { Bucket, NameOwner } from '../../redis/records/name.ts';
import { RECORD_KINDS, type RecordKinds } from '../../redis/records/registry.ts';
import type { MemberIndex } from '../../redis/records/scan.ts';
import { scanByMember, scanByScore, scanNames } from '../../redis/records/scan.ts';
import { asBytes, asCount, asList, asText, isOk } from '../../redis/reply.ts';
import moveMetadataText from './move-metadata-2.lua' with { type: 'text' };
import moveReferenceText from './move-reference-2.lua' with { type: 'text' };

/** A key in Redis. `known` is what its name says; undefined for a name of no kind. */
export interface CountedKey {
  readonly key: string;
  /** The exact bytes of the name, for commands. */
  readonly name: Buffer;
  readonly known: { readonly kind: RecordKind; readonly owner: NameOwner } | undefined;
}

/** The fence of a bucket: its newest generation, and the time until which it is closed, ms. */
export interface Fence {
  readonly gen: number;
  readonly closedUntil: number;
}

/** An entry of an index; `token` is empty if the entry is malformed. */
export interface IndexEntry {
  readonly member: Buffer;
  readonly token: string;
}

/** An entry to be moved: the item's metadata that was read, empty for no item, and its own member, empty for none. */
export interface MovedReference extends IndexEntry {
  readonly meta: Uint8Array;
  readonly own: Uint8Array;
}

/** An entry of the metadata index to be moved: its item's metadata that was read, empty for no item, and its own digests. */
export interface MovedMetadata extends IndexEntry {
  readonly meta: Uint8Array;
  readonly digests: Uint8Array;
}

/** Reads what services do not read: the names of all keys, index entries without their items, and fences. */
export interface CensusStore {
  /** All keys, in pages. Throws if Redis forbids SCAN. */
  keys(): AsyncGenerator<readonly CountedKey[], void, void>;
  /** Whether a key exists. */
  exists(name: Uint8Array): Promise<boolean>;
  /** Whether a key expires automatically, or no longer exists. */
  isExpiring(name: Uint8Array): Promise<boolean>;
  /** The fence of a bucket; an open one of generation 1 if it has none. */
  fence(bucket: Bucket): Promise<Fence>;
  /** All entries of an index whose members end with a token, in pages. */
  entries(bucket: Bucket, index: MemberIndex): AsyncGenerator<readonly IndexEntry[], void, void>;
  /** Which of these members are in an index. */
  hasMembers(bucket: Bucket, index: MemberIndex, members: readonly Uint8Array[]): Promise<readonly boolean[]>;
  /** Tokens that are to expire, or have expired and keep their log, in pages. */
  expiries(bucket: Bucket): AsyncGenerator<readonly string[], void, void>;
  /** When these tokens are to expire, ms since 1970, negative for those that have and keep their log; 0 for the others. */
  expiriesOf(bucket: Bucket, tokens: readonly string[]): Promise<readonly number[]>;
  /** Replaces an entry by the item's own member, or removes it; false if the item has changed since it was read. */
  moveReference(bucket: Bucket, entry: MovedReference): Promise<boolean>;
  /** Replaces the entries of an entry's item by the item's own, and removes the entry if that is none of them; as above. */
  moveMetadata(bucket: Bucket, entry: MovedMetadata): Promise<boolean>;
  /** The metadata of each item; empty if there is none, or only its log is left. */
  metas(bucket: Bucket, tokens: readonly string[]): Promise<readonly Buffer[]>;
  /** Which of these tokens are in the time index, or have expired and kept their log. */
  hasTimes(bucket: Bucket, tokens: readonly string[]): Promise<readonly boolean[]>;
  /** Which of these items exist. */
  hasItems(bucket: Bucket, tokens: readonly string[]): Promise<readonly boolean[]>;
}

const moveReference = script(moveReferenceText);
const moveMetadata = script(prelude, moveMetadataText);

/** Members per page. */
const STEP = 500;

/**
 * The first of these kinds that matches the name of a key, with the owner that the name contains. Undefined for a
 * name of no kind.
 */
export function readName(kinds: readonly RecordKind[], key: string): CountedKey['known'] {
  for (const kind of kinds) {
    const owner = kind.name.read(key);
    if (owner) {
      return { kind, owner };
    }
  }
  return undefined;
}

/** The token at the end of a member, or '' if the member is malformed. */
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
    yield page.map((name) => ({ name, key: asText(name), known: readName(all, asText(name)) }));
  }
}

async function fenceOf(redis: RedisLink, bucket: Bucket): Promise<Fence> {
  const [gen, until] = asList(await redis.command('HMGET', [redisKeys.fence(bucket), 'g', 'c']));
  return {
    gen: gen === null ? 1 : Number(asText(gen)),
    closedUntil: until === null ? 0 : Number(asText(until)),
  };
}

async function* entriesOf(
  redis: RedisLink,
  bucket: Bucket,
  index: MemberIndex,
): AsyncGenerator<readonly IndexEntry[], void, void> {
  for await (const members of scanByMember(redis, redisKeys[index](bucket), STEP)) {
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
    : asList(await redis.command('ZMSCORE', [key, ...members])).map((score) => score !== null);
}

/** The scores of members; undefined for those that are not there. */
async function scoresOf(
  redis: RedisLink,
  key: string,
  members: readonly string[],
): Promise<(number | undefined)[]> {
  const scores = members.length === 0 ? [] : asList(await redis.command('ZMSCORE', [key, ...members]));
  return scores.map((score) => (score === null ? undefined : asCount(score)));
}

async function metaOf(redis: RedisLink, bucket: Bucket, token: string): Promise<Buffer> {
  const item = redisKeys.item(bucket, token);
  const [meta, hasContent] = await Promise.all([
    redis.command('HGET', [item, 'm']),
    redis.command('HEXISTS', [item, 'c']),
  ]);
  return meta === null || hasContent !== 1 ? Buffer.alloc(0) : asBytes(meta);
}

/** The census of the kinds of a registry, by default of all kinds. */
export function createCensusStore(redis: RedisLink, kinds: RecordKinds = RECORD_KINDS): CensusStore {
  const exists = async (name: string | Uint8Array): Promise<boolean> =>
    (await redis.command('EXISTS', [name])) === 1;
  return {
    keys: () => keysOf(redis, kinds),
    exists,
    isExpiring: async (name) => (await redis.command('PTTL', [name])) !== -1,
    fence: (bucket) => fenceOf(redis, bucket),
    entries: (bucket, index) => entriesOf(redis, bucket, index),
    hasMembers: (bucket, index, members) => areMembers(redis, redisKeys[index](bucket), members),
    expiries: (bucket) => scanByScore(redis, redisKeys.expiries(bucket), STEP),
    async expiriesOf(bucket, tokens) {
      const scores = await scoresOf(redis, redisKeys.expiries(bucket), tokens);
      return scores.map((score) => score ?? 0);
    },
    async moveReference(bucket, { member, token, meta, own }) {
      const keys = [redisKeys.item(bucket, token), redisKeys.references(bucket)];
      return isOk(await redis.run(moveReference, keys, [member, meta, own]));
    },
    async moveMetadata(bucket, { member, token, meta, digests }) {
      const keys = [redisKeys.item(bucket, token), redisKeys.metadata(bucket)];
      return isOk(await redis.run(moveMetadata, keys, [member, meta, token, digests]));
    },
    metas: (bucket, tokens) => Promise.all(tokens.map((token) => metaOf(redis, bucket, token))),
    async hasTimes(bucket, tokens) {
      const [isStored, left] = await Promise.all([
        areMembers(redis, redisKeys.times(bucket), tokens),
        scoresOf(redis, redisKeys.expiries(bucket), tokens),
      ]);
      return tokens.map((_, i) => isStored[i] === true || (left[i] ?? 0) < 0);
    },
    hasItems: (bucket, tokens) => Promise.all(tokens.map((token) => exists(redisKeys.item(bucket, token)))),
  };
}
