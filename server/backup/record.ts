import type { Stored } from '../redis/records/kind.ts';
import { asText } from '../redis/reply.ts';

/**
 * The kinds of records; the position is the byte in the file, so the order must not change. The first five are a
 * Redis key or a part of one: fields and values, members and scores, members, the value, or elements. `orphan` (key:
 * account id, part: key id) and `gone` (key: account id) name what was deleted during the copy, and `end` has the
 * counts as JSON. `again` (key: number of a bucket, parts: key id, then alternating tokens and members of the
 * reference index) names items that may have come before; the following records replace them.
 */
const BACKUP_KINDS = ['hash', 'zset', 'set', 'string', 'list', 'orphan', 'gone', 'end', 'again'] as const;

/** One record of a backup. `expiresAt` is in ms since 1970; 0 = never. */
export interface BackupRecord {
  readonly kind: (typeof BACKUP_KINDS)[number];
  /** The name of the Redis key, or an id. */
  readonly key: string;
  readonly expiresAt: number;
  /** The value, in the order that the kind defines. */
  readonly parts: readonly Uint8Array[];
}

/** Makes a record; by default it does not expire. */
export function recordOf(
  kind: BackupRecord['kind'],
  key: string,
  values: readonly (string | number | Uint8Array)[],
  expiresAt = 0,
): BackupRecord {
  const parts = values.map((value) => (value instanceof Uint8Array ? value : Buffer.from(String(value))));
  return { kind, key, expiresAt, parts };
}

/** Returns the fields of a hash by name. */
export function fieldsOf(parts: readonly Buffer[]): Stored {
  return new Map(parts.flatMap((part, at) => (at % 2 === 0 ? [[String(part), parts[at + 1] ?? part]] : [])));
}

/** The fixed part before the key, see `encodeRecord`. */
const HEAD_BYTES = 17;

/**
 * Encodes a record: `kind 1 | expiry 8 | key length 4 | parts 4 | key | length 4 and bytes of each part`, numbers
 * big-endian.
 */
export function encodeRecord({ kind, key, expiresAt, parts }: BackupRecord): Buffer {
  const name = Buffer.from(key);
  const size = parts.reduce((sum, part) => sum + 4 + part.length, HEAD_BYTES + name.length);
  const out = Buffer.allocUnsafe(size);
  out.writeUInt8(BACKUP_KINDS.indexOf(kind), 0);
  out.writeBigUInt64BE(BigInt(expiresAt), 1);
  out.writeUInt32BE(name.length, 9);
  out.writeUInt32BE(parts.length, 13);
  let at = HEAD_BYTES + name.copy(out, HEAD_BYTES);
  for (const part of parts) {
    at = out.writeUInt32BE(part.length, at);
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Decodes the records of one frame. Throws a RangeError for malformed bytes, which no authenticated frame contains. */
export function* decodeRecords(frame: Uint8Array): Generator<BackupRecord> {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) {
      throw new RangeError('record');
    }
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const head = take(HEAD_BYTES);
    const kind = BACKUP_KINDS[head.readUInt8(0)];
    if (kind === undefined) {
      throw new RangeError('record kind');
    }
    const expiresAt = Number(head.readBigUInt64BE(1));
    const count = head.readUInt32BE(13);
    const key = asText(take(head.readUInt32BE(9)));
    const parts = Array.from({ length: count }, () => take(take(4).readUInt32BE(0)));
    yield { kind, key, expiresAt, parts };
  }
}
