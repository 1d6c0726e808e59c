/**
 * An item's metadata: a service record that pins the stored parts by their SHA-256, so that an attacker who can
 * write to the store cannot put a forged or older part in place of the one that was stored.
 *
 * Plaintext: `type 1 | gen 4 | revision 8 | SHA-256 of part 0 32 | flags 1 | [SHA-256 of part 1 32 | expiry in
 * ms 8] | [reference length 2 | reference] | [expiry of the item in ms 8] | [metadata length 4 | JSON] |
 * [summary length 4 | JSON]`, then zeros to the next multiple of 64.
 */
import {
  IntegrityError,
  readBytes,
  readU8,
  readU32,
  readU64,
  textOf,
  utf8,
  writeU32,
  writeU64,
} from '../primitives/bytes.ts';
import { HASH_BYTES } from '../primitives/symmetric.ts';
import type { KeyContext, ServiceSealer } from '../record/service-record.ts';

/** Names one item. */
export interface ItemContext extends KeyContext {
  readonly token: string;
}

/** What is known of sensitive authentication data: its hash, and when it may go (ms since 1970; 0 = never). */
export interface SadFacts {
  readonly hash: Uint8Array;
  readonly expiresAtMs: number;
}

/** What the service knows of an item because its owner wants it to. */
export interface ItemFacts {
  readonly reference?: string | undefined;
  /** From this time on the item is gone, ms since 1970. */
  readonly expiresAtMs?: number | undefined;
  /** JSON texts, see `server/domain`: `ItemMetadata`, and `CardSummary`. */
  readonly metadata?: string | undefined;
  readonly summary?: string | undefined;
}

/** What an item's metadata says. */
export interface OpenedMeta extends ItemFacts {
  readonly gen: number;
  readonly revision: Uint8Array;
  /** SHA-256 of envelope and content of part 0. */
  readonly hash0: Uint8Array;
  readonly sad?: SadFacts | undefined;
}

/** Bytes of a revision: random, new at each write, so that parts of two writes cannot be mixed. */
export const REVISION_BYTES = 8;
/** The first byte of the plaintext, so that another layout can follow without another record type. */
const PLAINTEXT_TYPE = 0x01;
/** Metadata grows in steps of as many bytes. */
const STEP = 64;
/** Where the fixed members lie; those behind `OPTIONAL_AT` are there when their flag is set. */
const GEN_AT = 1;
const REVISION_AT = 5;
const HASH_AT = REVISION_AT + REVISION_BYTES;
const FLAGS_AT = HASH_AT + HASH_BYTES;
const OPTIONAL_AT = FLAGS_AT + 1;
const HAS_SAD = 1;
const HAS_REFERENCE = 2;
const TIME_BYTES = 8;
const SAD_BYTES = HASH_BYTES + TIME_BYTES;
const HAS_EXPIRY = 4;
const HAS_METADATA = 8;
const HAS_SUMMARY = 16;
const FLAGS = HAS_SAD | HAS_REFERENCE | HAS_EXPIRY | HAS_METADATA | HAS_SUMMARY;
/** What two bytes of length can say; requests allow far less. */
const REFERENCE_BYTES_MAX = 0xffff;

/** Hides the length of the reference to 64 bytes. */
function paddedBytes(length: number): number {
  return Math.ceil(length / STEP) * STEP;
}

function bytesOf(text: string | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : utf8(text);
}

/** The room of an optional member behind `head` bytes of its length. */
function roomOf(bytes: Uint8Array | undefined, head: number): number {
  return bytes ? head + bytes.length : 0;
}

/** The plaintext. A reference of more than 65,535 bytes: RangeError. */
function encode(meta: OpenedMeta): Uint8Array {
  const { sad, expiresAtMs } = meta;
  const reference = bytesOf(meta.reference);
  const metadata = bytesOf(meta.metadata);
  const summary = bytesOf(meta.summary);
  if (reference && reference.length > REFERENCE_BYTES_MAX) {
    throw new RangeError('reference too long');
  }
  const fixed = OPTIONAL_AT + (sad ? SAD_BYTES : 0) + (expiresAtMs === undefined ? 0 : TIME_BYTES);
  const out = new Uint8Array(
    paddedBytes(fixed + roomOf(reference, 2) + roomOf(metadata, 4) + roomOf(summary, 4)),
  );
  out[0] = PLAINTEXT_TYPE;
  writeU32(out, GEN_AT, meta.gen);
  out.set(meta.revision, REVISION_AT);
  out.set(meta.hash0, HASH_AT);
  let flags = 0;
  let at = OPTIONAL_AT;
  if (sad) {
    flags |= HAS_SAD;
    out.set(sad.hash, at);
    writeU64(out, at + HASH_BYTES, sad.expiresAtMs);
    at += SAD_BYTES;
  }
  if (reference) {
    flags |= HAS_REFERENCE;
    out[at] = reference.length >> 8;
    out[at + 1] = reference.length & 0xff;
    out.set(reference, at + 2);
    at += 2 + reference.length;
  }
  if (expiresAtMs !== undefined) {
    flags |= HAS_EXPIRY;
    writeU64(out, at, expiresAtMs);
    at += TIME_BYTES;
  }
  if (metadata) {
    flags |= HAS_METADATA;
    writeU32(out, at, metadata.length);
    out.set(metadata, at + 4);
    at += 4 + metadata.length;
  }
  if (summary) {
    flags |= HAS_SUMMARY;
    writeU32(out, at, summary.length);
    out.set(summary, at + 4);
  }
  out[FLAGS_AT] = flags;
  return out;
}

/** Reads a plaintext whose seal was opened. Rejects unknown flags and another length with `IntegrityError`. */
function decode(bytes: Uint8Array): OpenedMeta {
  const flags = readU8(bytes, FLAGS_AT);
  if (bytes[0] !== PLAINTEXT_TYPE || (flags & ~FLAGS) !== 0) {
    throw new IntegrityError('metadata');
  }
  const gen = readU32(bytes, GEN_AT);
  const revision = readBytes(bytes, REVISION_AT, REVISION_BYTES);
  const hash0 = readBytes(bytes, HASH_AT, HASH_BYTES);
  let end = OPTIONAL_AT;
  let sad: SadFacts | undefined;
  if (flags & HAS_SAD) {
    sad = { hash: readBytes(bytes, end, HASH_BYTES), expiresAtMs: readU64(bytes, end + HASH_BYTES) };
    end += SAD_BYTES;
  }
  let reference: string | undefined;
  if (flags & HAS_REFERENCE) {
    const length = (readU8(bytes, end) << 8) | readU8(bytes, end + 1);
    reference = textOf(readBytes(bytes, end + 2, length));
    end += 2 + length;
  }
  let expiresAtMs: number | undefined;
  if (flags & HAS_EXPIRY) {
    expiresAtMs = readU64(bytes, end);
    end += TIME_BYTES;
  }
  let metadata: string | undefined;
  if (flags & HAS_METADATA) {
    metadata = textOf(readBytes(bytes, end + 4, readU32(bytes, end)));
    end += 4 + readU32(bytes, end);
  }
  let summary: string | undefined;
  if (flags & HAS_SUMMARY) {
    summary = textOf(readBytes(bytes, end + 4, readU32(bytes, end)));
    end += 4 + readU32(bytes, end);
  }
  if (bytes.length !== paddedBytes(end)) {
    throw new IntegrityError('metadata');
  }
  return { gen, revision, hash0, sad, reference, expiresAtMs, metadata, summary };
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
