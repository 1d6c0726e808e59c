/**
 * An item: part 0 (the stored object) and, where there is any, part 1 (its sensitive authentication data),
 * each with a data key of its own, stored as envelope and content one after the other, and the metadata
 * that pins both. An envelope's type byte tells its length, so the two need no separator.
 */

import { newestGeneration, type PublicGeneration, type UnlockedKey } from '../key/unlocked.ts';
import { KEY_BYTES } from '../primitives/aead.ts';
import { equalBytes, IntegrityError, wipe } from '../primitives/bytes.ts';
import { sha256 } from '../primitives/hash.ts';
import { randomBytes } from '../primitives/random.ts';
import type { ServiceSealer } from '../record/service-record.ts';
import { contentBytes, openContent, sealContentInto } from './content.ts';
import {
  envelopeBytes,
  envelopeGeneration,
  type PartContext,
  unwrapDek,
  wrapDekOwned,
  wrapDekSealed,
} from './envelope.ts';
import { type ItemContext, type OpenedMeta, REVISION_BYTES, type SadFacts, sealMeta } from './meta.ts';

export { type ItemContext, type OpenedMeta, openMeta, sealMeta } from './meta.ts';

/** Who writes: the holder of the open key, or somebody who knows the public half of one generation. */
export type ItemOwner = UnlockedKey | PublicGeneration;

export interface SealItemRequest extends ItemContext {
  readonly reference?: string;
  readonly owner: ItemOwner;
  readonly part0: Uint8Array;
  /** `expiresAtMs`: ms since 1970, 0 = never. */
  readonly part1?: { readonly bytes: Uint8Array; readonly expiresAtMs: number };
  readonly sealer: ServiceSealer;
}

export interface SealedItem {
  /** Envelope and content of part 0 in one piece, as it is stored. */
  readonly item: Uint8Array;
  /** Views into `item`. */
  readonly envelope: Uint8Array;
  readonly content: Uint8Array;
  /** The sealed metadata. */
  readonly meta: Uint8Array;
  /** Envelope and content of part 1 in one piece. */
  readonly sad?: Uint8Array;
  /** The generation that the item is stored under. */
  readonly gen: number;
}

export interface OpenItemRequest extends ItemContext {
  readonly key: UnlockedKey;
  /** Envelope and content of part 0 in one piece. */
  readonly item: Uint8Array;
  readonly meta: OpenedMeta;
  /** Envelope and content of part 1, when the store still has them. */
  readonly sad?: Uint8Array;
  readonly nowMs: number;
}

function generationFor(owner: ItemOwner): number {
  return 'generations' in owner ? newestGeneration(owner).gen : owner.gen;
}

function partOf(ids: ItemContext, part: 0 | 1): PartContext {
  return {
    env: ids.env,
    aid: ids.aid,
    kid: ids.kid,
    token: ids.token,
    part,
  };
}

function sealPart(
  request: SealItemRequest,
  revision: Uint8Array,
  part: 0 | 1,
  bytes: Uint8Array,
): Uint8Array {
  const { owner, reference } = request;
  const ctx = partOf(request, part);
  const dek = randomBytes(KEY_BYTES);
  try {
    const envelope =
      'generations' in owner
        ? wrapDekOwned(owner, ctx, dek)
        : wrapDekSealed(owner.publicKey, owner.gen, ctx, dek);
    const out = new Uint8Array(envelope.length + contentBytes(bytes.length));
    out.set(envelope);
    sealContentInto(out, envelope.length, dek, { ...ctx, reference, revision }, bytes);
    return out;
  } finally {
    wipe(dek);
  }
}

/** Seals an item under fresh data keys and a fresh revision: what one store or update writes. */
export function sealItem(request: SealItemRequest): SealedItem {
  const { owner, part0, part1, reference } = request;
  if ('generations' in owner && owner.kid !== request.kid) {
    throw new RangeError('another vault key');
  }
  const revision = randomBytes(REVISION_BYTES);
  const gen = generationFor(owner);
  const item = sealPart(request, revision, 0, part0);
  const sad = part1 && sealPart(request, revision, 1, part1.bytes);
  const facts = sad && { hash: sha256(sad), expiresAtMs: part1.expiresAtMs };
  const meta = sealMeta(request.sealer, request, {
    gen,
    revision,
    hash0: sha256(item),
    ...(facts ? { sad: facts } : {}),
    ...(reference === undefined ? {} : { reference }),
  });
  const at = envelopeBytes(item);
  const views = { envelope: item.subarray(0, at), content: item.subarray(at) };
  return { item, ...views, meta, gen, ...(sad ? { sad } : {}) };
}

function openPart(request: OpenItemRequest, part: 0 | 1, stored: Uint8Array, hash: Uint8Array): Uint8Array {
  if (!equalBytes(sha256(stored), hash)) {
    throw new IntegrityError('item');
  }
  const at = envelopeBytes(stored);
  const envelope = stored.subarray(0, at);
  const { reference, revision, gen } = request.meta;
  if (envelopeGeneration(envelope) !== gen) {
    throw new IntegrityError('item');
  }
  const ctx = partOf(request, part);
  const dek = unwrapDek(request.key, ctx, envelope);
  try {
    return openContent(dek, { ...ctx, reference, revision }, stored.subarray(at));
  } finally {
    wipe(dek);
  }
}

function hasExpired(sad: SadFacts, nowMs: number): boolean {
  return sad.expiresAtMs !== 0 && nowMs >= sad.expiresAtMs;
}

function openSad(request: OpenItemRequest): Uint8Array | undefined {
  const { meta, sad, nowMs } = request;
  if (!meta.sad) {
    if (sad) {
      throw new IntegrityError('item');
    }
    return undefined;
  }
  if (hasExpired(meta.sad, nowMs)) {
    return undefined;
  }
  if (!sad) {
    throw new IntegrityError('item');
  }
  return openPart(request, 1, sad, meta.sad.hash);
}

/**
 * Opens an item. The hashes of the metadata are compared before anything is decrypted. Part 1 may be
 * missing only once it has expired, and is not used after that. All else: `IntegrityError`.
 */
export function openItem(request: OpenItemRequest): {
  readonly part0: Uint8Array;
  readonly part1?: Uint8Array;
} {
  const part0 = openPart(request, 0, request.item, request.meta.hash0);
  const part1 = openSad(request);
  return part1 ? { part0, part1 } : { part0 };
}
