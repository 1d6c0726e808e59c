/**
 * Envelopes: the source of the data key (DEK) of one part of one item, for the holders of one generation of a vault key.
 *
 * Derived, by a writer with the passphrase: `header 4 | gen 4 | salt 16`; the DEK is an HMAC of it under the owner key.
 * Owned, by earlier versions: `header 4 | gen 4 | salt 16 | nonce 12 | wrapped 32 | tag 16`.
 * Sealed, by a writer with the public half only: `header 4 | gen 4 | enc | nonce 12 | wrapped 32 | tag 16`, where the suite in
 * the header is that of the generation: `enc` has 32 bytes with X25519, 1,120 with X-Wing.
 */
import {
  exporterOf,
  type Generation,
  generationOf,
  ownerKeyOf,
  type PublicGeneration,
  type UnlockedKey,
} from '../key/unlocked.ts';
import { aad, createAad } from '../primitives/aad.ts';
import {
  checkHeader,
  concat,
  equalBytes,
  HEADER_BYTES,
  headerSuite,
  IntegrityError,
  readU32,
  type Suite,
  TYPE,
  viewOf,
  wipe,
  writeHeader,
  writeU32,
  X_WING_SUITE,
  X25519_SUITE,
} from '../primitives/bytes.ts';
import { exportSecret, importPrivate, POINT_BYTES, setupReceiver, setupSender } from '../primitives/hpke.ts';
import { NotYet } from '../primitives/not-yet.ts';
import { fillRandom, randomBytes } from '../primitives/random.ts';
import {
  hmac,
  KEY_BYTES,
  MESSAGE_EXTRA_BYTES,
  NONCE_BYTES,
  openAt,
  openMessage,
  SALT_BYTES,
  sealInto,
  sha256,
  TAG_BYTES,
} from '../primitives/symmetric.ts';
import {
  exportXWing,
  setupXWingReceiver,
  setupXWingSender,
  X_WING_ENC_BYTES,
  X_WING_PUBLIC_BYTES,
} from '../primitives/x-wing.ts';
import type { KeyContext } from '../record/service-record.ts';
import { awaitExporter, recallExporter } from './exporters.ts';

/** Names one part of one item. */
export interface PartContext extends KeyContext {
  readonly token: string;
  /** 0 is the item, 1 its sensitive authentication data; 2 and 3 are those of a patch. */
  readonly part: 0 | 1 | 2 | 3;
}

/** Header and generation: clear in all kinds, and bound to the key. */
const HEAD_BYTES = HEADER_BYTES + 4;
const DERIVED_BYTES = HEAD_BYTES + SALT_BYTES;
const OWNED_BYTES = HEAD_BYTES + KEY_BYTES + MESSAGE_EXTRA_BYTES;
/** Length of `enc`, by which the set-up of a sealed envelope is found again. */
const ENC_BYTES: Readonly<Record<Suite, number>> = {
  [X25519_SUITE]: POINT_BYTES,
  [X_WING_SUITE]: X_WING_ENC_BYTES,
};
/** A sealed envelope without `enc`. */
const SEALED_REST_BYTES = HEAD_BYTES + NONCE_BYTES + KEY_BYTES + TAG_BYTES;

/** Length of the envelope that a record begins with, by its type byte; `IntegrityError` for any other type. */
export function envelopeBytes(record: Uint8Array): number {
  switch (record[1]) {
    case TYPE.derivedEnvelope:
      return DERIVED_BYTES;
    case TYPE.ownedEnvelope:
      return OWNED_BYTES;
    case TYPE.sealedEnvelope:
      return SEALED_REST_BYTES + ENC_BYTES[headerSuite(record, TYPE.sealedEnvelope, HEADER_BYTES)];
    default:
      throw new IntegrityError('envelope');
  }
}

/**
 * The offsets of the start and the end of `enc` in a record sealed with X-Wing: it is long, and the same in all parts of one
 * set-up. Undefined for any other record.
 */
