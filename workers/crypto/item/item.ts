/**
 * An item: part 0 (the stored object) and optionally part 1 (its sensitive authentication data), each with a separate data
 * key, stored as envelope and content one after the other, and the metadata that pins both. An envelope's type byte
 * implies its length, so the two need no separator.
 *
 * Content: `header 4 | nonce 12 | ciphertext | tag 16` under the part's data key. The plaintext is the length in 4
 * bytes, the bytes, and zeros up to the next step, so that a stored size reveals a length only roughly.
 *
 * Patches are changes by holders of the public half alone to an item that they cannot open. A reader merges them
 * in their order; the next writer with the passphrase stores the whole anew.
 *
 * In place of part 0: `header 4 | length 4 | part 0 | (length 4 | tag 16 | patch)...`, in place of part 1 the same without
 * tags, with no bytes for a layer without such data. Every layer is an envelope and a content. The metadata pins the whole,
 * names the newest generation, and keeps the revision, which all layers share.
 */
import type { SplitObject } from '../../../server/domain/card/sad.ts';
import { generationOf, type PublicGeneration, type UnlockedKey } from '../key/unlocked.ts';
import { aad, createAad } from '../primitives/aad.ts';
import {
  checkHeader,
  concat,
  EMPTY,
  equalBytes,
  HEADER_BYTES,
  IntegrityError,
  openedOrNot,
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
import { hmac, NONCE_BYTES, openAt, sealAt, sha256, TAG_BYTES } from '../primitives/symmetric.ts';
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

interface SealItemRequest extends ItemContext, ItemFacts {
  readonly owner: ItemOwner;
  readonly part0: Uint8Array;
  /** `expiresAtMs`: ms since 1970, 0 = never. */
  readonly part1?: { readonly bytes: Uint8Array; readonly expiresAtMs: number } | undefined;
  readonly sealer: ServiceSealer;
  /** The version of the data, if this write does not change it. */
  readonly version?: Uint8Array | undefined;
}

export interface SealedItem {
  /** Envelope and content of part 0 in one piece. */
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  /** Envelope and content of part 1 in one piece. */
  readonly sad?: Uint8Array;
  /** The generation that the item is stored under. */
  readonly gen: number;
  /** The version of its data. */
  readonly version: Uint8Array;
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
function sealPart(owner: ItemOwner, ctx: ContentContext, bytes: Uint8Array): Uint8Array {
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
  const { reference, expiresAtMs, metadata, summary, version } = request;
  if ('generations' in owner && owner.kid !== kid) {
    throw new RangeError('another vault key');
  }
  const { gen } = 'generations' in owner ? generationOf(owner) : owner;
  const revision = randomBytes(REVISION_BYTES);
  const item = sealPart(owner, { env, aid, kid, token, reference, revision, part: 0 }, part0);
  const sad = part1 && sealPart(owner, { env, aid, kid, token, reference, revision, part: 1 }, part1.bytes);
  const facts = {
    gen,
    revision,
    hash0: sha256(item),
    sad: part1 && sad && { hash: sha256(sad), expiresAtMs: part1.expiresAtMs },
    reference,
    expiresAtMs,
    metadata,
    summary,
    version,
  };
  const meta = sealMeta(request.sealer, request, facts);
  const sealed = { item, gen, meta, version: version ?? revision };
  return sad ? { ...sealed, sad } : sealed;
}

/** Compares what is stored with its hash in the metadata, before anything of it is read: a forged part costs one SHA-256. */
function checkHash(stored: Uint8Array, hash: Uint8Array): void {
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

/**
 * The sensitive authentication data that is kept, compared with its hash in the metadata; undefined for none. It may be
 * missing only once it has expired, and is not used after that. All else: `IntegrityError`.
 */
function keptSad(request: Omit<OpenItemRequest, 'key'>): Uint8Array | undefined {
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
export function openItem(request: OpenItemRequest): SplitObject {
  checkHash(request.item, request.meta.hash0);
  const sad = keptSad(request);
  const part0 = openPart(request, 0, request.item);
  return sad ? { part0, part1: openPart(request, 1, sad) } : { part0 };
}

const PATCH_TAG_BYTES = 16;

interface SealPatchRequest extends Omit<OpenItemRequest, 'key'> {
  readonly owner: PublicGeneration & { readonly tokenKey: Uint8Array };
  /** Names of the members that the patch replaces. */
  readonly names: readonly string[];
  readonly part0: Uint8Array;
  /** Replaces that of the item, if its key has summaries. */
  readonly summary?: string | undefined;
  /** `expiresAtMs`: ms since 1970, 0 = never. */
  readonly part1?: { readonly bytes: Uint8Array; readonly expiresAtMs: number } | undefined;
  readonly sealer: ServiceSealer;
}

interface PatchedItem extends SealedItem {
  /** Number of all its patches. */
  readonly patches: number;
  /** Expiry of its sensitive authentication data; 0 = never, or there is none. */
  readonly sadExpiresAtMs: number;
}

/** One layer as it is stored: the original item, or a patch. */
interface Layer {
  /** With its tag for a patch. */
  readonly item: Uint8Array;
  readonly sad: Uint8Array;
}

/** Checks for patches in the record in place of part 0. */
export function isPatched(item: Uint8Array): boolean {
  return item[1] === TYPE.patchedItem;
}

function join(layers: readonly Uint8Array[]): Uint8Array {
  const head = new Uint8Array(HEADER_BYTES);
  writeHeader(head, TYPE.patchedItem);
  const parts = layers.flatMap((layer) => {
    const length = new Uint8Array(LENGTH_BYTES);
    writeU32(length, 0, layer.length);
    return [length, layer];
  });
  return concat([head, ...parts]);
}

/** Splits the result of `join`; a record without patches is one layer. */
function split(record: Uint8Array): readonly Uint8Array[] {
  if (!isPatched(record)) {
    return [record];
  }
  checkHeader(record, TYPE.patchedItem, HEADER_BYTES);
  const layers: Uint8Array[] = [];
  for (let at = HEADER_BYTES; at < record.length; ) {
    const length = readU32(record, at);
    layers.push(readBytes(record, at + LENGTH_BYTES, length));
    at += LENGTH_BYTES + length;
  }
  return layers;
}

/** The layers of an item, oldest first. The hashes of the metadata were compared. */
function layersOf(item: Uint8Array, sad: Uint8Array | undefined): readonly Layer[] {
  const items = split(item);
  const sads = sad === undefined ? items.map(() => EMPTY) : split(sad);
  if (sads.length !== items.length) {
    throw new IntegrityError('item');
  }
  return items.map((layer, i) => ({ item: layer, sad: sads[i] ?? EMPTY }));
}

/** The patch of a layer without its tag; the item itself as it is. */
function withoutTag(item: Uint8Array, index: number): Uint8Array {
  return index === 0 ? item : readBytes(item, PATCH_TAG_BYTES, item.length - PATCH_TAG_BYTES);
}

/** The generation of the last write of an item. */
export function generationOfItem(item: Uint8Array): number {
  const layers = split(item);
  const newest = layers.at(-1) ?? EMPTY;
  return envelopeGeneration(withoutTag(newest, layers.length - 1));
}

/**
 * Opens an item and its patches, which are to be merged in this order. Rejects as `openItem` does. A layer is of the
 * generation of the metadata or an earlier one.
 */
export function openPatched(request: OpenItemRequest): readonly SplitObject[] {
  checkHash(request.item, request.meta.hash0);
  return layersOf(request.item, keptSad(request)).map(({ item, sad }, i) => {
    const record = withoutTag(item, i);
    const gen = envelopeGeneration(record);
    if (gen > request.meta.gen) {
      throw new IntegrityError('item');
    }
    const part0 = openPart(request, i === 0 ? 0 : 2, record, gen);
    return sad.length === 0 ? { part0 } : { part0, part1: openPart(request, i === 0 ? 1 : 3, sad, gen) };
  });
}

/** True if an older generation than this one seals an item, or a layer of it. */
export function isOlder(item: Uint8Array, gen: number): boolean {
  return split(item).some((layer, i) => envelopeGeneration(withoutTag(layer, i)) < gen);
}

/** The sealed parts of an item: those of all its layers. Damaged ones are left out. */
export function partsOf({ item, sad }: Pick<Layer, 'item' | 'sad'>): readonly Uint8Array[] {
  return isPatched(item)
    ? (openedOrNot(() => [...split(item).map(withoutTag), ...split(sad)]) ?? [])
    : [item, sad];
}

/** The earlier of two expiries, in which 0 means never. */
export function earlierExpiry(a: number, b: number): number {
  return a === 0 || b === 0 ? a + b : Math.min(a, b);
}

/**
 * Adds a patch. It replaces an earlier one of the same members, which the tag reveals only to holders of the token key. All
 * sensitive authentication data expires at one time: earlier data does not stay longer. The stored item is compared with
 * the metadata first, so that nothing is signed that a reader would reject.
 */
export function sealPatch(request: SealPatchRequest): PatchedItem {
  const { env, aid, kid, token, item, meta, owner, names, part0, part1, sealer } = request;
  checkHash(item, meta.hash0);
  const { gen } = owner;
  if (gen < meta.gen) {
    throw new IntegrityError('item');
  }
  const place = { env, aid, kid, token, reference: meta.reference, revision: meta.revision };
  const tag = hmac(owner.tokenKey, aad('cardvault patch', [token, ...[...names].sort()])).subarray(
    0,
    PATCH_TAG_BYTES,
  );
  const kept = layersOf(item, keptSad(request)).filter(
    (layer, i) => i === 0 || !equalBytes(viewOf(layer.item, 0, PATCH_TAG_BYTES), tag),
  );
  const layers = [
    ...kept,
    {
      item: concat([tag, sealPart(owner, { ...place, part: 2 }, part0)]),
      sad: part1 ? sealPart(owner, { ...place, part: 3 }, part1.bytes) : EMPTY,
    },
  ];
  const out = join(layers.map((layer) => layer.item));
  const { sad: _, ...before } = meta;
  const version = randomBytes(REVISION_BYTES);
  const facts = { ...before, gen, hash0: sha256(out), summary: request.summary ?? meta.summary, version };
  const sealed = { item: out, gen, version, patches: layers.length - 1 };
  if (layers.every(({ sad }) => sad.length === 0)) {
    return { ...sealed, meta: sealMeta(sealer, request, facts), sadExpiresAtMs: 0 };
  }
  const sad = join(layers.map((layer) => layer.sad));
  const times = [
    ...(kept.some((layer) => layer.sad.length > 0) && meta.sad ? [meta.sad.expiresAtMs] : []),
    ...(part1 ? [part1.expiresAtMs] : []),
  ];
  const expiresAtMs = times.reduce(earlierExpiry);
  const sadFacts = { hash: sha256(sad), expiresAtMs };
  return {
    ...{ ...sealed, sad, sadExpiresAtMs: expiresAtMs },
    meta: sealMeta(sealer, request, { ...facts, sad: sadFacts }),
  };
}
