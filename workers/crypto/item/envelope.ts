/**
 * Envelopes: the data key (DEK) of one part of one item, wrapped for one generation of a vault key.
 *
 * Owned, by somebody with the passphrase: `header 4 | gen 4 | salt 16 | nonce 12 | wrapped 32 | tag 16`.
 * Sealed, by somebody with the public key only: `header 4 | gen 4 | enc 32 | nonce 12 | wrapped 32 | tag 16`.
 */

import {
  exporterOf,
  generationOf,
  importedPrivate,
  newestGeneration,
  ownerKeyOf,
  type PublicGeneration,
  type UnlockedKey,
} from '../key/unlocked.ts';
import {
  KEY_BYTES,
  MESSAGE_EXTRA_BYTES,
  NONCE_BYTES,
  openMessage,
  openSealed,
  sealInto,
  sealMessage,
  TAG_BYTES,
} from '../primitives/aead.ts';
import { aad, equalBytes, IntegrityError, readU32, wipe, writeU32 } from '../primitives/bytes.ts';
import { exportSecret, setupReceiver, setupSender } from '../primitives/hpke.ts';
import { fillRandom } from '../primitives/random.ts';
import { POINT_BYTES } from '../primitives/x25519.ts';
import { checkHeader, HEADER_BYTES, type RecordType, TYPE, writeHeader } from '../record/format.ts';
import type { KeyContext } from '../record/service-record.ts';

/** Names one part of one item. */
export interface PartContext extends KeyContext {
  readonly token: string;
  /** 0 is the item, 1 its sensitive authentication data. */
  readonly part: 0 | 1;
}

const HEAD_BYTES = HEADER_BYTES + 4;
const OWNED_BYTES = HEAD_BYTES + KEY_BYTES + MESSAGE_EXTRA_BYTES;
const SEALED_BYTES = HEAD_BYTES + POINT_BYTES + NONCE_BYTES + KEY_BYTES + TAG_BYTES;

/** Length of the envelope that a record begins with, by its type byte; `IntegrityError` for any other type. */
export function envelopeBytes(record: Uint8Array): number {
  if (record[1] === TYPE.ownedEnvelope) {
    return OWNED_BYTES;
  }
  if (record[1] === TYPE.sealedEnvelope) {
    return SEALED_BYTES;
  }
  throw new IntegrityError('envelope');
}

/** Number of the generation that an envelope is for. It is proven only when the envelope opens. */
export function envelopeGeneration(envelope: Uint8Array): number {
  return readU32(envelope, HEADER_BYTES);
}

function headOf(type: RecordType, gen: number): Uint8Array {
  const head = new Uint8Array(HEAD_BYTES);
  writeHeader(head, type);
  writeU32(head, HEADER_BYTES, gen);
  return head;
}

function bind(ctx: PartContext, head: Uint8Array): Uint8Array {
  return aad('cardvault envelope', [head, ctx.env, ctx.aid, ctx.kid, ctx.token, ctx.part]);
}

function hpkeInfo(ctx: KeyContext, gen: number): Uint8Array {
  return aad('cardvault hpke', [ctx.env, ctx.aid, ctx.kid, gen]);
}

/** The key that wraps one data key: exported for its place and its nonce, so used once. */
function exportWrapKey(exporterSecret: Uint8Array, associated: Uint8Array, nonce: Uint8Array): Uint8Array {
  return exportSecret(exporterSecret, aad('cardvault dek', [associated, nonce]), KEY_BYTES);
}

/** Wraps a data key for the newest generation of an open vault key: symmetric, no X25519. */
export function wrapDekOwned(key: UnlockedKey, ctx: PartContext, dek: Uint8Array): Uint8Array {
  const { gen } = newestGeneration(key);
  const head = headOf(TYPE.ownedEnvelope, gen);
  return sealMessage(ownerKeyOf(key, gen), head, dek, bind(ctx, head));
}

interface Sender {
  readonly env: string;
  readonly aid: string;
  readonly gen: number;
  readonly publicKey: Uint8Array;
  readonly enc: Uint8Array;
  readonly exporterSecret: Uint8Array;
  readonly bornMs: number;
  wraps: number;
}

const SENDERS_MAX = 256;
const SENDER_WRAPS_MAX = 1024;
const SENDER_AGE_MAX_MS = 60_000;
const senders = new Map<string, Sender>();

function dropSender(kid: string): void {
  wipe(senders.get(kid)?.exporterSecret);
  senders.delete(kid);
}

