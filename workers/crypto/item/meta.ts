/**
 * An item's metadata: a service record that pins the stored parts by their SHA-256, so that an attacker who can
 * write to the store cannot put a forged or older part in place of the one that was stored.
 *
 * Plaintext: `type 1 | gen 4 | revision 8 | SHA-256 of part 0 32 | flags 1 | [SHA-256 of part 1 32 | expiry in
 * ms 8] | [reference length 2 | reference] | [expiry of the item in ms 8] | [metadata length 4 | JSON] |
 * [summary length 4 | JSON] | [version 8]`, then zeros to the next multiple of 64.
 */
import {
  IntegrityError,
  readBytes,
  readU8,
  readU16,
  readU32,
  readU64,
  textOf,
  u16,
  u32,
  u64,
  utf8,
  writeU32,
} from '../primitives/bytes.ts';
import { HASH_BYTES } from '../primitives/symmetric.ts';
import type { KeyContext, ServiceSealer } from '../record/service-record.ts';

/** Names one item. */
export interface ItemContext extends KeyContext {
  readonly token: string;
}

/** Sensitive authentication data: its hash, and its expiry (ms since 1970; 0 = never). */
interface SadFacts {
  readonly hash: Uint8Array;
  readonly expiresAtMs: number;
}

/** Facts of an item that its owner reveals to the service. */
export interface ItemFacts {
  readonly reference?: string | undefined;
  /** Expiry of the item, ms since 1970. */
  readonly expiresAtMs?: number | undefined;
  /** JSON texts, see `server/domain`: `ItemMetadata`, and `CardSummary`. */
  readonly metadata?: string | undefined;
  readonly summary?: string | undefined;
}

export interface OpenedMeta extends ItemFacts {
  readonly gen: number;
  readonly revision: Uint8Array;
  /** SHA-256 of envelope and content of part 0. */
  readonly hash0: Uint8Array;
  readonly sad?: SadFacts | undefined;
  /** The version of the data, where the last write has not changed it; undefined: the revision. */
  readonly version?: Uint8Array | undefined;
}

/** The version of an item's data: another one for each write that may have changed it. */
export function versionOf({ version, revision }: OpenedMeta): Uint8Array {
  return version ?? revision;
}

/** Bytes of a revision: random, new at each write, so that parts of two writes cannot be mixed. */
export const REVISION_BYTES = 8;
/** The first byte of the plaintext; another layout would have another one. */
const PLAINTEXT_TYPE = 0x01;
/** Metadata is padded to a multiple of this, which hides the length of the reference. */
const STEP = 64;
/** Offsets of the fixed members; members from `OPTIONAL_AT` on exist if their flag is set. */
const GEN_AT = 1;
const REVISION_AT = 5;
const HASH_AT = REVISION_AT + REVISION_BYTES;
const FLAGS_AT = HASH_AT + HASH_BYTES;
const OPTIONAL_AT = FLAGS_AT + 1;
const HAS_SAD = 1;
const HAS_REFERENCE = 2;
const HAS_EXPIRY = 4;
const HAS_METADATA = 8;
const HAS_SUMMARY = 16;
const HAS_VERSION = 32;
const FLAGS = HAS_SAD | HAS_REFERENCE | HAS_EXPIRY | HAS_METADATA | HAS_SUMMARY | HAS_VERSION;
/** The most that two bytes of length can hold; requests allow far less. */
const REFERENCE_BYTES_MAX = 0xffff;

function paddedBytes(length: number): number {
  return Math.ceil(length / STEP) * STEP;
}

/** The plaintext. A reference of more than 65,535 bytes: RangeError. */
function encode(meta: OpenedMeta): Uint8Array {
  const { sad, expiresAtMs, metadata, summary } = meta;
  const parts: Uint8Array[] = [];
  let flags = 0;
  if (sad) {
    flags |= HAS_SAD;
    parts.push(sad.hash, u64(sad.expiresAtMs));
  }
  if (meta.reference !== undefined) {
    const reference = utf8(meta.reference);
    if (reference.length > REFERENCE_BYTES_MAX) {
      throw new RangeError('reference too long');
    }
    flags |= HAS_REFERENCE;
    parts.push(u16(reference.length), reference);
  }
  if (expiresAtMs !== undefined) {
    flags |= HAS_EXPIRY;
    parts.push(u64(expiresAtMs));
  }
  if (metadata !== undefined) {
    flags |= HAS_METADATA;
    const bytes = utf8(metadata);
    parts.push(u32(bytes.length), bytes);
  }
  if (summary !== undefined) {
    flags |= HAS_SUMMARY;
    const bytes = utf8(summary);
    parts.push(u32(bytes.length), bytes);
  }
  if (meta.version !== undefined) {
    flags |= HAS_VERSION;
    parts.push(meta.version);
  }
  let length = OPTIONAL_AT;
  for (const part of parts) {
    length += part.length;
  }
  const out = new Uint8Array(paddedBytes(length));
  out[0] = PLAINTEXT_TYPE;
  writeU32(out, GEN_AT, meta.gen);
  out.set(meta.revision, REVISION_AT);
  out.set(meta.hash0, HASH_AT);
  out[FLAGS_AT] = flags;
  let at = OPTIONAL_AT;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Reads a plaintext whose seal was opened. Rejects unknown flags and another length with `IntegrityError`. */
function decode(bytes: Uint8Array): OpenedMeta {
  const flags = readU8(bytes, FLAGS_AT);
  if (bytes[0] !== PLAINTEXT_TYPE || (flags & ~FLAGS) !== 0) {
    throw new IntegrityError('metadata');
  }
  let end = OPTIONAL_AT;
  const skip = (length: number): number => {
    end += length;
    return end - length;
  };
  const takeBytes = (length: number): Uint8Array => readBytes(bytes, skip(length), length);
  const takeText = (flag: number): string | undefined =>
    flags & flag ? textOf(takeBytes(readU32(bytes, skip(4)))) : undefined;
  const meta = {
    gen: readU32(bytes, GEN_AT),
    revision: readBytes(bytes, REVISION_AT, REVISION_BYTES),
    hash0: readBytes(bytes, HASH_AT, HASH_BYTES),
    sad: flags & HAS_SAD ? { hash: takeBytes(HASH_BYTES), expiresAtMs: readU64(bytes, skip(8)) } : undefined,
    reference: flags & HAS_REFERENCE ? textOf(takeBytes(readU16(bytes, skip(2)))) : undefined,
    expiresAtMs: flags & HAS_EXPIRY ? readU64(bytes, skip(8)) : undefined,
    metadata: takeText(HAS_METADATA),
    summary: takeText(HAS_SUMMARY),
    version: flags & HAS_VERSION ? takeBytes(REVISION_BYTES) : undefined,
  };
  if (bytes.length !== paddedBytes(end)) {
    throw new IntegrityError('metadata');
  }
  return meta;
}

/**
 * Seals an item's metadata for its place: environment, account, key id and token. Also used to seal it again when part 1
 * is dropped, or under another master key.
 */
export function sealMeta(sealer: ServiceSealer, ids: ItemContext, meta: OpenedMeta): Uint8Array {
  return sealer.seal('record', ids.aid, 'item', [ids.kid, ids.token], encode(meta));
}

/** Opens an item's metadata. Rejects damage and any other item's with `IntegrityError`. */
export function openMeta(sealer: ServiceSealer, ids: ItemContext, meta: Uint8Array): OpenedMeta {
  return decode(sealer.open('record', ids.aid, 'item', [ids.kid, ids.token], meta));
}