export function longEncOf(record: Uint8Array): readonly [from: number, to: number] | undefined {
  return record[1] === TYPE.sealedEnvelope &&
    headerSuite(record, TYPE.sealedEnvelope, HEADER_BYTES) === X_WING_SUITE
    ? [HEAD_BYTES, HEAD_BYTES + X_WING_ENC_BYTES]
    : undefined;
}

/** Number of the generation of an envelope. It is proven only when the envelope opens. */
export function envelopeGeneration(envelope: Uint8Array): number {
  return readU32(envelope, HEADER_BYTES);
}

const encodePlace = createAad('cardvault envelope');
const encodeDerived = createAad('cardvault data key');

/**
 * AAD of an envelope: its clear bytes before the salt or nonce, and its place. An envelope moved to another item, part, key,
 * account or environment does not open.
 */
function bind(ctx: PartContext, head: Uint8Array): Uint8Array {
  return encodePlace([head, ctx.env, ctx.aid, ctx.kid, ctx.token, ctx.part]);
}

/**
 * The `info` of the HPKE set-up (RFC 9180, section 5.1): one for all items of a generation, so that a set-up can be
 * shared. The item itself is bound by `exportWrapKey`.
 */
function hpkeInfo(ctx: KeyContext, gen: number): Uint8Array {
  return aad('cardvault hpke', [ctx.env, ctx.aid, ctx.kid, gen]);
}

/** Represents `enc` in the AAD: itself or, where it is long and shared by many, its SHA-256. */
function encName(suite: Suite, enc: Uint8Array): Uint8Array {
  return suite === X_WING_SUITE ? sha256(enc) : enc;
}

/** The key that wraps one data key: exported for its place and its nonce, so used once. */
function exportWrapKey(
  suite: Suite,
  exporterSecret: Uint8Array,
  associated: Uint8Array,
  nonce: Uint8Array,
): Uint8Array {
  const exportKey = suite === X_WING_SUITE ? exportXWing : exportSecret;
  return exportKey(exporterSecret, aad('cardvault dek', [associated, nonce]), KEY_BYTES);
}

/**
 * The data key of a derived envelope. The salt makes it new for each write, the label and the lengths keep it apart from
 * the message keys of owned envelopes, which are HMACs of 16 bytes under the same key.
 */
function deriveDek(
  key: UnlockedKey,
  { env, aid, kid, token, part }: PartContext,
  envelope: Uint8Array,
): Uint8Array {
  const generation = generationOf(key, envelopeGeneration(envelope));
  const place = encodeDerived([envelope, env, aid, kid, token, part]);
  return hmac(ownerKeyOf(key, generation), place);
}

/** The writer's key: the open key, or the public half of one generation. */
export type ItemOwner = UnlockedKey | PublicGeneration;

/**
 * A fresh data key of 32 bytes, which the caller wipes, and its envelope: derived for the newest generation of an open
 * key, sealed to a public half. Errors, and `NotYet`, as `wrapDekSealed`.
 */
export function newDek(
  owner: ItemOwner,
  ctx: PartContext,
): { readonly envelope: Uint8Array; readonly dek: Uint8Array } {
  if (!('generations' in owner)) {
    const dek = randomBytes(KEY_BYTES);
    return { envelope: wrapDekSealed(owner, ctx, dek), dek };
  }
  const envelope = new Uint8Array(DERIVED_BYTES);
  writeHeader(envelope, TYPE.derivedEnvelope);
  writeU32(envelope, HEADER_BYTES, generationOf(owner).gen);
  fillRandom(envelope, HEAD_BYTES, SALT_BYTES);
  return { envelope, dek: deriveDek(owner, ctx, envelope) };
}

interface Sender {
  readonly suite: Suite;
  /** The `info` of the set-up and the public half identify its receiver. */
  readonly info: Uint8Array;
  readonly publicHalf: Uint8Array;
  /** The start of its envelopes: header, generation and `enc`; and the part of their AAD that stands for it. */
  readonly start: Uint8Array;
  readonly bound: Uint8Array;
  readonly exporterSecret: Uint8Array;
  readonly bornMs: number;
  wraps: number;
}

