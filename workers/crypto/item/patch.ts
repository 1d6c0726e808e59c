/**
 * An item with patches: changes by holders of the public half alone to an item that they cannot open. A reader merges them
 * in their order; the next writer with the passphrase stores the whole anew.
 *
 * In place of part 0: `header 4 | length 4 | part 0 | (length 4 | tag 16 | patch)...`, in place of part 1 the same without
 * tags, with no bytes for a layer without such data. Every layer is an envelope and a content. The metadata pins the whole,
 * names the newest generation, and keeps the revision, which all layers share.
 */
import type { PublicGeneration } from '../key/unlocked.ts';
import { aad } from '../primitives/aad.ts';
import {
  checkHeader,
  concat,
  EMPTY,
  equalBytes,
  HEADER_BYTES,
  IntegrityError,
  readBytes,
  readU32,
  TYPE,
  viewOf,
  writeHeader,
  writeU32,
} from '../primitives/bytes.ts';
import { eachReady } from '../primitives/not-yet.ts';
import { hmac, sha256 } from '../primitives/symmetric.ts';
import type { ServiceSealer } from '../record/service-record.ts';
import { envelopeGeneration } from './envelope.ts';
import {
  checkHash,
  keptSad,
  type OpenedItem,
  type OpenItemRequest,
  openPart,
  type SealedItem,
  sealPart,
} from './item.ts';
import { sealMeta } from './meta.ts';

const LENGTH_BYTES = 4;
const TAG_BYTES = 16;

/** A patch of an item by a writer who cannot open it. */
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

/** An item with one more patch. */
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
  return index === 0 ? item : readBytes(item, TAG_BYTES, item.length - TAG_BYTES);
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
export function openPatched(request: OpenItemRequest): readonly OpenedItem[] {
  checkHash(request.item, request.meta.hash0);
  return eachReady(layersOf(request.item, keptSad(request)), ({ item, sad }, i) => {
    const record = withoutTag(item, i);
    const gen = envelopeGeneration(record);
    if (gen > request.meta.gen) {
      throw new IntegrityError('item');
    }
    const part0 = openPart(request, i === 0 ? 0 : 2, record, gen);
    return sad.length === 0 ? { part0 } : { part0, part1: openPart(request, i === 0 ? 1 : 3, sad, gen) };
  });
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
    TAG_BYTES,
  );
  const kept = layersOf(item, keptSad(request)).filter(
    (layer, i) => i === 0 || !equalBytes(viewOf(layer.item, 0, TAG_BYTES), tag),
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
  const facts = { ...before, gen, hash0: sha256(out), summary: request.summary ?? meta.summary };
  const sealed = { item: out, gen, patches: layers.length - 1 };
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
