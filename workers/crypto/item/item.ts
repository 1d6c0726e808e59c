/**
 * An item: part 0 (the stored object) and optionally part 1 (its sensitive authentication data), each with a separate data
 * key, stored as envelope and content one after the other, and the metadata that pins both. An envelope's type byte
 * implies its length, so the two need no separator.
 *
 * Content: `header 4 | nonce 12 | ciphertext | tag 16` under the part's data key. The plaintext is the length in 4
 * bytes, the bytes, and zeros up to the next step, so that a stored size reveals a length only roughly.
 */
import { generationOf, type UnlockedKey } from '../key/unlocked.ts';
import { createAad } from '../primitives/aad.ts';
import {
  checkHeader,
  EMPTY,
  equalBytes,
  HEADER_BYTES,
  IntegrityError,
  readBytes,
  readU32,
  TYPE,
  utf8,
  viewOf,
  wipe,
  writeHeader,
  writeU32,
} from '../primitives/bytes.ts';
import { randomBytes } from '../primitives/random.ts';
import { NONCE_BYTES, openAt, sealAt, sha256, TAG_BYTES } from '../primitives/symmetric.ts';
import type { ServiceSealer } from '../record/service-record.ts';
import {
  envelopeBytes,
  envelopeGeneration,
  type ItemOwner,
  newDek,
  type PartContext,
  unwrapDek,
} from './envelope.ts';
import { type ItemContext, type ItemFacts, type OpenedMeta, REVISION_BYTES, sealMeta } from './meta.ts';

/** The input of one store or update. */
interface SealItemRequest extends ItemContext, ItemFacts {
  readonly owner: ItemOwner;
  readonly part0: Uint8Array;
  /** `expiresAtMs`: ms since 1970, 0 = never. */
  readonly part1?: { readonly bytes: Uint8Array; readonly expiresAtMs: number } | undefined;
  readonly sealer: ServiceSealer;
}

/** A sealed item, as it is stored. */
export interface SealedItem {
  /** Envelope and content of part 0 in one piece. */
  readonly item: Uint8Array;
  /** The sealed metadata. */
  readonly meta: Uint8Array;
  /** Envelope and content of part 1 in one piece. */
  readonly sad?: Uint8Array;
  /** The generation that the item is stored under. */
  readonly gen: number;
}

/** An item as it was stored, with the key that opens it. */
export interface OpenItemRequest extends ItemContext {
  readonly key: UnlockedKey;
  /** Envelope and content of part 0 in one piece. */
  readonly item: Uint8Array;
  readonly meta: OpenedMeta;
  /** Envelope and content of part 1, when the store still has them. */
  readonly sad?: Uint8Array;
  readonly nowMs: number;
}

/** The place, the reference and the revision that the content of a part is bound to. */
interface ContentContext extends PartContext {
  readonly reference?: string | undefined;
  /** 8 random bytes, new at each write of the item. */
  readonly revision: Uint8Array;
}

const encodeContent = createAad('cardvault content');
const CONTENT_HEADER = new Uint8Array(HEADER_BYTES);
writeHeader(CONTENT_HEADER, TYPE.content);
/** A content record without its plaintext. */
const CONTENT_BYTES_MIN = HEADER_BYTES + NONCE_BYTES + TAG_BYTES;
const LENGTH_BYTES = 4;
/** Up to 4 KiB padding hides the length to 256 bytes; above, where 256 would be little, to 1 KiB. */
const SMALL_STEP = 256;
const LARGE_STEP = 1024;
const SMALL_MAX = 4096;

/** The length that a plaintext of `length` bytes is padded to, its own length in 4 bytes included. */
function paddedBytes(length: number): number {
  const needed = LENGTH_BYTES + length;
  const step = needed <= SMALL_MAX ? SMALL_STEP : LARGE_STEP;
  return Math.ceil(needed / step) * step;
}

/**
 * AAD of a content record: its place, its revision and its reference. A missing reference enters as no bytes, an empty
 * one as the SHA-256 of no bytes. The revision keeps parts of two writes of one item apart.
 */
function bindContent(ctx: ContentContext): Uint8Array {
  const { env, aid, kid, token, reference, revision, part } = ctx;
  const referenceHash = reference === undefined ? EMPTY : sha256(utf8(reference));
  return encodeContent([CONTENT_HEADER, env, aid, kid, token, referenceHash, revision, part]);
}

/**
 * The content record of `bytes` after an envelope, in one buffer. `dek` must be fresh: it seals nothing else, so that a
 * random nonce cannot meet another. The padded copy of the plaintext is wiped.
 */
export function sealContent(
  envelope: Uint8Array,
  dek: Uint8Array,
  ctx: ContentContext,
  bytes: Uint8Array,
): Uint8Array {
  const at = envelope.length;
  const padded = new Uint8Array(paddedBytes(bytes.length));
  writeU32(padded, 0, bytes.length);
  padded.set(bytes, LENGTH_BYTES);
  const out = new Uint8Array(at + CONTENT_BYTES_MIN + padded.length);
  out.set(envelope);
  writeHeader(out, TYPE.content, at);
  try {
    sealAt(out, at + HEADER_BYTES, dek, padded, bindContent(ctx));
  } finally {
    wipe(padded);
  }
  return out;
}