/** At most one sender is kept for each vault key; a fresh one costs about 100 us. */
const SENDERS_MAX = 256;
/** One `enc` on many items reveals that they were captured together: within a minute, and 1,024 of them. */
const SENDER_WRAPS_MAX = 1024;
const SENDER_AGE_MAX_MS = 60_000;
const senders = new Map<string, Sender>();
/** The set-ups with X-Wing that are being made, by vault key: writes that come meanwhile wait for the same one. */
const coming = new Map<string, Pick<Sender, 'info' | 'publicHalf'> & { readonly ready: Promise<Sender> }>();

/** An exporter secret opens what was sealed with it, so it does not outlive its use. */
function dropSender(kid: string): void {
  wipe(senders.get(kid)?.exporterSecret);
  senders.delete(kid);
}

function keepSender(kid: string, sender: Sender): Sender {
  dropSender(kid);
  const oldest = senders.size >= SENDERS_MAX ? senders.keys().next().value : undefined;
  if (oldest !== undefined) {
    dropSender(oldest);
  }
  senders.set(kid, sender);
  return sender;
}

/**
 * The HPKE set-up towards a public half, shared by up to 1,024 wraps within 60 s: each wrap exports a separate key from it.
 * Throws `NotYet` if one with X-Wing has to be made.
 */
function senderTo({ gen, publicHalf: given }: PublicGeneration, ctx: KeyContext): Sender {
  const info = hpkeInfo(ctx, gen);
  const isFor = (one: Pick<Sender, 'info' | 'publicHalf'>) =>
    equalBytes(one.info, info) && equalBytes(one.publicHalf, given);
  const found = senders.get(ctx.kid);
  if (
    found &&
    found.wraps < SENDER_WRAPS_MAX &&
    performance.now() - found.bornMs < SENDER_AGE_MAX_MS &&
    isFor(found)
  ) {
    return found;
  }
  const next = coming.get(ctx.kid);
  if (next && isFor(next)) {
    throw new NotYet(next.ready);
  }
  // Not `slice`: of a Buffer that is a view, and its owner wipes it.
  const publicHalf = new Uint8Array(given);
  const keep = (suite: Suite, { enc, context: { exporterSecret } }: ReturnType<typeof setupSender>) => {
    const head = new Uint8Array(HEAD_BYTES);
    writeHeader(head, TYPE.sealedEnvelope, 0, suite);
    writeU32(head, HEADER_BYTES, gen);
    const [start, bound] = [concat([head, enc]), concat([head, encName(suite, enc)])];
    return keepSender(ctx.kid, {
      ...{ suite, info, publicHalf, start, bound, exporterSecret },
      ...{ bornMs: performance.now(), wraps: 0 },
    });
  };
  if (publicHalf.length === POINT_BYTES) {
    return keep(X25519_SUITE, setupSender(publicHalf, info));
  }
  if (publicHalf.length !== X_WING_PUBLIC_BYTES) {
    throw new IntegrityError('key');
  }
  const ready = setupXWingSender(publicHalf, info)
    .then((setup) => keep(X_WING_SUITE, setup))
    .finally(() => coming.delete(ctx.kid));
  coming.set(ctx.kid, { info, publicHalf, ready });
  throw new NotYet(ready);
}

/**
 * Wraps a data key for the holder of a private half, knowing its public half only: HPKE (RFC 9180) Base,
 * export-only. Rejects, with `IntegrityError`, an invalid public half. HPKE Base names no sender: that an item was
 * stored by this service is proven by the hash in its sealed metadata (`meta.ts`). Throws `NotYet` as `senderTo`.
 */
export function wrapDekSealed(target: PublicGeneration, ctx: PartContext, dek: Uint8Array): Uint8Array {
  const sender = senderTo(target, ctx);
  const { suite, start, exporterSecret } = sender;
  sender.wraps++;
  const out = new Uint8Array(start.length + NONCE_BYTES + KEY_BYTES + TAG_BYTES);
  out.set(start);
  const nonceAt = start.length;
  const nonce = randomBytes(NONCE_BYTES);
  out.set(nonce, nonceAt);
  const associated = bind(ctx, sender.bound);
  const wrapKey = exportWrapKey(suite, exporterSecret, associated, nonce);
  try {
    sealInto(out, nonceAt + NONCE_BYTES, wrapKey, nonce, dek, associated);
  } finally {
    wipe(wrapKey);
  }
  return out;
}

