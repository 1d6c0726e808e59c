/**
 * Names of keys in Redis, and their parsers. Keys that one script changes share a hash tag, so that the same
 * names work on a Redis Cluster: the tag of a bucket is `{kid.bucket}`, that of an account `{a:aid}`.
 */
import { createHash } from 'node:crypto';

/** One of the partitions over which the items of a vault key are spread. */
export interface Bucket {
  readonly kid: string;
  readonly number: number;
}

/** The owner that the name of a key contains; missing parts are empty. In a bucket the id is a token. */
export interface NameOwner {
  readonly aid: string;
  readonly id: string;
  readonly bucket: Bucket;
}

/** `make` builds a name. `read` is its inverse, and returns undefined for any other name. */
interface NameOf<Scope extends string, Make> {
  readonly scope: Scope;
  readonly make: Make;
  readonly read: (key: string) => NameOwner | undefined;
}

/** The name of a kind of key of which each account has one, or one for each id. */
export type AccountName = NameOf<'account', (aid: string, id: string) => string>;

/** The name of a kind of key. A key belongs to the vault, an account or a bucket, or is found by its id alone. */
export type Name =
  | NameOf<'vault', string>
  | NameOf<'vault' | 'id', (id: string) => string>
  | AccountName
  | NameOf<'bucket', (bucket: Bucket, token: string) => string>;

/** Markers that no name contains. Their positions in a sample name define how names of its kind are parsed. */
const [AID, ID, BUCKET] = ['\u0001', '\u0002', { kid: '\u0003', number: 0 }];

/** The inverse of the function that built the sample. */
function readerOf(sample: string): Name['read'] {
  const pattern = sample
    .replaceAll(/[{}]/g, '\\$&')
    .replace(AID, '(?<aid>[^{}]*)')
    .replace(`${ID}\\}`, '(?<id>[^{}]+)\\}')
    .replace(ID, '(?<id>.*)')
    .replace(`${BUCKET.kid}.0`, '(?<kid>[^{}]+)\\.(?<number>\\d+)');
  const expression = new RegExp(`^${pattern}$`, 's');
  return (key) => {
    const found = expression.exec(key);
    const { aid = '', id = '', kid = '', number = '' } = found?.groups ?? {};
    return found ? { aid, id, bucket: { kid, number: Number(number) } } : undefined;
  };
}

/** `{tag}rest`: one key of the vault. */
export function vaultName(tag: string, rest = ''): NameOf<'vault', string> {
  const make = `{${tag}}${rest}`;
  return { scope: 'vault', make, read: readerOf(make) };
}

/** `{tag}rest…`: keys of the vault with an id. */
export function vaultNames(tag: string, rest: string): NameOf<'vault', (id: string) => string> {
  const make = (id: string): string => `{${tag}}${rest}${id}`;
  return { scope: 'vault', make, read: readerOf(make(ID)) };
}

/** `{letter:ID}`: a key that is found by its id alone. */
export function idName(letter: string): NameOf<'id', (id: string) => string> {
  const make = (id: string): string => `{${letter}:${id}}`;
  return { scope: 'id', make, read: readerOf(make(ID)) };
}

/** `{letter:TAG}…`: keys with an id of two parts, `TAG.REST`; those with the same tag are in one slot. */
export function idNames(letter: string): NameOf<'id', (id: string) => string> {
  const expression = new RegExp(`^\\{${letter}:([^{}]+)\\}(.*)$`, 's');
  return {
    scope: 'id',
    make: (id) => {
      const [tag = '', ...rest] = id.split('.');
      return `{${letter}:${tag}}${rest.join('.')}`;
    },
    read: (key) => {
      const [, tag, rest = ''] = expression.exec(key) ?? [];
      const id = rest === '' ? tag : `${tag}.${rest}`;
      return id === undefined ? undefined : { aid: '', id, bucket: { kid: '', number: 0 } };
    },
  };
}

/** `{a:AID}rest`: one key of each account. */
export function accountName(rest: string): NameOf<'account', (aid: string) => string> {
  const make = (aid: string): string => `{a:${aid}}${rest}`;
  return { scope: 'account', make, read: readerOf(make(AID)) };
}

/** `{a:AID}rest…`: keys of an account with an id. */
export function accountNames(rest: string): AccountName {
  const make = (aid: string, id: string): string => `{a:${aid}}${rest}${id}`;
  return { scope: 'account', make, read: readerOf(make(AID, ID)) };
}

/** The bucket of the last name, and its tag: a command names one bucket by many keys. */
let lastBucket: Bucket = { kid: '', number: 0 };
let lastTag = '{.0}';

/** `{KID.B}`, by which a Cluster keeps the keys of a bucket together. */
export function bucketTag(bucket: Bucket): string {
  const { kid, number } = bucket;
  if (kid !== lastBucket.kid || number !== lastBucket.number) {
    lastBucket = bucket;
    lastTag = `{${kid}.${number}}`;
  }
  return lastTag;
}

/** `{KID.B}rest`: one key of each bucket. */
export function bucketName(rest: string): NameOf<'bucket', (bucket: Bucket) => string> {
  const make = (bucket: Bucket): string => bucketTag(bucket) + rest;
  return { scope: 'bucket', make, read: readerOf(make(BUCKET)) };
}

/** `{KID.B}rest…`: keys of a bucket with a token; with an empty token their common prefix. */
export function bucketNames(rest: string): NameOf<'bucket', (bucket: Bucket, token: string) => string> {
  const make = (bucket: Bucket, token: string): string => bucketTag(bucket) + rest + token;
  return { scope: 'bucket', make, read: readerOf(make(BUCKET, ID)) };
}

/** The name of a key that is in no bucket. Throws a RangeError for a kind of bucket keys. */
export function keyOf({ scope, make }: Name, aid: string, id: string): string {
  if (scope === 'bucket') {
    throw new RangeError('a key of a bucket');
  }
  return typeof make === 'string' ? make : scope === 'account' ? make(aid, id) : make(id);
}

/** The bucket of a token: FNV-1a over its characters, fixed for the life of the vault. */
export function bucketOf(kid: string, token: string, buckets: number): Bucket {
  let hash = 0x811c9dc5;
  for (let i = 0; i < token.length; i++) {
    hash ^= token.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return { kid, number: (hash >>> 0) % buckets };
}

/** 128 bits of a SHA-256 in base64url: a name of fixed length for a text that callers choose. */
export function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url').slice(0, 22);
}
