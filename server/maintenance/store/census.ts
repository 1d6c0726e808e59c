import { type RedisLink, script } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { RecordKind } from '../../redis/records/kind.ts';
import metadataPrelude from '../../redis/records/metadata-prelude.lua' with { type: 'text' };
import type { Bucket, NameOwner } from '../../redis/records/name.ts';
import { RECORD_KINDS } from '../../redis/records/registry.ts';
import type { MemberIndex } from '../../redis/records/scan.ts';
import { scanByMember, scanByScore, scanNames } from '../../redis/records/scan.ts';
import { asBytes, asCount, asList, asText, isOk } from '../../redis/reply.ts';
import moveMetadataText from './move-metadata-2.lua' with { type: 'text' };
import moveReferenceText from './move-reference-2.lua' with { type: 'text' };

/** A key in Redis. `known` is read from its name; undefined for a name of no kind. */
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

const moveReference = script(moveReferenceText);
const moveMetadata = script(metadataPrelude, moveMetadataText);

const KINDS: readonly RecordKind[] = Object.values(RECORD_KINDS);

const STEP = 500;

/** Reads the names of all keys, index entries without their items, and fences, which services do not read. */
export class CensusStore {
  constructor(private readonly redis: RedisLink) {}

  /** Returns all keys, in pages. Throws if Redis forbids SCAN. */
  async *keys(): AsyncGenerator<readonly CountedKey[], void, void> {
    for await (const page of scanNames(this.redis)) {
      yield page.map((name) => ({ name, key: asText(name), known: readName(KINDS, asText(name)) }));
    }
  }

  async exists(name: string | Uint8Array): Promise<boolean> {
    return (await this.redis.command('EXISTS', [name])) === 1;
  }

  /** Returns whether a key expires automatically, or no longer exists. */
  async isExpiring(name: Uint8Array): Promise<boolean> {
    return (await this.redis.command('PTTL', [name])) !== -1;
  }

  /** Returns the fence of a bucket; an open one of generation 1 if it has none. */
  async fence(bucket: Bucket): Promise<Fence> {
    const [gen, until] = asList(await this.redis.command('HMGET', [redisKeys.fence(bucket), 'g', 'c']));
    return {
      gen: gen === null ? 1 : Number(asText(gen)),
      closedUntil: until === null ? 0 : Number(asText(until)),
    };
  }

  /** Returns all entries of an index whose members end with a token, in pages. */
  async *entries(bucket: Bucket, index: MemberIndex): AsyncGenerator<readonly IndexEntry[], void, void> {
    for await (const members of scanByMember(this.redis, redisKeys[index](bucket), STEP)) {
      yield members.map((member) => ({ member, token: tokenOf(member) }));
    }
  }

  async hasMembers(
    bucket: Bucket,
    index: MemberIndex,
    members: readonly Uint8Array[],
  ): Promise<readonly boolean[]> {
    const scores = await this.scores(redisKeys[index](bucket), members);
    return scores.map((score) => score !== null);
  }

  /** Returns tokens that are to expire, or have expired and keep their log, in pages. */
  expiries(bucket: Bucket): AsyncGenerator<readonly string[], void, void> {
    return scanByScore(this.redis, redisKeys.expiries(bucket), STEP);
  }

  /** Returns the expiries of tokens, ms since 1970: negative for expired ones that keep their log, 0 for none. */
  async expiriesOf(bucket: Bucket, tokens: readonly string[]): Promise<readonly number[]> {
    const scores = await this.scores(redisKeys.expiries(bucket), tokens);
    return scores.map((score) => (score === null ? 0 : asCount(score)));
  }

  /**
   * Replaces an entry by the item's own member, empty for none, or removes it. Returns false if the item has changed since
   * its metadata `meta` was read, empty for no item.
   */
  async moveReference(
    bucket: Bucket,
    { member, token }: IndexEntry,
    meta: Uint8Array,
    own: Uint8Array,
  ): Promise<boolean> {
    const keys = [redisKeys.item(bucket, token), redisKeys.references(bucket)];
    return isOk(await this.redis.run(moveReference, keys, [member, meta, own]));
  }

  /** Replaces the entries of an entry's item by `digests`, and removes the entry if it is none of them; as `moveReference`. */
  async moveMetadata(
    bucket: Bucket,
    { member, token }: IndexEntry,
    meta: Uint8Array,
    digests: Uint8Array,
  ): Promise<boolean> {
    const keys = [redisKeys.item(bucket, token), redisKeys.metadata(bucket)];
    return isOk(await this.redis.run(moveMetadata, keys, [member, meta, token, digests]));
  }

  /** Returns the metadata of each item; empty if there is none, or only its log is left. */
  metas(bucket: Bucket, tokens: readonly string[]): Promise<readonly Buffer[]> {
    return Promise.all(tokens.map((token) => this.meta(bucket, token)));
  }

  /** Returns which of these tokens are in the time index, or have expired and kept their log. */
  async hasTimes(bucket: Bucket, tokens: readonly string[]): Promise<readonly boolean[]> {
    const [times, expiries] = await Promise.all([
      this.scores(redisKeys.times(bucket), tokens),
      this.expiriesOf(bucket, tokens),
    ]);
    return tokens.map((_, i) => times[i] !== null || (expiries[i] ?? 0) < 0);
  }

  hasItems(bucket: Bucket, tokens: readonly string[]): Promise<readonly boolean[]> {
    return Promise.all(tokens.map((token) => this.exists(redisKeys.item(bucket, token))));
  }

  /** Returns the scores of members; null for those that are not there. */
  private async scores(key: string, members: readonly (string | Uint8Array)[]): Promise<readonly unknown[]> {
    return members.length === 0 ? [] : asList(await this.redis.command('ZMSCORE', [key, ...members]));
  }

  private async meta(bucket: Bucket, token: string): Promise<Buffer> {
    const item = redisKeys.item(bucket, token);
    const [meta, hasContent] = await Promise.all([
      this.redis.command('HGET', [item, 'm']),
      this.redis.command('HEXISTS', [item, 'c']),
    ]);
    return meta === null || hasContent !== 1 ? Buffer.alloc(0) : asBytes(meta);
  }
}

/** The first of these kinds that matches the name of a key, with the owner in the name; undefined for other names. */
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