/**
 * Opens an envelope of a writer with the passphrase: HMAC of the owner key and the salt, then AES-256-GCM. The
 * generation that it names must be one of the key's.
 */
function unwrapOwned(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  checkHeader(envelope, TYPE.ownedEnvelope, OWNED_BYTES);
  const generation = generationOf(key, envelopeGeneration(envelope));
  const associated = bind(ctx, viewOf(envelope, 0, HEAD_BYTES));
  return openMessage(ownerKeyOf(key, generation), HEAD_BYTES, envelope, associated);
}

/**
 * The exporter secret of a set-up, named by its `enc`: kept from an earlier request, or by X25519 in 50 us. With X-Wing,
 * throws `NotYet` if it is not kept.
 */
function openExporter(
  key: UnlockedKey,
  generation: Generation,
  ctx: KeyContext,
  enc: Uint8Array,
  setup: string,
): Uint8Array {
  const { gen, publicKey, privateKey, suite } = generation;
  const place = aad('cardvault exporter', [enc, ctx.env, ctx.aid, ctx.kid, gen]);
  // One `enc` at two places is two set-ups: kept as one, each would displace the other for ever.
  const name = [ctx.aid, ctx.kid, gen, setup].join(' ');
  const ownerKey = ownerKeyOf(key, generation);
  const info = hpkeInfo(ctx, gen);
  if (suite === X_WING_SUITE) {
    return awaitExporter(ownerKey, name, place, async () => {
      const { exporterSecret } = await setupXWingReceiver(enc, privateKey, info);
      return exporterSecret;
    });
  }
  return recallExporter(ownerKey, name, place, () => {
    generation.imported ??= importPrivate(privateKey);
    return setupReceiver(enc, generation.imported, publicKey, info).exporterSecret;
  });
}

/**
 * Opens an envelope of a writer without the passphrase, of the suite of its generation. Captures of one minute share their
 * set-up. Throws `NotYet` as `openExporter`.
 */
function unwrapSealed(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  const generation = generationOf(key, envelopeGeneration(envelope));
  const { suite } = generation;
  const encBytes = ENC_BYTES[suite];
  checkHeader(envelope, TYPE.sealedEnvelope, SEALED_REST_BYTES + encBytes, suite);
  const enc = viewOf(envelope, HEAD_BYTES, encBytes);
  const name = encName(suite, enc);
  const exporterSecret = exporterOf(generation, name, (text) =>
    openExporter(key, generation, ctx, enc, text),
  );
  const nonceAt = HEAD_BYTES + encBytes;
  const associated = bind(ctx, concat([viewOf(envelope, 0, HEAD_BYTES), name]));
  const nonce = viewOf(envelope, nonceAt, NONCE_BYTES);
  const wrapKey = exportWrapKey(suite, exporterSecret, associated, nonce);
  try {
    return openAt(envelope, nonceAt, wrapKey, associated);
  } finally {
    wipe(wrapKey);
  }
}

/**
 * The data key of an envelope of any kind. Rejects damage and any other context with `IntegrityError`, but for a derived
 * envelope: there they give another key, which opens nothing. Throws `NotYet` as `openExporter`.
 */
export function unwrapDek(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  if (envelope.length !== envelopeBytes(envelope) || ctx.kid !== key.kid) {
    throw new IntegrityError('envelope');
  }
  if (envelope[1] === TYPE.derivedEnvelope) {
    checkHeader(envelope, TYPE.derivedEnvelope, DERIVED_BYTES);
    return deriveDek(key, ctx, envelope);
  }
  return envelope[1] === TYPE.ownedEnvelope
    ? unwrapOwned(key, ctx, envelope)
    : unwrapSealed(key, ctx, envelope);
}