function isUsable(sender: Sender, target: PublicGeneration, ctx: KeyContext): boolean {
  return (
    sender.wraps < SENDER_WRAPS_MAX &&
    performance.now() - sender.bornMs < SENDER_AGE_MAX_MS &&
    sender.gen === target.gen &&
    sender.aid === ctx.aid &&
    sender.env === ctx.env &&
    equalBytes(sender.publicKey, target.publicKey)
  );
}

/**
 * The HPKE set-up towards a public key, shared by up to 1,024 wraps within 60 s: it costs two X25519, and
 * each wrap exports a key of its own from it.
 */
function senderTo(target: PublicGeneration, ctx: KeyContext): Sender {
  const found = senders.get(ctx.kid);
  if (found && isUsable(found, target, ctx)) {
    return found;
  }
  dropSender(ctx.kid);
  const oldest = senders.size >= SENDERS_MAX ? senders.keys().next().value : undefined;
  if (oldest !== undefined) {
    dropSender(oldest);
  }
  const { enc, context } = setupSender(target.publicKey, hpkeInfo(ctx, target.gen));
  const sender: Sender = {
    env: ctx.env,
    aid: ctx.aid,
    gen: target.gen,
    publicKey: target.publicKey.slice(),
    enc,
    exporterSecret: context.exporterSecret,
    bornMs: performance.now(),
    wraps: 0,
  };
  senders.set(ctx.kid, sender);
  return sender;
}

/**
 * Wraps a data key for the holder of a private half, knowing its public half only: HPKE (RFC 9180) Base,
 * export-only. Refuses, with `IntegrityError`, a public key that is no 32-byte point of full order.
 */
export function wrapDekSealed(
  publicKey: Uint8Array,
  gen: number,
  ctx: PartContext,
  dek: Uint8Array,
): Uint8Array {
  const sender = senderTo({ gen, publicKey }, ctx);
  sender.wraps++;
  const nonceAt = HEAD_BYTES + POINT_BYTES;
  const bodyAt = nonceAt + NONCE_BYTES;
  const out = new Uint8Array(SEALED_BYTES);
  out.set(headOf(TYPE.sealedEnvelope, gen));
  out.set(sender.enc, HEAD_BYTES);
  fillRandom(out, nonceAt, NONCE_BYTES);
  const nonce = out.subarray(nonceAt, bodyAt);
  const associated = bind(ctx, out.subarray(0, nonceAt));
  const wrapKey = exportWrapKey(sender.exporterSecret, associated, nonce);
  try {
    sealInto(out, bodyAt, wrapKey, nonce, dek, associated);
  } finally {
    wipe(wrapKey);
  }
  return out;
}

function unwrapOwned(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  checkHeader(envelope, TYPE.ownedEnvelope, OWNED_BYTES);
  const associated = bind(ctx, envelope.subarray(0, HEAD_BYTES));
  return openMessage(ownerKeyOf(key, envelopeGeneration(envelope)), HEAD_BYTES, envelope, associated);
}

function unwrapSealed(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  checkHeader(envelope, TYPE.sealedEnvelope, SEALED_BYTES);
  const gen = envelopeGeneration(envelope);
  const nonceAt = HEAD_BYTES + POINT_BYTES;
  const bodyAt = nonceAt + NONCE_BYTES;
  const enc = envelope.subarray(HEAD_BYTES, nonceAt);
  const nonce = envelope.subarray(nonceAt, bodyAt);
  const exporterSecret = exporterOf(key, gen, enc, () => {
    const { publicKey } = generationOf(key, gen);
    return setupReceiver(enc, importedPrivate(key, gen), publicKey, hpkeInfo(ctx, gen)).exporterSecret;
  });
  const associated = bind(ctx, envelope.subarray(0, nonceAt));
  const wrapKey = exportWrapKey(exporterSecret, associated, nonce);
  try {
    return openSealed(wrapKey, nonce, envelope.subarray(bodyAt), associated);
  } finally {
    wipe(wrapKey);
  }
}

/** The data key of an envelope of either kind. Refuses damage and any other context with `IntegrityError`. */
export function unwrapDek(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  if (envelope.length !== envelopeBytes(envelope) || ctx.kid !== key.kid) {
    throw new IntegrityError('envelope');
  }
  return envelope[1] === TYPE.ownedEnvelope
    ? unwrapOwned(key, ctx, envelope)
    : unwrapSealed(key, ctx, envelope);
}
