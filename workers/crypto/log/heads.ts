/**
 * Heads of item logs: the length of each log when it was last recorded, and the tag of its entry of that number. A bucket
 * keeps the sum of its heads, an account the sum of its buckets, and a signed checkpoint names the account's.
 *
 * A sum is the XOR of HMAC-SHA-256 terms under a key of the root, so that one head can be replaced in it, and it is
 * sealed, so that no difference of terms can be read: without both, heads that cancel each other out could be found.
 * All keys derive from the root, and stay when the master key is rotated.
 *
 * Sealed by `sealMessage` with a record header of type 22: a bucket `version 8 | logs 8 | sum 32`, an account's mark
 * `epoch 8 | keys 8 | logs 8 | sum 32 | link 32`. In clear, covered by the mark: a key's buckets,
 * `logs 8`, then for each bucket `version 4 | last 16 bytes of its record`.
 */
import { aad, type Field } from '../primitives/aad.ts';
import {
  checkHeader,
  equalBytes,
  HEADER_BYTES,
  IntegrityError,
  readBytes,
  readU32,
  readU64,
  TYPE,
  writeHeader,
  writeU32,
  writeU64,
} from '../primitives/bytes.ts';
import {
  HASH_BYTES,
  hmac,
  MESSAGE_EXTRA_BYTES,
  openMessage,
  sealMessage,
  TAG_BYTES,
} from '../primitives/symmetric.ts';

/** One log at one length. */
export interface LogHead {
  /** Tag of its first entry, which distinguishes it from an earlier log of the same token. */
  readonly first: Uint8Array;
  readonly length: number;
  /** Tag of entry number `length`. */
  readonly tag: Uint8Array;
}

interface HeadSum {
  readonly logs: number;
  readonly sum: Uint8Array;
}

/** The recorded heads of a bucket; each change has the next version. */
interface BucketHeads extends HeadSum {
  readonly version: number;
}

/** The recorded heads of an account; each change has the next epoch. */
interface HeadsMark extends HeadSum {
  readonly epoch: number;
  readonly keys: number;
  /** Names this mark and all before it. */
  readonly link: Uint8Array;
}

/** The heads before the first record of a bucket. */
export const NO_BUCKET_HEADS: BucketHeads = { version: 0, logs: 0, sum: new Uint8Array(HASH_BYTES) };
/** The mark before the first one of an account. */
const NO_HEADS_MARK: HeadsMark = {
  epoch: 0,
  keys: 0,
  logs: 0,
  sum: NO_BUCKET_HEADS.sum,
  link: NO_BUCKET_HEADS.sum,
};

const BUCKET_BYTES = 8 + 8 + HASH_BYTES;
const MARK_BYTES = 3 * 8 + 2 * HASH_BYTES;
const SUM_AT = 3 * 8;
const ENTRY_BYTES = 4 + TAG_BYTES;
const ENTRIES_AT = 8;

/** The sum with one term more, or, if it is in it, one less. */
export function xorTerm(sum: Uint8Array, term: Uint8Array): Uint8Array {
  return sum.map((byte, i) => byte ^ (term[i] ?? 0));
}

/** The term of a log in the sum of its bucket. */
export function headTerm(key: Uint8Array, kid: string, token: string, head: LogHead): Uint8Array {
  const { first, length, tag } = head;
  return hmac(key, aad('cardvault log head', [kid, token, first, length, tag]));
}

/** The term of a vault key in the sum of its account. */
export function keyTerm(key: Uint8Array, kid: string, buckets: Uint8Array): Uint8Array {
  return hmac(key, aad('cardvault key heads', [kid, buckets]));
}

/** The proof, 16 bytes, that the service removes the log that begins with the entry of tag `first`. */
export function logRemovalProof(key: Uint8Array, kid: string, token: string, first: Uint8Array): Uint8Array {
  return hmac(key, aad('cardvault log removed', [kid, token, first])).slice(0, TAG_BYTES);
}

/** The proof, 16 bytes, that the service deletes a vault key. */
export function keyRemovalProof(key: Uint8Array, kid: string): Uint8Array {
  return hmac(key, aad('cardvault key removed', [kid])).slice(0, TAG_BYTES);
}

function seal(key: Uint8Array, label: string, fields: readonly Field[], plain: Uint8Array): Uint8Array {
  const header = new Uint8Array(HEADER_BYTES);
  writeHeader(header, TYPE.heads);
  return sealMessage(key, header, plain, aad(label, [header, ...fields]));
}

