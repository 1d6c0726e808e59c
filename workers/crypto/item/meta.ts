/**
 * An item's metadata: a service record that pins the stored parts by their SHA-256, so that an attacker who can
 * write to the store cannot put a forged or older part in place of the one that was stored.
 *
 * Plaintext: `type 1 | gen 4 | revision 8 | SHA-256 of part 0 32 | flags 1 | [SHA-256 of part 1 32 | expiry in
 * ms 8] | [reference length 2 | reference]`, then zeros to the next multiple of 64.
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

/** What an item's metadata says. */
export interface OpenedMeta {
  readonly gen: number;
  readonly revision: Uint8Array;
  /** SHA-256 of envelope and content of part 0. */
  readonly hash0: Uint8Array;
  readonly sad?: SadFacts | undefined;
  readonly reference?: string | undefined;
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
const SAD_BYTES = HASH_BYTES + 8;
/** What two bytes of length can say; requests allow far less. */
const REFERENCE_BYTES_MAX = 0xffff;

/** Hides the length of the reference to 64 bytes. */
function paddedBytes(length: number): number {
  return Math.ceil(length / STEP) * STEP;
}

/** The plaintext. A reference of more than 65,535 bytes: RangeError. */
function encode(meta: OpenedMeta): Uint8Array {
  const { sad } = meta;
  const reference = meta.reference === undefined ? undefined : utf8(meta.reference);
  if (reference && reference.length > REFERENCE_BYTES_MAX) {
    throw new RangeError('reference too long');
  }
  const referenceAt = OPTIONAL_AT + (sad ? SAD_BYTES : 0);
  const out = new Uint8Array(paddedBytes(referenceAt + (reference ? 2 + reference.length : 0)));
  out[0] = PLAINTEXT_TYPE;
  writeU32(out, GEN_AT, meta.gen);
  out.set(meta.revision, REVISION_AT);
  out.set(meta.hash0, HASH_AT);
  out[FLAGS_AT] = (sad ? HAS_SAD : 0) | (reference ? HAS_REFERENCE : 0);
  if (sad) {
    out.set(sad.hash, OPTIONAL_AT);
    writeU64(out, OPTIONAL_AT + HASH_BYTES, sad.expiresAtMs);
  }
  if (reference) {
    out[referenceAt] = reference.length >> 8;
    out[referenceAt + 1] = reference.length & 0xff;
    out.set(reference, referenceAt + 2);
  }
  return out;
}

/** Reads a plaintext whose seal was opened. Rejects unknown flags and another length with `IntegrityError`. */
function decode(bytes: Uint8Array): OpenedMeta {
  const flags = readU8(bytes, FLAGS_AT);
  if (bytes[0] !== PLAINTEXT_TYPE || flags > (HAS_SAD | HAS_REFERENCE)) {
    throw new IntegrityError('metadata');
  }
  const base = {
    gen: readU32(bytes, GEN_AT),
    revision: readBytes(bytes, REVISION_AT, REVISION_BYTES),
    hash0: readBytes(bytes, HASH_AT, HASH_BYTES),
  };
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
  if (bytes.length !== paddedBytes(end)) {
    throw new IntegrityError('metadata');
  }
  return { ...base, sad, reference };
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
