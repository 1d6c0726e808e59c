import type { RedisLink } from '../redis/client.ts';
import { type Bucket, redisKeys } from '../redis/keys.ts';
import { bytes, list, text } from '../redis/reply.ts';
import { canScan, scanNames, scanSet } from '../redis/scan.ts';

/** What a key's name says of whose it is. */
export type KeyName =
  | { readonly kind: 'account'; readonly aid: string; readonly rest: string }
  | { readonly kind: 'item' | 'sad' | 'bucket'; readonly bucket: Bucket; readonly token: string }
  | { readonly kind: 'endpoint' | 'form'; readonly id: string }
  | { readonly kind: 'table'; readonly version: string }
  /** One of a kind, or one that goes by itself. */
  | { readonly kind: 'known' }
  | { readonly kind: 'foreign' };

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

/** Looks at what no service looks at: indexes from behind, fences, and names of keys. */
export interface CensusStore {
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
  /** Whether an endpoint or a form is no reservation; undefined when there is nothing of the id. */
  owner(kind: 'endpoint' | 'form', id: string): Promise<{ readonly aid: string | undefined } | undefined>;
  /** Whether a key goes by itself, or is gone. */
  isPassing(name: Uint8Array): Promise<boolean>;
  exists(name: Uint8Array): Promise<boolean>;
  goneAccounts(): AsyncGenerator<readonly string[], void, void>;
  canScan(): Promise<boolean>;
  /** All key names with what they say. */
  names(): AsyncGenerator<readonly { readonly name: Buffer; readonly of: KeyName }[], void, void>;
}

const STEP = 500;
const SINGLES: ReadonlySet<string> = new Set([
  redisKeys.installation,
  redisKeys.accounts,
  redisKeys.goneAccounts,
  redisKeys.binVersion,
  redisKeys.servers,
  redisKeys.auditChains,
  redisKeys.compliance,
]);

const BUCKET_KINDS: Readonly<Record<string, 'item' | 'sad'>> = { i: 'item', s: 'sad' };

function bucketName(kid: string, number: number, rest: string): KeyName {
  const kind = BUCKET_KINDS[rest.charAt(0)];
  const bucket = { kid, number };
  if (kind !== undefined) {
    return { kind, bucket, token: rest.slice(1) };
  }
  return 'trfx'.includes(rest) && rest.length === 1
    ? { kind: 'bucket', bucket, token: '' }
    : { kind: 'foreign' };
}

/** What the name of a key says; a name that no part of the vault gives is foreign. */
export function keyNameOf(name: string): KeyName {
  const [, tag = '', rest = ''] = /^\{([^}]*)\}(.*)$/s.exec(name) ?? [];
  if (SINGLES.has(name) || tag === 'jobs') {
    return { kind: 'known' };
  }
  // A security log outlives its account, and the operator's is no account's: `vault audit verify` looks at them.
  if (rest === 'log' && tag.startsWith('a:')) {
    return { kind: 'known' };
  }
  const [, lead = '', id = ''] = /^([a-z]):(.+)$/s.exec(tag) ?? [];
  if (lead === 'a') {
    return { kind: 'account', aid: id, rest };
  }
  if ((lead === 'e' || lead === 'h') && rest === '') {
    return { kind: lead === 'e' ? 'endpoint' : 'form', id };
  }
  if (['d', 'f', 's'].includes(lead) && rest === '') {
    return { kind: 'known' };
  }
  if (tag === 'bin' && rest.startsWith('t:')) {
    return { kind: 'table', version: rest.slice(2) };
  }
  const [, kid = '', number = ''] = /^(.+)\.(\d+)$/s.exec(tag) ?? [];
  return kid === '' ? { kind: 'foreign' } : bucketName(kid, Number(number), rest);
}

/** The token at the end of a member, or '' where there is none. */
function tokenOf(member: Buffer): string {
  const end = member.length - 2;
  const start = end < 0 ? -1 : end - member.readUInt16BE(end);
  return start < 0 ? '' : member.toString('utf8', start, end);
}

export function createCensusStore(redis: RedisLink): CensusStore {
  const scores = async (key: string, members: readonly (string | Uint8Array)[]): Promise<boolean[]> =>
    members.length === 0
      ? []
      : list(await redis.command('ZMSCORE', [key, ...members])).map((score) => score !== null);

  return {
    async fence(bucket) {
      const [gen, until] = list(await redis.command('HMGET', [redisKeys.fence(bucket), 'g', 'c']));
      return {
        gen: gen === null ? 1 : Number(text(gen)),
        closedUntil: until === null ? 0 : Number(text(until)),
      };
    },
    async *references(bucket) {
      const key = redisKeys.references(bucket);
      let start: Buffer | string = '-';
      for (;;) {
        const args = [key, start, '+', 'BYLEX', 'LIMIT', 0, STEP];
        const members = list(await redis.command('ZRANGE', args)).map(bytes);
        if (members.length > 0) {
          yield members.map((member) => ({ member, token: tokenOf(member) }));
        }
        const last = members.at(-1);
        if (members.length < STEP || last === undefined) {
          return;
        }
        start = Buffer.concat([Buffer.from('('), last]);
      }
    },
    hasReferences: (bucket, members) => scores(redisKeys.references(bucket), members),
    metas: (bucket, tokens) =>
      Promise.all(
        tokens.map(async (token) => {
          const meta = await redis.command('HGET', [redisKeys.item(bucket, token), 'm']);
          return meta === null ? Buffer.alloc(0) : bytes(meta);
        }),
      ),
    hasTimes: (bucket, tokens) => scores(redisKeys.times(bucket), tokens),
    hasItems: (bucket, tokens) =>
      Promise.all(
        tokens.map(async (token) => (await redis.command('EXISTS', [redisKeys.item(bucket, token)])) === 1),
      ),
    async owner(kind, id) {
      const [nonce, aid] = list(await redis.command('HMGET', [redisKeys[kind](id), 'n', 'a']));
      return nonce === null ? undefined : { aid: aid === null ? undefined : text(aid) };
    },
    isPassing: async (name) => (await redis.command('PTTL', [name])) !== -1,
    exists: async (name) => (await redis.command('EXISTS', [name])) === 1,
    goneAccounts: () => scanSet(redis, redisKeys.goneAccounts),
    canScan: () => canScan(redis),
    async *names() {
      for await (const page of scanNames(redis)) {
        yield page.map((name) => ({ name, of: keyNameOf(text(name)) }));
      }
    },
  };
}
