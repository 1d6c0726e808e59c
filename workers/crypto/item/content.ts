/**
 * Content: one part of an item under its own data key, `header 4 | nonce 12 | ciphertext | tag 16`. The
 * plaintext is the length in 4 bytes, the bytes, and zeros up to the next step, so that what is stored
 * tells a length only roughly.
 */
import { NONCE_BYTES, openSealed, sealInto, TAG_BYTES } from '../primitives/aead.ts';
import { aad, EMPTY, IntegrityError, readU32, utf8, wipe, writeU32 } from '../primitives/bytes.ts';
import { sha256 } from '../primitives/hash.ts';
import { fillRandom } from '../primitives/random.ts';
import { checkHeader, HEADER_BYTES, TYPE, writeHeader } from '../record/format.ts';
import type { PartContext } from './envelope.ts';

/** What the content of a part is bound to beside its place. */
export interface ContentContext extends PartContext {
  readonly reference: string | undefined;
  /** 8 random bytes, new at each write of the item. */
  readonly revision: Uint8Array;
}

const NONCE_AT = HEADER_BYTES;
const BODY_AT = NONCE_AT + NONCE_BYTES;
const CONTENT_BYTES_MIN = BODY_AT + TAG_BYTES;
const LENGTH_BYTES = 4;
const SMALL_STEP = 256;
const LARGE_STEP = 1024;
const SMALL_MAX = 4096;

/** SHA-256 of a reference's UTF-8 bytes; no bytes at all when there is none, unlike an empty reference. */
export function referenceHash(reference: string | undefined): Uint8Array {
  return reference === undefined ? EMPTY : sha256(utf8(reference));
}

function paddedBytes(length: number): number {
  const needed = LENGTH_BYTES + length;
  const step = needed <= SMALL_MAX ? SMALL_STEP : LARGE_STEP;
  return Math.ceil(needed / step) * step;
}

/** Length of the content record of `length` bytes. */
export function contentBytes(length: number): number {
  return BODY_AT + paddedBytes(length) + TAG_BYTES;
}

function bind(ctx: ContentContext, header: Uint8Array): Uint8Array {
  return aad('cardvault content', [
    header,
    ctx.env,
    ctx.aid,
    ctx.kid,
    ctx.token,
    referenceHash(ctx.reference),
    ctx.revision,
    ctx.part,
  ]);
}

/** Writes the content record of `bytes` into `out` at `at`, where `contentBytes` must have room. */
export function sealContentInto(
  out: Uint8Array,
  at: number,
  dek: Uint8Array,
  ctx: ContentContext,
  bytes: Uint8Array,
): void {
  const record = out.subarray(at, at + contentBytes(bytes.length));
  writeHeader(record, TYPE.content);
  fillRandom(record, NONCE_AT, NONCE_BYTES);
  const padded = new Uint8Array(paddedBytes(bytes.length));
  writeU32(padded, 0, bytes.length);
  padded.set(bytes, LENGTH_BYTES);
  try {
    const nonce = record.subarray(NONCE_AT, BODY_AT);
    sealInto(record, BODY_AT, dek, nonce, padded, bind(ctx, record.subarray(0, HEADER_BYTES)));
  } finally {
    wipe(padded);
  }
}

/** Opens a content record. Refuses damage and any other context or revision with `IntegrityError`. */
export function openContent(dek: Uint8Array, ctx: ContentContext, record: Uint8Array): Uint8Array {
  checkHeader(record, TYPE.content, CONTENT_BYTES_MIN);
  const associated = bind(ctx, record.subarray(0, HEADER_BYTES));
  const padded = openSealed(dek, record.subarray(NONCE_AT, BODY_AT), record.subarray(BODY_AT), associated);
  const length = readU32(padded, 0);
  if (padded.length !== paddedBytes(length)) {
    throw new IntegrityError('content');
  }
  return padded.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
}