/**
 * Opens a content record; the plaintext is a view without its padding. Rejects damage, any other context or revision, and
 * a padded length that `sealContent` would not have made, with `IntegrityError`.
 */
export function openContent(dek: Uint8Array, ctx: ContentContext, record: Uint8Array): Uint8Array {
  checkHeader(record, TYPE.content, CONTENT_BYTES_MIN);
  const padded = openAt(record, HEADER_BYTES, dek, bindContent(ctx));
  const length = readU32(padded, 0);
  if (padded.length !== paddedBytes(length)) {
    throw new IntegrityError('content');
  }
  return viewOf(padded, LENGTH_BYTES, length);
}

/** Envelope and content of one part, under a fresh data key that is wiped before this returns. */
export function sealPart(owner: ItemOwner, ctx: ContentContext, bytes: Uint8Array): Uint8Array {
  const { envelope, dek } = newDek(owner, ctx);
  try {
    return sealContent(envelope, dek, ctx, bytes);
  } finally {
    wipe(dek);
  }
}

/**
 * Seals an item under fresh data keys and a fresh revision: what one store or update writes. Rejects, with RangeError,
 * an open key of another id than the item's.
 */
export function sealItem(request: SealItemRequest): SealedItem {
  const { env, aid, kid, token, owner, part0, part1 } = request;
  const { reference, expiresAtMs, metadata, summary } = request;
  if ('generations' in owner && owner.kid !== kid) {
    throw new RangeError('another vault key');
  }
  const { gen } = 'generations' in owner ? generationOf(owner) : owner;
  const revision = randomBytes(REVISION_BYTES);
  const place = { env, aid, kid, token, reference, revision };
  const item = sealPart(owner, { ...place, part: 0 }, part0);
  const facts = { gen, revision, hash0: sha256(item), reference, expiresAtMs, metadata, summary };
  if (part1 === undefined) {
    return { item, gen, meta: sealMeta(request.sealer, request, facts) };
  }
  const sad = sealPart(owner, { ...place, part: 1 }, part1.bytes);
  const sadFacts = { hash: sha256(sad), expiresAtMs: part1.expiresAtMs };
  return { item, gen, sad, meta: sealMeta(request.sealer, request, { ...facts, sad: sadFacts }) };
}

/** Compares what is stored with its hash in the metadata, before anything of it is read: a forged part costs one SHA-256. */
export function checkHash(stored: Uint8Array, hash: Uint8Array): void {
  if (!equalBytes(sha256(stored), hash)) {
    throw new IntegrityError('item');
  }
}

/** Opens one part, whose hash was compared. Its envelope must be of this generation. */
export function openPart(
  request: OpenItemRequest,
  part: PartContext['part'],
  stored: Uint8Array,
  gen = request.meta.gen,
): Uint8Array {
  const { env, aid, kid, token, key, meta } = request;
  const at = envelopeBytes(stored);
  const envelope = readBytes(stored, 0, at);
  if (envelopeGeneration(envelope) !== gen) {
    throw new IntegrityError('item');
  }
  const { reference, revision } = meta;
  const ctx = { env, aid, kid, token, reference, revision, part };
  const dek = unwrapDek(key, ctx, envelope);
  try {
    return openContent(dek, ctx, viewOf(stored, at, stored.length - at));
  } finally {
    wipe(dek);
  }
}

/** The stored object without its sensitive authentication data, and that data while it is kept. */
export interface OpenedItem {
  readonly part0: Uint8Array;
  readonly part1?: Uint8Array;
}

/**
 * The sensitive authentication data that is kept, compared with its hash in the metadata; undefined for none. It may be
 * missing only once it has expired, and is not used after that. All else: `IntegrityError`.
 */
export function keptSad(request: Omit<OpenItemRequest, 'key'>): Uint8Array | undefined {
  const { meta, sad, nowMs } = request;
  const { sad: facts } = meta;
  if (facts !== undefined && facts.expiresAtMs !== 0 && nowMs >= facts.expiresAtMs) {
    return undefined;
  }
  if ((sad === undefined) !== (facts === undefined)) {
    throw new IntegrityError('item');
  }
  if (sad && facts) {
    checkHash(sad, facts.hash);
  }
  return sad;
}

/**
 * Opens an item that has no patches (see `patch.ts`). The hashes of the metadata are compared before anything is decrypted.
 * Rejects as `keptSad`.
 */
export function openItem(request: OpenItemRequest): OpenedItem {
  checkHash(request.item, request.meta.hash0);
  const sad = keptSad(request);
  const part0 = openPart(request, 0, request.item);
  return sad ? { part0, part1: openPart(request, 1, sad) } : { part0 };
}