function open(
  key: Uint8Array,
  label: string,
  fields: readonly Field[],
  record: Uint8Array,
  bytes: number,
): Uint8Array {
  checkHeader(record, TYPE.heads, HEADER_BYTES + MESSAGE_EXTRA_BYTES + bytes);
  const associated = aad(label, [record.subarray(0, HEADER_BYTES), ...fields]);
  const plain = openMessage(key, HEADER_BYTES, record, associated);
  if (plain.length !== bytes) {
    throw new IntegrityError('log heads');
  }
  return plain;
}

const BUCKET_LABEL = 'cardvault bucket heads';
const MARK_LABEL = 'cardvault heads mark';

export function sealBucketHeads(
  key: Uint8Array,
  kid: string,
  bucket: number,
  { version, logs, sum }: BucketHeads,
): Uint8Array {
  const plain = new Uint8Array(BUCKET_BYTES);
  writeU64(plain, 0, version);
  writeU64(plain, 8, logs);
  plain.set(sum, 16);
  return seal(key, BUCKET_LABEL, [kid, bucket], plain);
}

/** Opens the heads of a bucket; an empty record means none. Rejects all else with `IntegrityError`. */
export function openBucketHeads(
  key: Uint8Array,
  kid: string,
  bucket: number,
  record: Uint8Array,
): BucketHeads {
  if (record.length === 0) {
    return NO_BUCKET_HEADS;
  }
  const plain = open(key, BUCKET_LABEL, [kid, bucket], record, BUCKET_BYTES);
  return {
    version: readU64(plain, 0),
    logs: readU64(plain, 8),
    sum: readBytes(plain, 16, HASH_BYTES),
  };
}

/** Seals the mark that follows another one; its epoch and its link follow from that. */
export function sealHeadsMark(
  key: Uint8Array,
  before: HeadsMark,
  next: Pick<HeadsMark, 'keys' | 'logs' | 'sum'>,
): Uint8Array {
  const plain = new Uint8Array(MARK_BYTES);
  writeU64(plain, 0, before.epoch + 1);
  writeU64(plain, 8, next.keys);
  writeU64(plain, 16, next.logs);
  plain.set(next.sum, SUM_AT);
  const body = plain.subarray(0, SUM_AT + HASH_BYTES);
  plain.set(hmac(key, aad('cardvault heads link', [before.link, body])), SUM_AT + HASH_BYTES);
  return seal(key, MARK_LABEL, [], plain);
}

/** Opens the mark of an account with that account's key; an empty record means none. Errors as `openBucketHeads`. */
export function openHeadsMark(key: Uint8Array, record: Uint8Array): HeadsMark {
  if (record.length === 0) {
    return NO_HEADS_MARK;
  }
  const plain = open(key, MARK_LABEL, [], record, MARK_BYTES);
  return {
    epoch: readU64(plain, 0),
    keys: readU64(plain, 8),
    logs: readU64(plain, 16),
    sum: readBytes(plain, SUM_AT, HASH_BYTES),
    link: readBytes(plain, SUM_AT + HASH_BYTES, HASH_BYTES),
  };
}

/** The buckets of a key as an account keeps them: the version of each, and the tag of its record. */
export function encodeBuckets(
  logs: number,
  entries: readonly { readonly version: number; readonly tag: Uint8Array }[],
): Uint8Array {
  const out = new Uint8Array(ENTRIES_AT + entries.length * ENTRY_BYTES);
  writeU64(out, 0, logs);
  for (const [i, { version, tag }] of entries.entries()) {
    writeU32(out, ENTRIES_AT + i * ENTRY_BYTES, version);
    out.set(tag, ENTRIES_AT + i * ENTRY_BYTES + 4);
  }
  return out;
}

/** The logs in the buckets of a key, by `encodeBuckets`; none for empty bytes. */
export function logsOfBuckets(buckets: Uint8Array): number {
  return buckets.length === 0 ? 0 : readU64(buckets, 0);
}

/**
 * Checks that a bucket is at least as new as in its account's record: the record named there, or one of a later version.
 * Empty bytes name none.
 */
export function isBucketCurrent(
  buckets: Uint8Array,
  bucket: number,
  heads: BucketHeads,
  record: Uint8Array,
): boolean {
  const at = ENTRIES_AT + bucket * ENTRY_BYTES;
  if (buckets.length === 0) {
    return true;
  }
  const version = readU32(buckets, at);
  const tag = readBytes(buckets, at + 4, TAG_BYTES);
  return heads.version > version || (heads.version === version && equalBytes(tag, tagOfRecord(record)));
}

/** The last 16 bytes of a record; zeros for an empty one. */
export function tagOfRecord(record: Uint8Array): Uint8Array {
  return record.length === 0 ? new Uint8Array(TAG_BYTES) : record.slice(-TAG_BYTES);
}
